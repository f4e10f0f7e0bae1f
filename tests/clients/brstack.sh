# Branch stacks of perf record -j, each entry checked: see brstack.py.
command -v perf >/dev/null || { echo "no perf"; exit 77; }
exec python3 "$ROOT/tests/clients/brstack.py" "$PCL" "$ORACLE" "$BUILD/tests/count"
