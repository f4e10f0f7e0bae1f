# All exit codes.
for i in $(seq 0 5 255) 1 2 77 125 126 127 128 254 255; do $RUN sh -c "exit $i"; echo -n "$? "; done
echo
