# Random instruction sequences, natively and under pcl in its different translator modes.
for seed in 1 2 3 4 5 6; do
	"$ROOT/tests/insn/random_sequences.py" --seed $seed || exit 1
done
"$ROOT/tests/insn/random_sequences.py" --seed 7 -- --no-traces || exit 1
"$ROOT/tests/insn/random_sequences.py" --seed 8 -- --no-links --no-ibl || exit 1
"$ROOT/tests/insn/random_sequences.py" --seed 9 -- --one-insn-blocks || exit 1
