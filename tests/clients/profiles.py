#!/usr/bin/env python3
"""Profiles of real programs: made by the host's perf with cpu-clock, and under pcl. They must agree on the hot
functions.

    profiles.py PCL [PROGRAM...]

The recordings are left in the working directory.

A function is a row of its object's .eh_frame_hdr, which stripped programs have too, and perf's name of it if there is
one. So perf's own symbols are not needed, but its records are: addresses are turned into file offsets by the MMAP2
records.

What may be asked: time is no count. Functions differ in instructions per cycle, pcl's `cycles` are those of a simple
model, and cpu-clock under pcl is the time that the translated code takes, which has dearer indirect branches, and some
of it is translation. So of the functions that are natively hottest, and far enough from the rest not to be there by
chance, all must be among the first of each of pcl's profiles, with a share that is a given factor off at most; and the
profiles must be alike as a whole.
"""
import bisect
import collections
import math
import os
import re
import shutil
import struct
import subprocess
import sys

HOT, AMONG = 5, 10
WORTH = 0.03	# share of a native function to be looked at at all
FACTOR = 3.0	# the most that a share may be off,
SLACK = 0.03	# and this much of all samples besides: few samples, and short functions near hot ones
LIKENESS = 0.8	# of two profiles by time, at least
LIKENESS_OF_COUNTS = 0.55  # of one by instructions and one by time:
                           # where first touches of memory are slow, cc1's was 0.63
RATE = 7000
ENOUGH = 300	# samples of a usable profile
COPIES = 16	# of the threaded program's source make work enough for the compiler

THREADED = r"""
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#define FUNCTION __attribute__((noinline, noclone)) static
FUNCTION uint64_t mix(uint64_t x, long n) { while (n--) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; } return x; }
FUNCTION uint64_t sum(const uint32_t *a, long n, uint64_t s) { for (long i = 0; i < n; i++) s = s * 31 + a[i]; return s; }
FUNCTION void stir(uint32_t *a, long n, uint32_t x) { for (long i = 0; i < n; i++) a[i] = x = (x ^ a[i]) * 2654435761u; }
FUNCTION long collatz(long n) { long k = 0; for (; n != 1; k++) n = n & 1 ? 3 * n + 1 : n / 2; return k; }
static void *work(void *arg)
{
	uint32_t *a = calloc(4096, 4);
	uint64_t r = (uint64_t)arg;
	for (long i = 0; i < 4096; i++) a[i] = (uint32_t)(i * 2654435761u);
	for (long round = 0; round < 1200; round++) {
		r += mix(r + 1, 12000);
		r += sum(a, 4096, r);
		stir(a, 4096, (uint32_t)r);
		for (long i = 1; i < 60; i++) r += collatz(round * 7 + i);
	}
	free(a);
	return (void *)r;
}
int main(void)
{
	pthread_t t[3];
	void *r, *all = 0;
	for (long i = 0; i < 3; i++) pthread_create(&t[i], 0, work, (void *)i);
	for (long i = 0; i < 3; i++) { pthread_join(t[i], &r); all = (char *)all + (long)r; }
	printf("%p\n", all);
	return 0;
}
"""

PYTHON = r"""
class Body:
    def __init__(self, x, v):
        self.x = x; self.v = v
    def move(self, d):
        self.x += self.v * d
        return self.x
def sieve(n):
    flags = bytearray([1]) * n
    for i in range(2, int(n ** .5) + 1):
        if flags[i]:
            for j in range(i * i, n, i):
                flags[j] = 0
    return sum(flags)
def words(n):
    d = {}
    for i in range(n):
        k = "k%d" % (i % 997)
        d[k] = d.get(k, 0) + i
    return sorted(d.values())[-1]
bodies = [Body(float(i), 1.5) for i in range(50)]
print(sieve(400000), words(200000), sum(b.move(.01) for _ in range(3000) for b in bodies))
"""

