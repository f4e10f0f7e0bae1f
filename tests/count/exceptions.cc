// C++ exceptions: the unwinder reads return addresses from the stack; virtual calls; a map.
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>

struct shape {
	virtual ~shape() {}
	virtual int area(int n) const = 0;
};
struct square : shape {
	int area(int n) const override { return n * n; }
};
struct triangle : shape {
	int area(int n) const override
	{
		if (n % 7 == 3)
			throw std::runtime_error("bad triangle");
		return n * n / 2;
	}
};

static __attribute__((noinline)) int total(const shape &s, int n)
{
	std::string guard("destroyed while unwinding");
	return s.area(n) + (int)guard.size();
}

int main()
{
	std::map<std::string, int> seen;
	square sq;
	triangle tr;
	int sum = 0;

	for (int i = 0; i < 30; i++) {
		try {
			sum += total(i & 1 ? (const shape &)sq : (const shape &)tr, i);
		} catch (const std::exception &e) {
			seen[e.what()]++;
		}
	}
	printf("%d %d\n", sum, seen["bad triangle"]);
	return 0;
}
