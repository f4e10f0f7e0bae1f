# Missing and broken programs: the shell's status.
touch plain; mkdir dir; echo x > noexec; printf '\177ELFbroken' > broken; chmod +x broken
: > empty; chmod +x empty
for p in no-such-program ./no-such ./plain ./dir ./noexec /; do
	if [ -n "$RUN" ]; then $RUN "$p" 2>/dev/null; else "$p" 2>/dev/null; fi
	echo "$p $?"
done
$RUN bash -c './broken; echo $?; ./no-such; echo $?; ./empty; echo $?' 2>/dev/null
