/* Matrix multiplication in doubles: memory and vectors, long blocks. */
#include <stdio.h>

enum { N = 640 };
static double a[N][N], b[N][N], c[N][N];

int main(void)
{
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			a[i][j] = i + j, b[i][j] = i - j;
	for (int round = 0; round < 20; round++)
		for (int i = 0; i < N; i++)
			for (int k = 0; k < N; k++)
				for (int j = 0; j < N; j++)
					c[i][j] += a[i][k] * b[k][j];
	printf("%f\n", c[N / 2][N / 3]);
	return 0;
}
