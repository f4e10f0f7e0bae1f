# Fixed seeds of random waits for events: what epoll, poll, select and signals answer is the same natively and under pcl.
waits=$BUILD/tests/fuzz/waits

compare() { # SEED STEPS SETS
	"$waits" "$@" > native || { echo "seed $1 fails natively"; exit 1; }
	"$PCL" "$waits" "$@" > pcl || { echo "seed $1 fails"; exit 1; }
	cmp -s native pcl && return
	echo "seed $1, sets $3: other answers than natively"
	diff native pcl | head
	exit 1
}

for seed in $(seq 1 25) 44 113 272 281; do
	compare $seed 120 1
done
for seed in 1 2 3 4 5 6; do
	compare $seed 60 2
done
[ "$(grep -c '^wake' native)" -gt 3 ] || { echo "few steps"; exit 1; }
exit 0
