# Branch stacks of perf record -j, each entry checked: see brstack.py.
[ "$(id -u)" = 0 ] || { echo "not root: what is refused to users is checked as root"; exit 77; }
command -v perf >/dev/null || { echo "no perf"; exit 77; }
exec python3 "$ROOT/tests/clients/brstack.py" "$PCL" "$ORACLE" "$BUILD/tests/count"
