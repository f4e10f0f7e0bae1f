# The log of a run that fails is replayed, fails again, and is made as short as can be; one that does not fail is not.
caller=$BUILD/tests/fuzz/caller
shrink="python3 -B $ROOT/tests/fuzz/shrink"

"$PCL" "$caller" 5 60 good.log > /dev/null || exit 1
[ "$(wc -l < good.log)" = 60 ] || { echo "a log without its steps"; exit 1; }
$shrink good.log "$caller" "$PCL" && { echo "a good log shrinks"; exit 1; }

export FUZZ_BROKEN=1
python3 -B "$ROOT/tests/fuzz/run" --seeds 1 --first 5 --steps 200 "$caller" "$PCL" &&
	{ echo "the failure is not seen"; exit 1; }
"$PCL" "$caller" replay seed-5.log | grep -q '^wrong: broken on purpose' || { echo "the log does not replay"; exit 1; }
$shrink seed-5.log "$caller" "$PCL" || exit 1
# An event, a ring for it, and the prctl that is taken for wrong.
[ "$(cut -d' ' -f1 seed-5.log.min | tr '\n' ' ')" = "open mmap enable " ] || { echo "not as short as can be"; exit 1; }
