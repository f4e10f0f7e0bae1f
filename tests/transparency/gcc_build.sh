# A compiler builds a program of several files, which then runs.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
cat > a.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int f(int); 
int main(int argc, char **argv) { char *s = malloc(100); int x = 0; for (int i = 0; i < 100; i++) x += f(i); snprintf(s, 100, "%d", x); printf("%s %zu\n", s, strlen(s)); return 4; }
END
echo 'int f(int n) { return n < 3 ? n : (f(n - 1) ^ n * 3) % 1000; }' > b.c
$RUN gcc -O2 -Wall -g -c a.c -o a.o && $RUN gcc -O2 -c b.c -o b.o && $RUN gcc a.o b.o -o prog || exit 1
sha256sum a.o b.o prog
$RUN ./prog
echo $?
$RUN gcc -fsyntax-only missing.c 2>&1
echo $?
