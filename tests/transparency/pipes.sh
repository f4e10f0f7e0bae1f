# Standard input and output: pipes, files, here-documents, /dev/null, early close.
seq 100000 | $RUN cat | $RUN wc -c
$RUN cat < /dev/null | wc -c
$RUN cat <<END
here
END
$RUN sh -c 'echo out; echo err >&2' 2> err; cat err
$RUN seq 1000000 | head -2
echo "${PIPESTATUS[0]}"
$RUN sh -c 'read a; read b; echo "$b $a"' <<< $'one\ntwo'
$RUN tee copy < err >/dev/null; cat copy
$RUN dd if=/dev/zero bs=1000 count=1000 2>/dev/null | sha256sum
