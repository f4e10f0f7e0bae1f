#!/bin/bash
# --pin, --cpu and --keep-env: the words that they take, and one line for each that they do not.
set -u
failed=0
fail() { echo "$*"; failed=1; }

# refused OPTIONS... MESSAGE: status 125 and that one line.
refused()
{
	message=${*: -1}
	set -- "${@:1:$#-1}"
	got=$("$PCL" "$@" echo was run 2>&1)
	[ $? = 125 ] || fail "pcl $*: status is not 125"
	[ "$got" = "pcl: $message" ] || fail "pcl $*: says $got"
}

both="--pin takes items, or [all,]-ITEM,+ITEM,...: not both (see pcl --pin=help)"
refused --pin=clok "--pin has no item clok; is clock meant? (see pcl --pin=help)"
refused --pin=random,xyzzy "--pin has no item xyzzy (see pcl --pin=help)"
refused --pin=random, "--pin has no item without a name (see pcl --pin=help)"
refused --pin=all, "--pin has no item without a name (see pcl --pin=help)"
refused --pin=-none "--pin has no item none (see pcl --pin=help)"
refused --pin=all,clock "$both"
refused --pin=clock,-cpu "$both"
refused --pin=-cpu,clock "$both"
refused --pin=clock,+schedule "$both"
refused --pin=+none "--pin has no item none (see pcl --pin=help)"
clock="--pin's item schedule needs clock, since threads wait by virtual time"
refused --pin=all,-clock "$clock"
refused --pin=+schedule,-clock "$clock"
refused --pin=clock,all "--pin has no item all (see pcl --pin=help)"
refused --pin= "wrong option --pin=: the form is --pin[=ITEMS]"
refused --cpu=x86-64-v9 "wrong option --cpu=x86-64-v9: the form is --cpu=host|x86-64-v2|x86-64-v3|x86-64-v4"
refused --pin --aslr "--pin and --aslr: addresses are the same each time, or they are not"
alone="--keep-env needs --pin with its item env: without that the whole environment is passed on"
refused --keep-env=A "$alone"
refused --pin=-env --keep-env=A "$alone"

for good in --pin --pin=all --pin=all,-schedule,-clock --pin=-clock,-env --pin=random,cpus --pin=schedule \
	--pin=+schedule,-cpu; do
	[ "$("$PCL" $good echo was run 2>&1)" = "was run" ] || fail "pcl $good"
done
[ "$("$PCL" --pin=-clock date +%Y)" = "$(date +%Y)" ] || fail "--pin=-clock: another year"
[ "$("$PCL" --pin=all,-cpu,-env sh -c 'nproc; date +%Y')" = "1
2030" ] || fail "--pin=all,-cpu,-env"

"$PCL" --pin=help > help || fail "--pin=help: status $?"
for item in $(sed -n 's/^PIN([A-Z]*, "\([a-z]*\)".*/\1/p' "$ROOT/os/session/pin.def"); do
	grep -q "^  $item " help || fail "--pin=help: no $item"
	grep -q "\`$item\`" "$ROOT/doc/pin.md" || fail "doc/pin.md: no $item"
done
[ "$(wc -L < help)" -le 120 ] || fail "--pin=help: lines of $(wc -L < help) columns"
exit $failed
