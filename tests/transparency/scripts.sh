# Scripts with #!, with an argument, nested, through a symbolic link, with a missing interpreter.
cat > s1 <<'END'
#!/bin/sh
echo "$0" "$@"
exit 3
END
printf '#!/bin/sed -n\n2,$p\nsecond line\n' > s2
printf '#!%s/s1 one\n' "$PWD" > s3
printf '#!/no/such/interpreter\n' > s4
printf 'echo no head line "$@"\n' > s5
printf '#!  /bin/echo   spaced  words \n' > s6
chmod +x s1 s2 s3 s4 s5 s6
ln -s s1 link
clean() { sed "s|$PWD|.|g"; }
$RUN ./s1 a 'b c' | clean; echo ${PIPESTATUS[0]}
$RUN ./s2 | clean
$RUN "$PWD/s2" "$PWD/s2" | clean
$RUN ./s3 x | clean
$RUN ./link y | clean
$RUN bash -c './s4; echo $?' 2>&1 | clean | sed 's/^.*: line 1: //'
$RUN bash -c './s5 z; echo $?' | clean
$RUN ./s6 | clean
PATH=$PWD:$PATH $RUN s1 found | clean