SQL = r"""
CREATE TABLE t(id INTEGER PRIMARY KEY, k INTEGER, v TEXT);
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 120000)
    INSERT INTO t SELECT i, (i * 7919) % 10007, printf('value %d', i % 1000) FROM c;
CREATE INDEX ti ON t(k);
SELECT count(*), sum(a.id) FROM t a JOIN t b ON a.k = b.k WHERE b.id < 20000;
SELECT v, count(*) n FROM t GROUP BY v ORDER BY n DESC, v LIMIT 3;
SELECT count(*) FROM t WHERE v LIKE '%99%';
"""


class Functions:
    """Where the functions of an object begin, as file offsets of its executable segment, from .eh_frame_hdr."""

    def __init__(self, path):
        self.starts = []
        try:
            with open(path, "rb") as file:
                data = file.read()
            self.read(data)
        except (OSError, struct.error):
            pass

    def read(self, data):
        table, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
        headers = [struct.unpack_from("<IIQQQQ", data, table + 56 * i) for i in range(count)]
        code = [h for h in headers if h[0] == 1 and h[1] & 1]
        for kind, _, offset, address, _, _ in headers:
            # version 1, any pointer, count as udata4, entries as datarel sdata4: what linkers write
            if kind != 0x6474e550 or data[offset] != 1 or data[offset + 2:offset + 4] != b"\x03\x3b":
                continue
            for i in range(struct.unpack_from("<I", data, offset + 8)[0]):
                start = address + struct.unpack_from("<i", data, offset + 12 + 8 * i)[0]
                for h in code:
                    if h[3] <= start < h[3] + h[5]:
                        self.starts.append(start - h[3] + h[2])
        self.starts.sort()

    def find(self, offset):
        at = bisect.bisect_right(self.starts, offset) - 1
        return self.starts[at] if at >= 0 else 0


objects = {}
names = {}


def function_of(maps, pid, ip, symbol):
    """A key for the function at ip; its name is noted in `names`."""
    for start, length, page, path in reversed(maps[pid]):
        if start <= ip < start + length:
            break
    else:
        return ("?", 0)
    if path not in objects:
        objects[path] = Functions(path)
    key = (os.path.basename(path), objects[path].find(ip - start + page))
    if symbol != "[unknown]":
        names.setdefault(key, symbol)
    return key


MMAP = re.compile(r"PERF_RECORD_MMAP2? (\d+)/\d+: "
                  r"\[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (?:0x)?([0-9a-f]+) .*: r?-?w?-?xp? ?(/?.*)$")
SAMPLE = re.compile(r"^\s*(\d+)/\d+\s+(\d+)\s+([^\s:]+(?::\w+)?):\s+([0-9a-f]+)\s+(.*)$")


class Profile:
    """The samples of one event: what each function has of the sum of their periods."""

    def __init__(self):
        self.samples = 0
        self.weight = collections.Counter()
        self.squares = 0

    def add(self, key, period):
        self.samples += 1
        self.weight[key] += period
        self.squares += period * period

    def share(self, key):
        return self.weight[key] / (sum(self.weight.values()) or 1)

    def ranked(self):
        return [key for key, _ in self.weight.most_common()]

    def agreement(self):
        """How probable it is that two samples are in the same function: of those that are not the same sample."""
        whole = sum(self.weight.values()) ** 2 - self.squares
        return (sum(w * w for w in self.weight.values()) - self.squares) / whole

    def likeness(self, other):
        """The cosine between two profiles, corrected for how few their samples are: 1 if they are of the same thing."""
        same = sum(self.share(key) * other.share(key) for key in self.weight)
        return same / math.sqrt(self.agreement() * other.agreement())


lost = 0


