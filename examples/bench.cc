// Google Benchmark. The number of iterations is fixed, so that the work is. g++ -O2 bench.cc -lbenchmark
#include <benchmark/benchmark.h>
#include <algorithm>
#include <numeric>
#include <vector>

static void sort(benchmark::State &state)
{
	std::vector<int> numbers(static_cast<size_t>(state.range(0)));

	for (auto _ : state) {
		std::iota(numbers.rbegin(), numbers.rend(), 0);
		std::sort(numbers.begin(), numbers.end());
		benchmark::DoNotOptimize(numbers.data());
	}
}
BENCHMARK(sort)->Arg(100)->Arg(1000)->Iterations(100);

static void sum(benchmark::State &state)
{
	std::vector<int> numbers(10000, 1);

	for (auto _ : state)
		benchmark::DoNotOptimize(std::accumulate(numbers.begin(), numbers.end(), 0));
}
BENCHMARK(sum)->Iterations(100);

BENCHMARK_MAIN();
