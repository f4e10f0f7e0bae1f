# A translator below a translator, linked at 0x58000000.
command -v valgrind >/dev/null || { echo "no valgrind"; exit 77; }
$RUN valgrind -q --tool=none ls /etc/passwd
echo $?
$RUN valgrind --tool=none /bin/true 2>&1 | sed 's/^==[0-9]*== //'
$RUN valgrind -q --tool=cachegrind --cache-sim=yes --cachegrind-out-file=/dev/null sh -c 'exit 3' 2>/dev/null
echo $?
