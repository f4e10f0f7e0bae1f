# bubblewrap with namespaces of its own, with a /proc and without one.
command -v bwrap > /dev/null || { echo "no bwrap"; exit 77; }
bwrap --unshare-all --ro-bind / / true 2> /dev/null || { echo "the host does not let bwrap make namespaces"; exit 77; }
dirs="--ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64"
$RUN bwrap --unshare-all --ro-bind / / --proc /proc --dev /dev sh -c '
	echo $$; echo /proc/[0-9]*; readlink /proc/self /proc/self/exe /proc/$$/exe; id -u; hostname > /dev/null
	(echo a; exit 4); echo $?; cat /proc/self/comm; kill -TERM $$; echo not reached'
echo "status $?"
# Nothing but /usr: no /proc to look at, programs and scripts start all the same.
$RUN bwrap --unshare-all $dirs \
	sh -c 'echo $$; ls /; cd /usr; ls -d lib; python3 -c "import os; print(os.getpid(), os.path.exists(\"/proc/self\"))"'
echo "status $?"
$RUN bwrap --unshare-all $dirs --as-pid-1 --die-with-parent \
	sh -c 'echo $$; sleep 0.01 & wait; kill -TERM 1; echo the first process goes on; exit 5'
echo "status $?"
# One in another.
$RUN bwrap --unshare-user --unshare-pid $dirs --proc /proc \
	bwrap --unshare-user --unshare-pid $dirs --proc /proc sh -c 'echo $$ $PPID; ls -d /proc/[0-9]*'
echo "status $?"
$RUN unshare -Urpf --mount-proc sh -c 'echo $$; ls -d /proc/[0-9]*; exit 6'
echo "status $?"
