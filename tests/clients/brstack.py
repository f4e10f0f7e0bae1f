#!/usr/bin/env python3
"""Branch stacks that perf record -j makes under pcl, checked against what the processor did and against the programs'
code.

    brstack.py PCL ORACLE COUNT_PROGRAMS

Small programs: every stack is compared with the last branches before the sample that single-stepping saw
(tests/count/oracle).
A real one: of every entry, `from` is a branch of the chosen kind that can lead to `to`; and if all kinds are recorded,
from `to` code leads in a straight line to the next `from`, or to the sample.
"""
import bisect
import collections
import os
import re
import shutil
import struct
import subprocess
import sys

DEPTH = 32
PERIOD = 499
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": os.getcwd(), "LC_ALL": "C"}
# perf's name of a filter, the kinds that it chooses
FILTERS = {
    "any": {"cond", "jmp", "ind_jmp", "call", "ind_call", "ret"},
    "any_call": {"call", "ind_call"},
    "any_ret": {"ret"},
    "ind_call": {"ind_call"},
    "cond": {"cond"},
    "call": {"call"},
    "ind_jmp": {"ind_jmp"},
    "cond,ind_call": {"cond", "ind_call"},
}
# What is compared of each: taken is a period of taken branches. Where calls are left behind without a return no stack
# is expected.
SMALL = {
    "indirect_calls": (*FILTERS, "stack"),
    "recursion": ("stack", "taken"),
    "tail_calls": ("any",),
    "longjmp": ("any",),
    "signal_nested": ("any",),
}
REAL = ("any", "ind_call", "stack")

QUERIES = """
CREATE TABLE t(id INTEGER PRIMARY KEY, k INTEGER, v TEXT);
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 4000)
    INSERT INTO t SELECT i, (i * 7919) % 10007, printf('value %d', i % 1000) FROM c;
CREATE INDEX ti ON t(k);
SELECT v, count(*) n FROM t GROUP BY v ORDER BY n DESC, v LIMIT 3;
"""

problems = []


def wrong(what, *details):
    problems.append(what % details)


