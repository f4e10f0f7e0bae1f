# Fixed seeds of the random caller, natively and under pcl; what each step of some of them answers is the same in both.
caller=$BUILD/tests/fuzz/caller
python3 -B "$ROOT/tests/fuzz/run" --seeds 4 --first 21 --steps 200 "$caller" || exit 1
python3 -B "$ROOT/tests/fuzz/run" --seeds 4 --first 21 --steps 200 "$caller" "$PCL" || exit 1
python3 -B "$ROOT/tests/fuzz/run" --seeds 4 --first 21 --steps 200 "$caller" "$PCL" --counters=2 || exit 1
python3 -B "$ROOT/tests/fuzz/run" --seeds 4 --first 9 --steps 150 "$caller" "$PCL" --paranoid=-1 || exit 1
python3 -B "$ROOT/tests/fuzz/run" --seeds 3 --first 41 --steps 150 "$caller" "$PCL" --abi=2009 --paranoid=-1 || exit 1

for seed in 31 32 33 34; do
	FUZZ_RESULTS=$PWD/native "$caller" $seed 300 > /dev/null || exit 1
	FUZZ_RESULTS=$PWD/pcl "$PCL" "$caller" $seed 300 > /dev/null || exit 1
	cmp native pcl || { diff native pcl | head; echo "seed $seed: other answers than natively"; exit 1; }
	[ "$(wc -l < pcl)" -gt 20 ] || { echo "seed $seed: few answers"; exit 1; }
done
exit 0
