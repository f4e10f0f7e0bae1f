# Programs built with the sanitizers: their shadows, their look at /proc/self/maps, the leak check that traces its own
# threads.
cat > ok.cc <<'C'
#include <iostream>
#include <map>
#include <thread>
#include <vector>
int main()
{
	std::map<int, std::string> m;
	std::vector<std::thread> threads;

	for (int i = 0; i < 1000; i++)
		m[i] = std::to_string(i);
	for (int i = 0; i < 4; i++)
		threads.emplace_back([] { std::vector<int> v(100000, 1); });
	for (auto &t : threads)
		t.join();
	std::cout << m.size() << "\n";
}
C
cat > bad.c <<'C'
#include <stdlib.h>
int main(int argc, char **argv)
{
	char *volatile p = malloc(77);
	int shift = 40;

	if (argc > 1)
		return 1 << shift;
	p = 0;
	return 0;
}
C
for s in address undefined thread; do
	g++ -fsanitize=$s -O1 -pthread -o ok_$s ok.cc && $RUN ./ok_$s
	echo $s $?
done
gcc -fsanitize=address -o leak bad.c && $RUN ./leak 2>&1 | grep SUMMARY
gcc -fsanitize=undefined -o shift bad.c && $RUN ./shift x 2>&1 | grep -c 'shift exponent'