def run(*command, environment=None):
    done = subprocess.run(command, env=environment or ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit("%s: status %d\n%s" % (" ".join(command), done.returncode, done.stderr.decode(errors="replace")))
    return done.stdout.decode(errors="replace")


def recording(pcl, filters, period, command, event="instructions:u"):
    """perf's command line. By default it would open an event for each processor, each with a count of its own.

    --mmap-flush: perf asks for the end of a ring twice whenever it reads some of it; if that moved in between, some
    records come twice. So it is to read once, when the program has ended.
    """
    return [pcl, "perf", "record", "--per-thread", "--mmap-flush=128K", "-qN", "-o", "perf.data", "-e", event,
            "-c", str(period), "-j", filters, "--", *command]


def record(*arguments, **more):
    run(*recording(*arguments, **more))


MMAP = re.compile(r"PERF_RECORD_MMAP2? .*\[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (?:0x)?([0-9a-f]+) .*xp? (/.*)$")
ENTRY = re.compile(r" 0x([0-9a-f]+)/0x([0-9a-f]+)/")


def samples():
    """(ip, [(from, to), ...] newest first) of perf.data, and its files: (start, length, offset, path)."""
    stacks, maps = [], []
    for line in run("perf", "script", "-i", "perf.data", "--show-mmap-events",
                    "-F", "comm,event,ip,brstack").splitlines():
        found = MMAP.search(line)
        if found:
            maps.append((int(found[1], 16), int(found[2], 16), int(found[3], 16), found[4]))
        found = re.search(r"u:\s+([0-9a-f]+)", line)
        if found:
            stacks.append((int(found[1], 16), [(int(e[1], 16), int(e[2], 16)) for e in ENTRY.finditer(line)]))
    return stacks, maps


# ---- small programs, against single-stepping ----

class Trace:
    """All taken branches of one thread."""

    def __init__(self, oracle, environment, program):
        run(oracle, "-l", "1000000", "-b", "-o", "trace", program, environment=environment)
        self.counts, self.branches = [], []
        self.instructions = 0
        with open("trace") as lines:
            for words in map(str.split, lines):
                if words[0] == "branch":
                    self.counts.append(int(words[2]))
                    self.branches.append((int(words[3], 16), int(words[4], 16), words[5]))
                elif words[0] == "task":
                    self.instructions = int(words[2])

    def until(self, count):
        return bisect.bisect_right(self.counts, count)

    def last(self, count, kinds):
        """The newest DEPTH branches of these kinds, the count-th instruction included."""
        found = []
        for i in range(self.until(count) - 1, -1, -1):
            if len(found) == DEPTH:
                break
            if self.branches[i][2] in kinds:
                found.append(self.branches[i][:2])
        return found

    def stacks(self, counts):
        """The calls that each of these instructions is inside of, innermost first, as branches."""
        inside, at = [], 0
        for count in counts:
            end = self.until(count - 1)
            for where, to, kind in self.branches[at:end]:
                if kind in FILTERS["any_call"]:
                    inside.append((where, to))
                elif kind == "ret" and inside:
                    inside.pop()
            at = end
            yield inside[:-DEPTH - 1:-1]


def compare_filtered(pcl, program, trace, filters):
    record(pcl, filters + ",u", PERIOD, [program])
    stacks, _ = samples()
    counts = range(PERIOD, trace.instructions + 1, PERIOD)
    if filters == "stack":
        expected = list(trace.stacks(counts))
    else:
        expected = [trace.last(count, FILTERS[filters]) for count in counts]
    return same("%s, %s" % (os.path.basename(program), filters), expected, [stack for _, stack in stacks])


def compare_taken(pcl, program, trace):
    """Every so many taken branches, which are sampled themselves."""
    record(pcl, "any,u", PERIOD, [program], event="cpu/branches_taken/u")
    stacks, _ = samples()
    counts = [trace.counts[i] for i in range(PERIOD - 1, len(trace.counts), PERIOD)]
    name = "%s, branches_taken" % os.path.basename(program)
    if any(ip != stack[0][0] for ip, stack in stacks):
        wrong("%s: the sampled branch is not the newest", name)
    return same(name, [trace.last(count, FILTERS["any"]) for count in counts], [stack for _, stack in stacks])


def same(what, expected, seen):
    """The number of entries that were compared."""
    if len(seen) != len(expected):
        wrong("%s: %d samples of %d", what, len(seen), len(expected))
    for i, pair in enumerate(zip(expected, seen)):
        if pair[0] != pair[1]:
            wrong("%s: sample %d: want %s, seen %s", what, i, text(pair[0]), text(pair[1]))
            break
    return sum(map(len, expected))


def text(stack):
    return " ".join("%x>%x" % edge for edge in stack)


def small_programs(pcl, oracle, folder):
    # libc looks at the environment, to which perf adds something.
    variables = run(pcl, "perf", "record", "-qN", "-o", "perf.data", "-e", "instructions:u",
                    "--", "env", "-0").split("\0")
    environment = dict(variable.split("=", 1) for variable in variables if variable)
    for name, filters in SMALL.items():
        program = os.path.join(folder, name)
        trace = Trace(oracle, environment, program)
        entries = sum(compare_taken(pcl, program, trace) if each == "taken" else
                      compare_filtered(pcl, program, trace, each) for each in filters)
        print("%s: %d entries compared with those of single-stepping" % (name, entries))


# ---- a real program, against its code ----

INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t(?:(?:bnd|notrack|rep[nz]*|data16|[c-gs]s|addr32|rex\S*) )*(\S+) *([^\n]*)",
                         re.M)


