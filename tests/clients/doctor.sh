#!/bin/bash
# pcl doctor: each line is true where something is missing or forbidden, and pcl works or does not as it says.
set -u
status=0
fail() { echo "$*"; status=1; }
restricted=$BUILD/tests/restricted
# An ordinary user may not be able to reach the tree: a copy that it can run.
chmod 755 . && mkdir tree && cp "$(readlink -f "$PCL")" tree/pcl && cp "$(readlink -f "$PCL")rt" tree/ && chmod -R a+rX tree || exit 1
pcl=$PWD/tree/pcl

# doctor WANTED COMMAND...: its status; what it says is in `said`.
doctor()
{
	want=$1
	shift
	"$@" >said 2>&1
	got=$?
	[ $got = "$want" ] || { fail "$*: status $got, not $want"; cat said; }
}
says() { grep -qE -- "$1" said || { fail "does not say $1:"; cat said; }; }

doctor 0 "$pcl" doctor
says '^pcl [0-9.]+, Linux '
says '^this machine, without pcl$'
says '^  ok     counting  .*pcl --version takes [0-9]+ instructions, the same twice$'
says '^  (ok   |-    )  Landlock '
says '^pcl works here.$'
# Started by a program that wants to hear of no child.
cp said before
doctor 0 python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$pcl" doctor
[ "$(grep 'process ids' said)" = "$(grep 'process ids' before)" ] || fail "with SIGCHLD ignored: $(cat said)"
# Natively and in a session perf_event_open has other answers.
doctor 0 "$pcl" "$pcl" doctor
says '^this session of pcl'
says '^  ok     hardware events .*counted: [0-9]+ for a short loop'

# What containers forbid.
doctor 0 "$restricted/restrict" "$pcl" doctor
says '^  -      seccomp .*a filter is in force$'
says '^  -      (software|hardware) events .*refused by a seccomp filter or a security module \(EPERM\)$'
says '^pcl works here.$'
"$restricted/no_exec_gain" file true 2>/dev/null
if [ $? = 0 ]; then
	doctor 0 "$restricted/no_exec_gain" file "$pcl" doctor
	says '^  -      executable memory .*refused \(E[A-Z]+.*\): pcl maps its code twice then$'
	says '^pcl works here.$'
fi
doctor 125 "$restricted/restrict" bash -c 'ulimit -v 300000; "$0" doctor' "$pcl"
says '^  -      ulimit -v .*300000 KiB$'
says '^  FAILS  limits .*ulimit -S'
says '^  FAILS  counting .*hard limit'
says '^pcl does not work here.$'
doctor 0 "$restricted/restrict" bash -c 'ulimit -S -v 300000; ulimit -S -f 1000; "$0" doctor' "$pcl"
says '^  -      ulimit -f .*1000 KiB$'
says '^pcl works here.$'
doctor 125 "$restricted/restrict" bash -c 'ulimit -f 1000; "$0" doctor' "$pcl"
says '^  FAILS  limits .*ulimit -S'
says '^  FAILS  counting .*hard limit on file sizes'

# No perf; one that is a script and does not find its own, as Ubuntu's; one that is a script and does.
doctor 0 env PATH="$PWD" "$pcl" doctor
says '^  -      perf +not in PATH$'
mkdir -p directory/perf
doctor 0 env PATH="$PWD/directory" "$pcl" doctor
says '^  -      perf +not in PATH$'
mkdir wrapper && printf '#!/bin/sh\necho "WARNING: perf not found for kernel 5.15.0" >&2\nexit 2\n' >wrapper/perf &&
	chmod +x wrapper/perf
doctor 0 env PATH="$PWD/wrapper" "$pcl" doctor
says "wrapper/perf +is a script and does not run here, status 2: WARNING: perf not found for kernel 5.15.0$"
perf=$(command -v perf)
if [ -n "$perf" ]; then
	printf '#!/bin/sh\nexec %s "$@"\n' "$perf" >wrapper/perf
	doctor 0 env PATH="$PWD/wrapper" "$pcl" doctor
	says 'wrapper/perf +perf version .*, by a script$'
	says '^  ok     perf under pcl +perf stat counts [0-9]+ instructions'
fi

# No /proc.
if unshare -rm sh -c 'mount -t tmpfs none /proc' 2>/dev/null; then
	doctor 0 unshare -rm sh -c 'mount -t tmpfs none /proc && exec "$0" doctor' "$pcl"
	says '^  -      /proc +not there'
	says '^  ok     counting '
fi
"$pcl" doctor now 2>said && fail "an argument was accepted"
says 'takes no arguments'
exit $status
