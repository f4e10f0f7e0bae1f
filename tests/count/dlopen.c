/* The dynamic linker at work after the start: loads a library, looks symbols up, unloads it. */
#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
	void *lib = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
	double (*fn)(double);

	if (!lib)
		return 1;
	fn = (double (*)(double))dlsym(lib, "cbrt");
	if (!fn)
		return 1;
	printf("%.3f\n", fn(27));
	dlclose(lib);
	return 0;
}