class Code:
    """The instructions of an object, by file offset."""

    def __init__(self, path):
        self.starts = set()
        self.branches = {}     # kind and, if it is direct, target
        self.after_calls = set()
        self.unconditional = []
        with open(path, "rb") as file:
            data = file.read()
        table, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
        headers = [struct.unpack_from("<IIQQQQ", data, table + 56 * i) for i in range(count)]
        self.delta = next(h[3] - h[2] for h in headers if h[0] == 1 and h[1] & 1)
        call = False
        for found in INSTRUCTION.finditer(run("objdump", "-dw", "--no-show-raw-insn", path)):
            at = int(found[1], 16) - self.delta
            self.starts.add(at)
            if call:
                self.after_calls.add(at)
            call = found[2].startswith("call")
            if found[2][0] in "jclr":
                self.add(at, found[2], found[3])
        self.unconditional.sort()

    def add(self, at, name, operand):
        direct = re.match(r"[0-9a-f]+", operand)
        target = int(direct[0], 16) - self.delta if direct else None
        if name.startswith("call"):
            kind = "call" if direct else "ind_call"
        elif name.startswith("jmp"):
            kind = "jmp" if direct else "ind_jmp"
        elif name.startswith("ret"):
            kind = "ret"
        elif name[0] == "j" or name.startswith("loop"):
            kind = "cond"
        else:
            return
        self.branches[at] = (kind, target)
        if kind != "cond":
            self.unconditional.append(at)


class Process:
    """What perf.data's addresses are."""

    codes = {}

    def __init__(self, maps):
        self.maps = sorted(maps)

    def find(self, address):
        """(Code, file offset), or (None, 0) where there is no file: the vDSO."""
        at = bisect.bisect_right(self.maps, (address, 1 << 64)) - 1
        start, length, offset, path = self.maps[at] if at >= 0 else (0, 0, 0, "")
        if address >= start + length or not os.path.exists(path):
            return None, 0
        if path not in self.codes:
            self.codes[path] = Code(path)
        return self.codes[path], address - start + offset

    def edge(self, where, to, kinds):
        """What is wrong with a branch, or None."""
        code, at = self.find(where)
        there, target = self.find(to)
        if not code or not there:
            return None
        kind, direct = code.branches.get(at, ("no branch", None))
        if kind not in kinds:
            return kind
        if direct is not None and (there is not code or direct != target):
            return "not its target"
        if target not in there.starts:
            return "into an instruction"
        if kind == "ret" and target not in there.after_calls:
            return "a return to what is not behind a call"
        return None

    def straight(self, start, end):
        """Whether execution goes from start to end without a taken branch."""
        code, first = self.find(start)
        same, last = self.find(end)
        if not code or not same:
            return True
        if code is not same or last < first or last not in code.starts:
            return False
        at = bisect.bisect_left(code.unconditional, first)
        return at == len(code.unconditional) or code.unconditional[at] >= last


def check_real(pcl, filters, command):
    record(pcl, filters + ",u", 20011, command)
    stacks, maps = samples()
    process = Process(maps)
    kinds = FILTERS["any_call" if filters == "stack" else filters]
    entries = 0
    seen = collections.Counter()
    for ip, stack in stacks:
        following = ip
        for i, (where, to) in enumerate(stack):
            entries += 1
            trouble = process.edge(where, to, kinds)
            if (not trouble and filters == "any" and not process.straight(to, following) and
                    not (i == 0 and where == ip)):
                trouble = "not straight on to %x" % following
            if trouble:
                seen["%s: %x>%x: %s" % (filters, where, to, trouble)] += 1
            following = where
    for what, times in seen.most_common(5):
        wrong("%s (%d times)", what, times)
    if len(stacks) < 500 or entries < 5 * len(stacks):
        wrong("%s: only %d entries in %d samples", filters, entries, len(stacks))
    print("%s: %d entries of %d samples compared with the code" % (filters, entries, len(stacks)))


def real_program(pcl):
    command = ["sqlite3", "-batch", ":memory:", ".read queries.sql"]
    with open("queries.sql", "w") as file:
        file.write(QUERIES)
    for filters in REAL:
        check_real(pcl, filters, command)
    if "sqlite3VdbeExec" not in run("perf", "report", "-i", "perf.data", "--stdio", "-b"):
        wrong("perf report -b does not know the hottest function")
    kernel = subprocess.run(recording(pcl, "any,k", 100003, ["true"]), stderr=subprocess.PIPE, check=False)
    if not kernel.returncode or b"branch stack" not in kernel.stderr:
        wrong("any,k is not refused")


def main():
    pcl, oracle, folder = sys.argv[1:]
    small_programs(pcl, oracle, folder)
    if shutil.which("sqlite3") and shutil.which("objdump"):
        real_program(pcl)
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