def read_profiles(data, comm):
    """{event: Profile} of a perf.data. Of lost records there is only the number, in profiles.lost."""
    global lost
    text = subprocess.run(["perf", "script", "-i", data, "--show-mmap-events", "--show-lost-events",
                           "-F", "comm,pid,tid,period,event,ip,sym"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode(errors="replace")
    lost = sum(int(n) for n in re.findall(r"PERF_RECORD_LOST lost (\d+)", text))
    maps = collections.defaultdict(list)
    profiles = collections.defaultdict(Profile)
    for line in text.splitlines():
        found = MMAP.search(line)
        if found:
            maps[found[1]].append((int(found[2], 16), int(found[3], 16), int(found[4], 16), found[5]))
            continue
        if not line.strip().startswith(comm):
            continue
        found = SAMPLE.match(line.strip()[len(comm):])
        if found:
            key = function_of(maps, found[1], int(found[4], 16), found[5].strip())
            profiles[found[3].split(":")[0]].add(key, int(found[2]))
    return profiles


def record(before, data, events, command, log):
    with open(log, "wb") as out:
        subprocess.run([*before, "perf", "record", "-qN", "-F", str(RATE), "-o", data, *events, "--", *command],
                       stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=True)


def compare(what, native, other):
    """Prints both; what is wrong, as lines."""
    ranked = other.ranked()
    cut = other.share(ranked[AMONG - 1]) if len(ranked) >= AMONG else 0
    likeness = native.likeness(other)
    problems = []
    if likeness < (LIKENESS if "cpu-clock" in what else LIKENESS_OF_COUNTS):
        problems.append("%s: a likeness of only %.2f" % (what, likeness))
    print("%-50s  native  under pcl  rank    likeness %.2f of %d and %d samples" %
          (what, likeness, native.samples, other.samples))
    for key in native.ranked()[:HOT]:
        name = "%s %s" % (key[0], names.get(key, hex(key[1])))
        there, here = native.share(key), other.share(key)
        if there < WORTH:
            break
        place = ranked.index(key) + 1 if key in ranked else 0
        print("    %-46s %6.1f%% %9.1f%%  %4d" % (name[:46], 100 * there, 100 * here, place))
        if here + SLACK < cut:
            problems.append("%s: %s is not among the first %d" % (what, name, AMONG))
        elif not there / FACTOR - SLACK <= here <= there * FACTOR + SLACK:
            problems.append("%s: %s has %.1f %% in place of %.1f %%" % (what, name, 100 * here, 100 * there))
    return problems


def check(pcl, program, comm, command):
    record([], "native.data", ["-e", "cpu-clock:u"], command, "native.out")
    record([pcl], "counts.data", ["-e", "instructions:u", "-e", "cycles:u"], command, "counts.out")
    record([pcl], "clock.data", ["-e", "cpu-clock:u"], command, "clock.out")
    native = read_profiles("native.data", comm)["cpu-clock"]
    if native.samples < ENOUGH:
        print("%s: only %d samples natively" % (program, native.samples))
        sys.exit(77)
    problems = []
    for data, events in (("counts.data", ("instructions", "cycles")), ("clock.data", ("cpu-clock",))):
        profiles = read_profiles(data, comm)
        for event in events:
            what = "%s, %s" % (program, event)
            if profiles[event].samples < ENOUGH:
                problems.append("%s: only %d samples" % (what, profiles[event].samples))
            else:
                problems += compare(what, native, profiles[event])
    return problems


def programs():
    """(name, comm, command) of each program."""
    with open("bench.py", "w") as file:
        file.write(PYTHON)
    with open("queries.sql", "w") as file:
        file.write(SQL)
    with open("threaded.c", "w") as file:
        file.write(THREADED)
    subprocess.run(["gcc", "-O1", "-pthread", "-o", "threaded", "threaded.c"], check=True)
    with open("units.c", "w") as file:
        for i in range(COPIES):
            file.write(re.sub(r"\b(mix|sum|stir|collatz|work|main)\b", r"\g<1>%d" % i, THREADED))
    subprocess.run(["gcc", "-E", "-P", "-o", "units.i", "units.c"], check=True)
    cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], stdout=subprocess.PIPE, check=True).stdout.decode().strip()
    python = os.path.realpath(sys.executable)
    return (("python3", os.path.basename(python), [python, "bench.py"]),
            ("cc1", "cc1", [cc1, "-quiet", "-O2", "-fpreprocessed", "units.i", "-o", "units.s"]),
            ("sqlite3", "sqlite3", ["sqlite3", "-batch", ":memory:", ".read queries.sql"]),
            ("threads", "threaded", ["./threaded"]))


def main():
    problems = []
    only = sys.argv[2:]
    for program, comm, command in programs():
        if not shutil.which(command[0]):
            print("%s: not installed" % program)
        elif not only or program in only:
            problems += check(sys.argv[1], program, comm, command)
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
