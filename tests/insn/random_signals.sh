# The same sequences again and again while a timer interrupts them every 50 us: each pass must end in the same state.
for seed in 11 12 13; do
	"$ROOT/tests/insn/random_sequences.py" --seed $seed --passes 300 --signals 50 || exit 1
done
