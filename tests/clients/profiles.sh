# Profiles of real programs, by the host's own perf and under pcl, agree: see profiles.py.
command -v perf >/dev/null || { echo "no perf"; exit 77; }
perf record -qN -o try.data -e cpu-clock:u true 2>/dev/null || { echo "the host's perf may not sample"; exit 77; }
exec python3 "$ROOT/tests/clients/profiles.py" "$PCL"
