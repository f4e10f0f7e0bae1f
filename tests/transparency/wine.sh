# Windows programs: Wine's system calls, its threads, and the server that its programs share. A directory of its own for
# each run, whose making starts a dozen programs; some stay for a while, with the output that they were started with.
command -v wine >/dev/null || { echo "no wine"; exit 77; }
export HOME=$PWD WINEPREFIX=$PWD/prefix WINEDEBUG=-all WINEDLLOVERRIDES=mscoree,mshtml=
windows() {
	$RUN wine "$@" >output 2>/dev/null </dev/null
	echo "status $?"
	tr -d '\r' <output
}
windows cmd /c ver
windows cmd /c 'for /L %i in (1,1,5) do @echo %i'
windows cmd /c 'set /a 6*7 & echo. & exit 3'
windows reg add 'HKCU\Software\Of the test' /v number /t REG_DWORD /d 42 /f
windows reg query 'HKCU\Software\Of the test'
echo 'text of a file' >file.txt
windows cmd /c 'type file.txt & copy file.txt other.txt'
cat other.txt
wineserver -k
