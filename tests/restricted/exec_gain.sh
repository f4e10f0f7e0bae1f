# Where no memory may become executable: what the guest is refused is what it is refused natively, with the same errno
# and the same left.
status=0
hold=$BUILD/tests/restricted/no_exec_gain
for kind in mdwe filter file; do
	"$hold" $kind "$BUILD/tests/restricted/exec_gain" > native 2>&1
	result=$?
	[ $result = 77 ] && { echo "$kind: $(cat native)"; continue; }
	"$hold" $kind "$PCL" "$BUILD/tests/restricted/exec_gain" > pcl 2>&1
	[ $? = $result ] && cmp -s native pcl || { echo "$kind:"; diff native pcl; status=1; }
	ran=1
done
# The program asks for it itself, in the middle, and is executed again.
"$BUILD/tests/restricted/exec_gain" set > native 2>&1
"$PCL" "$BUILD/tests/restricted/exec_gain" set > pcl 2>&1
cmp -s native pcl || { echo "set:"; diff native pcl; status=1; }
# A program with a segment that is writable and executable.
cat > segment.c <<'END'
int main(void) { return 3; }
END
if gcc -static -Wl,-N -o segment segment.c 2>/dev/null; then
	for kind in mdwe filter; do
		"$hold" $kind ./segment > native; a=$?
		"$hold" $kind "$PCL" ./segment > pcl; b=$?
		[ $a = $b ] ||
			{ echo "$kind: status of a program with such a segment: natively $a, under pcl $b"; status=1; }
	done
fi
[ $status = 0 ] && [ -z "$ran" ] && exit 77
exit $status
