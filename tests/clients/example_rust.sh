#!/bin/bash
# examples/count.rs counts itself; examples/check-cargo keeps the counts of cargo bench, and finds a regression.
. "$ROOT/tests/clients/example_functions.bash"
HOME=$(getent passwd "$(id -u)" | cut -d: -f6) # rustup's choice of a compiler is there
PATH=$PATH:$HOME/.cargo/bin
needs rustc --version
needs cargo --version
rustc -O -o count "$examples/count.rs" 2>err || fail "count.rs does not compile: $(cat err)"
counts 300000 700000 pcl ./count

mkdir -p work/benches && cd work || exit 1
cat >Cargo.toml <<'END'
[package]
name = "work"
version = "0.1.0"
edition = "2021"
[[bench]]
name = "squares"
harness = false
[lib]
path = "lib.rs"
END
: >lib.rs
echo 'fn main() { println!("{}", (0..100_000u64).fold(0, |a, i| unsafe { std::ptr::read_volatile(&(a ^ i * i)) })); }' \
	>benches/squares.rs
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=$examples/check-cargo
bench() { cargo bench --offline --bench squares -- --test >out 2>err; }
PCL_CHECK=--update bench || fail "check-cargo --update: $(cat err)"
bench && grep -q ' 0  instructions  *the same$' err || fail "check-cargo: $(cat err)"
sed -i 's/100_000/110_000/' benches/squares.rs
bench && fail "check-cargo: no regression"
grep -q '^ pcl check: squares (benches/squares.rs)$' err && grep -q '^ regression: ' err ||
	fail "check-cargo, more work: $(cat err)"
exit $status
