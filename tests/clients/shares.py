#!/usr/bin/env python3
"""Shares of functions at 4,000 samples a second are right within what chance allows.

    shares.py PCL [PROGRAM...]

What is right comes from samples that are some hundred times as many, one each PERIOD instructions. In a profile of n
samples of the same weight a function whose share is p has n * p of them, give or take sqrt(n * p * (1 - p)). Where
weights differ, n is (sum of weights)^2 / (sum of their squares): the number of samples of one weight that say as much.
A share that is further off than SIGMA of these is an error, and so is a whole profile that is (by chi-square over all
functions with enough samples), if it is so twice: samples that always came late would be found each time.

If perf is too slow to read the many samples some are lost, and not by chance: then they are taken again.
"""
import math
import subprocess
import sys
import shutil

import profiles

PERIOD = 20011
TRIES = 10
RUNS = 4	# of each program, whose samples are taken together
SIGMA = 4.5
EXPECTED = 10	# samples of a function, at least, to be looked at for itself
NODE = r"""
const words = new Map();
function note(k) { words.set(k, (words.get(k) || 0) + 1); }
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
for (let i = 0; i < 400000; i++) note("k" + i % 997);
const text = JSON.stringify([...words]).repeat(20);
let n = 0;
for (const m of text.matchAll(/k(\d+)/g)) n += +m[1];
console.log(n, fib(27), text.split("").sort().length);
"""
PERL = r"""
my (%seen, $n);
for my $i (1 .. 150000) { my $k = "k" . $i % 997; $seen{$k} .= chr(65 + $i % 26); $n++ if $seen{$k} =~ /A.*Z$/; }
print $n, " ", join(",", (sort { length $seen{$a} <=> length $seen{$b} || $a cmp $b } keys %seen)[0 .. 3]), "\n";
"""


def record(pcl, how, comm, command):
    subprocess.run([pcl, "perf", "record", "-qN", *how, "-e", "instructions:u", "-o", "data", "--", *command],
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    return profiles.read_profiles("data", comm)["instructions"]


def right_shares(pcl, comm, command):
    for _ in range(TRIES):
        right = record(pcl, ["-c", str(PERIOD)], comm, command)
        if not profiles.lost:
            return right
        print("%s: %d lost" % (comm, profiles.lost))
    return right


def sampled(pcl, comm, command):
    whole = profiles.Profile()
    for _ in range(RUNS):
        one = record(pcl, ["-F", "4000"], comm, command)
        whole.samples += one.samples
        whole.weight += one.weight
        whole.squares += one.squares
    return whole


def compare(program, right, seen):
    """Prints how far it is off; whether that is more than chance."""
    n = sum(seen.weight.values()) ** 2 / seen.squares
    worst, which, square, functions, rest, rest_seen = 0, "", 0, 0, 1, 1
    for key in right.ranked():
        p = right.share(key)
        if n * p < EXPECTED:
            break
        off = (seen.share(key) - p) / math.sqrt(p * (1 - p) / n)
        square += n * (seen.share(key) - p) ** 2 / p
        functions, rest, rest_seen = functions + 1, rest - p, rest_seen - seen.share(key)
        if abs(off) > abs(worst):
            worst, which = off, "%s %s" % (key[0], profiles.names.get(key, hex(key[1])))
    if n * rest >= EXPECTED:
        square += n * (rest_seen - rest) ** 2 / rest
        functions += 1
    # chi-square of that many degrees of freedom is nearly normal once its cube root is taken (Wilson and Hilferty)
    k = max(functions - 1, 1)
    whole = ((square / k) ** (1 / 3) - (1 - 2 / (9 * k))) / math.sqrt(2 / (9 * k))
    print("%-8s %6d samples worth %5d, %7d to compare with: %2d functions, the worst %+.1f sigma (%s), the whole %+.1f"
          % (program, seen.samples, n, right.samples, functions, worst, which, whole))
    return abs(worst) > SIGMA or whole > SIGMA


def programs():
    for name, text in (("node.js", NODE), ("perl.pl", PERL)):
        with open(name, "w") as file:
            file.write(text)
    yield from (p for p in profiles.programs() if p[0] != "threads")
    # Primes for its hashes are searched for from the seed on: 0.1 to 0.2 % of all, by chance.
    yield "node", "node", ["node", "--single-threaded", "--hash-seed=1", "node.js"]
    yield "perl", "perl", ["perl", "perl.pl"]


def main():
    pcl, only = sys.argv[1], sys.argv[2:]
    failed = 0
    for program, comm, command in programs():
        if only and program not in only:
            continue
        if not shutil.which(command[0]):
            print("%s: not installed" % program)
            continue
        if all(compare(program, right_shares(pcl, comm, command), sampled(pcl, comm, command)) for _ in range(2)):
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
