#!/bin/bash
# Programs that are missing or broken: pcl says what bash says and ends with its status. Good ones: their own status.
set -u
failed=0
cd "$(mktemp -d)" || exit 1
trap 'rm -rf "$PWD"' EXIT

touch not_executable && printf '#!/no/such/interpreter\n' >no_interpreter && printf '\177ELF' >truncated_elf
cp /bin/true other_machine && printf '\267\0' | dd of=other_machine bs=1 seek=18 conv=notrunc 2>/dev/null
printf 'echo "script $0 $*"; exit 5\n' >no_first_line
: >empty
chmod +x no_interpreter truncated_elf other_machine no_first_line empty

# same PROGRAM [ARGUMENTS]: status and message as when bash runs it, the shell's own name apart.
same()
{
	want=$(bash -c '"$@"' bash "$@" 2>&1)
	want_status=$?
	got=$("$PCL" "$@" 2>&1)
	got_status=$?
	want=$(echo "$want" | sed 's/^bash: \(line [0-9]*: \)*/pcl: /')
	if [ "$got_status" != "$want_status" ] || [ "$got" != "$want" ]; then
		printf '%s: status %s, text: %s\nbash: status %s, text: %s\n' "$*" "$got_status" "$got" "$want_status" "$want"
		failed=1
	fi
}

same no-such-program
same ./no-such-program
same /tmp
same ./not_executable
same ./no_interpreter
same ./other_machine
same ./not_executable/below
same ./no_first_line one two
same ./empty
same sh -c 'exit 0'
same sh -c 'exit 77'
same sh -c 'exit 255'
same true
same false
PATH=/nowhere:$PWD:/usr/bin:/bin same no_first_line 3
PATH=$PWD:/usr/bin:/bin same not_executable
mkdir directory
PATH=$PWD:/usr/bin:/bin same directory

# A program that the kernel runs and pcl does not: in words.
cp /bin/true of_32_bits && printf '\001' | dd of=of_32_bits bs=1 seek=4 conv=notrunc 2>/dev/null &&
	printf '\003\000' | dd of=of_32_bits bs=1 seek=18 conv=notrunc 2>/dev/null
got=$("$PCL" ./of_32_bits 2>&1)
[ $? = 126 ] && [ "$got" = "pcl: ./of_32_bits: cannot execute binary file: pcl runs no 32-bit programs" ] ||
	{ echo "32 bits: $got"; failed=1; }

printf '.globl _start\n_start: mov $60, %%eax\n xor %%edi, %%edi\n syscall\n' >fixed.s
if gcc -nostdlib -static -no-pie -Wl,-Ttext-segment=0x5b2000000000 -o fixed fixed.s 2>/dev/null && ./fixed; then
	got=$("$PCL" count -- ./fixed 2>&1)
	[ $? = 126 ] && [[ $got = "pcl: ./fixed: cannot execute binary file: it is linked at addresses that pcl needs"* ]] ||
		{ echo "linked where pcl is: $got"; failed=1; }
	"$PCL" --why=why sh -c ./fixed 2>/dev/null
	grep -q ' sh: execve: ENOEXEC: linked at addresses that pcl needs' why || { echo "--why: $(cat why)"; failed=1; }
fi

# status WANTED COMMAND...
status()
{
	want=$1
	shift
	got=$( ("$@" >/dev/null 2>&1) 2>/dev/null; echo $?)
	[ "$got" = "$want" ] || { echo "$*: status $got, expected $want"; failed=1; }
}

# A command with a letter wrong: the nearest one is named. What is like none is not.
got=$("$PCL" conut true 2>&1)
[ $? = 127 ] && [ "$got" = "pcl: conut: command not found
pcl: is pcl count meant?" ] || { echo "conut: $got"; failed=1; }
long=$(printf '%200s' | tr ' ' a)
got=$("$PCL" "$long" 2>&1)
[ $? = 127 ] && [ "$got" = "pcl: $long: command not found" ] || { echo "a long word: $got"; failed=1; }

# The kernel finds this out when there is no way back.
head -c 3000 /bin/true >cut_off && chmod +x cut_off
want=$( (exec ./cut_off) 2>/dev/null; echo $?)
got=$("$PCL" ./cut_off 2>&1)
got_status=$?
[ $got_status = $want ] && [[ $got = "pcl["*"]: ./cut_off: Bad address: a segment's last page is beyond the end of "* ]] ||
	{ echo "a file that is cut off: status $got_status, as by bash: $want, text: $got"; failed=1; }

status 126 "$PCL" ./truncated_elf
status 125 "$PCL"
status 125 "$PCL" --no-such-option true
status 125 "$PCL" --paranoid=9 true
status 125 "$PCL" --paranoid true
status 125 "$PCL" --strace=how true
status 125 "$(readlink -f "$PCL")rt" # which is started by pcl only
status 0 "$PCL" --help
status 0 "$PCL" --version
status 0 "$PCL" list
status 127 "$PCL" -- list
# What cannot be written is said, and is no success.
for way in --help --version --manual --manual=events --completion=bash --completion=zsh --completion=fish --probe \
	--pin=help list doctor "count --help"; do
	for how in '>/dev/full' '>&-'; do
		got=$(eval "\"\$PCL\" $way 2>&1 $how")
		got_status=$?
		[ $got_status = 125 ] && [[ $got =~ ^pcl:\ cannot\ write:\ (No space|Bad file) ]] ||
			{ echo "$way $how: status $got_status, text: $got"; failed=1; }
	done
done
got=$("$PCL" --why=/dev/full true 2>&1)
[ $? = 125 ] && [ "$got" = "pcl: cannot write what was refused to /dev/full: No space left on device" ] ||
	{ echo "--why=/dev/full: $got"; failed=1; }

status 3 "$PCL" -- sh -c 'exit 3'
status 3 "$PCL" --stats sh -c 'exit 3'
status 4 "$PCL" "$PCL" sh -c 'exit 4'
status 5 "$PCL" sh -c '"$PCL" --stats ./no_first_line'
for sig in TERM KILL SEGV USR1 PIPE; do
	status $((128 + $(kill -l $sig))) "$PCL" sh -c "kill -$sig \$\$"
	status $((128 + $(kill -l $sig))) "$PCL" --stats sh -c "kill -$sig \$\$"
done
exit $failed
