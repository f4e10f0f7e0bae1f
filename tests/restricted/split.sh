# --users=split, the default: who gives up the session's user leaves it, and cannot disturb who stays; see split.c.
[ "$(id -u)" = 0 ] || { echo "only root can give up its user"; exit 77; }
status=0
for how in "" threads; do
	timeout -k 5 60 "$PCL" "$BUILD/tests/restricted/split" $how > out 2> err ||
		{ echo "$how: status $?"; status=1; }
	[ "$(grep -c "has given up its user" err)" = 1 ] || status=1
	grep -v "has given up its user" err
	[ $status = 0 ] || { cat out err; exit 1; }
done
# By way of vfork, and of a program executed later.
cat > spawn.py <<'EOF'
import subprocess
print(subprocess.run(["id", "-u"], user=65534, group=65534, extra_groups=[], capture_output=True, text=True).stdout, end="")
EOF
[ "$("$PCL" python3 spawn.py)" = 65534 ] || status=1
"$PCL" perf stat -e instructions:u -o counts \
	-- setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'id -u' > out 2> err
[ "$(cat out)" = 65534 ] && grep -q "setpriv.*has given up its user" err || { cat out err; status=1; }
exit $status
