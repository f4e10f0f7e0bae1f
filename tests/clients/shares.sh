# Shares of functions at 4,000 samples a second are right within what chance allows: see shares.py.
command -v perf >/dev/null || { echo "no perf"; exit 77; }
export PYTHONHASHSEED=0 PERL_HASH_SEED=0
exec python3 "$ROOT/tests/clients/shares.py" "$PCL"
