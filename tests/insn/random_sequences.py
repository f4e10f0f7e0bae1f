#!/usr/bin/env python3
"""Random instruction sequences: the registers, flags and memory that they leave natively and under pcl must be the
same.

    random_sequences.py [--seed N] [--sequences N] [--passes N] [--signals MICROSECONDS] [--keep DIRECTORY]
                        [-- pcl options]

Writes one assembly program of many short sequences over all registers (r11, which pcl steals, most of all), every
operand form, all addressing modes and all kinds of branches. Each sequence starts from a random state and stores the
state it ends in; the program writes all of these to its output. With --signals a timer interrupts it all the time and
the program goes through all sequences several times and compares the passes itself.

A difference is shown with the sequence's source. The seed is printed, so a failure can be repeated.
Environment: PCL. Exit status 0 equal, 1 not.
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile

GPR = ("rax", "rcx", "rdx", "rbx", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15")
# What pcl may steal for itself comes up most.
STOLEN = ("r11", "r11", "r15")
LOW = {"rax": ("eax", "ax", "al"), "rcx": ("ecx", "cx", "cl"), "rdx": ("edx", "dx", "dl"), "rbx": ("ebx", "bx", "bl"),
       "rbp": ("ebp", "bp", "bpl"), "rsi": ("esi", "si", "sil"), "rdi": ("edi", "di", "dil")}
DATA = 512        # bytes of memory that a sequence may change
XMM = 8           # vector registers used
STATE = 8 * 17 + 16 * XMM + DATA
CONDITIONS = ("o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g")
SIZES = ("b", "w", "l", "q")


def part(reg, size):
    """The name of a register's low bytes."""
    if size == "q":
        return "%" + reg
    if reg in LOW:
        return "%" + LOW[reg]["lwb".index(size)]
    return "%" + reg + {"l": "d", "w": "w", "b": "b"}[size]


def cpu_flags():
    with open("/proc/cpuinfo") as info:
        for line in info:
            if line.startswith("flags"):
                return set(line.split())
    return set()


class Writer:
    """Writes one sequence."""

    def __init__(self, rng, features, number):
        self.rng = rng
        self.features = features
        self.number = number
        self.lines = []
        self.labels = 0
        self.depth = 0

    def emit(self, text):
        self.lines.append("\t" + text)

    def label(self):
        self.labels += 1
        return ".L%d_%d" % (self.number, self.labels)

    def reg(self, but=()):
        while True:
            name = self.rng.choice(STOLEN) if self.rng.random() < 0.4 else self.rng.choice(GPR)
            if name not in but:
                return name

    def imm(self, size):
        bits = {"b": 8, "w": 16, "l": 32, "q": 32}[size]
        value = self.rng.choice((0, 1, -1, 127, -128, self.rng.getrandbits(bits - 1), -self.rng.getrandbits(bits - 1)))
        return "$%d" % max(-(1 << (bits - 1)), min(value, (1 << (bits - 1)) - 1))

    def mem(self, but=()):
        """A memory operand within the data, with what it needs loaded before (flags untouched)."""
        kind = self.rng.randrange(6)
        offset = self.rng.randrange(0, DATA - 80)
        if kind == 0:
            return "data+%d(%%rip)" % offset
        if kind == 1:
            return "data+%d" % offset
        base = self.reg(but)
        self.emit("lea data+%d(%%rip), %%%s" % (offset, base))
        if kind == 2:
            return "(%%%s)" % base
        if kind == 3:
            return "%d(%%%s)" % (self.rng.choice((8, -8, 40)) if offset > 8 else 8, base)
        index = self.reg(tuple(but) + (base,))
        scale = self.rng.choice((1, 2, 4, 8))
        self.emit("mov $%d, %%%s" % (self.rng.randrange(0, 32 // scale), index))
        if kind == 4:
            return "(%%%s,%%%s,%d)" % (base, index, scale)
        return "data+%d(,%%%s,%d)" % (offset, index, scale)

    def operand(self, size, but=()):
        return part(self.reg(but), size) if self.rng.random() < 0.6 else self.mem(but)

    # Each of these emits one instruction of its kind, with what it needs before it.

    def alu(self):
        name = self.rng.choice(("add", "or", "adc", "sbb", "and", "sub", "xor", "cmp", "test", "mov"))
        size = self.rng.choice(SIZES)
        form = self.rng.randrange(4)
        lock = ""
        if form == 0:
            args = "%s, %s" % (part(self.reg(), size), part(self.reg(), size))
        elif form == 1:
            args = "%s, %s" % (self.imm(size), self.operand(size))
        elif form == 2:
            memory = self.mem()
            args = "%s, %s" % (part(self.reg(), size), memory)
            if name not in ("cmp", "test", "mov") and self.rng.random() < 0.3:
                lock = "lock "
        else:
            memory = self.mem()
            args = "%s, %s" % (memory, part(self.reg(), size))
        self.emit("%s%s%s %s" % (lock, name, size, args))

    def unary(self):
        size = self.rng.choice(SIZES)
        self.emit("%s%s %s" % (self.rng.choice(("inc", "dec", "neg", "not")), size, self.operand(size)))

    def shift(self):
        size = self.rng.choice(SIZES)
        name = self.rng.choice(("shl", "shr", "sar", "rol", "ror", "rcl", "rcr"))
        by = self.rng.choice(("%cl", "$1", "$%d" % self.rng.randrange(64)))
        self.emit("%s%s %s, %s" % (name, size, by, self.operand(size)))

    def double_shift(self):
        size = self.rng.choice("lq")
        by = self.rng.choice(("%cl", "$%d" % self.rng.randrange(32)))
        to = self.operand(size)
        self.emit("%s%s %s, %s, %s" % (self.rng.choice(("shld", "shrd")), size, by, part(self.reg(), size), to))

    def extend(self):
        name, sizes = self.rng.choice((("movzb", "wlq"), ("movsb", "wlq"), ("movzw", "lq"), ("movsw", "lq"),
                                       ("movsl", "q")))
        size = self.rng.choice(sizes)
        source = self.operand(name[-1])
        self.emit("%s%s %s, %s" % (name, size, source, part(self.reg(), size)))

    def multiply(self):
        size = self.rng.choice("wlq")
        form = self.rng.randrange(3)
        if form == 0:
            self.emit("%s%s %s" % (self.rng.choice(("mul", "imul")), size, self.operand(size)))
        elif form == 1:
            source = self.operand(size)
            self.emit("imul%s %s, %s" % (size, source, part(self.reg(), size)))
        else:
            source = self.operand(size)
            self.emit("imul%s %s, %s, %s" % (size, self.imm(size), source, part(self.reg(), size)))

    def divide(self):
        size = self.rng.choice("lq")
        by = self.reg(("rax", "rdx"))
        self.emit("mov $0, %edx")
        self.emit("or $1, %" + by)
        self.emit("div%s %s" % (size, part(by, size)))

    def exchange(self):
        size = self.rng.choice(SIZES)
        name = self.rng.choice(("xchg", "xadd", "cmpxchg"))
        to = self.operand(size)
        lock = "lock " if "data" in to or "(" in to else ""
        if name == "xchg" or self.rng.random() < 0.5:
            lock = ""
        self.emit("%s%s%s %s, %s" % (lock, name, size, part(self.reg(), size), to))

    def exchange_wide(self):
        base = self.reg(("rax", "rdx", "rbx", "rcx"))
        self.emit("lea data+%d(%%rip), %%%s" % (16 * self.rng.randrange(DATA // 16 - 2), base))
        if self.rng.random() < 0.5:
            self.emit("mov (%%%s), %%rax" % base)
            self.emit("mov 8(%%%s), %%rdx" % base)
        self.emit("%s (%%%s)" % (self.rng.choice(("cmpxchg16b", "lock cmpxchg16b", "lock cmpxchg8b")), base))

    def bits(self):
        size = self.rng.choice("wlq")
        name = self.rng.choice(("bt", "bts", "btr", "btc"))
        form = self.rng.randrange(3)
        if form == 0:
            self.emit("%s%s %s, %s" % (name, size, part(self.reg(), size), part(self.reg(), size)))
        elif form == 1:
            self.emit("%s%s $%d, %s" % (name, size, self.rng.randrange(64), self.operand(size)))
        else:
            by = self.reg()
            self.emit("mov $%d, %%%s" % (self.rng.randrange(-64, 512), by))
            base = self.reg((by,))
            self.emit("lea data+64(%%rip), %%%s" % base)
            lock = "lock " if name != "bt" and self.rng.random() < 0.3 else ""
            self.emit("%s%s%s %s, (%%%s)" % (lock, name, size, part(by, size), base))

    def scan(self):
        size = self.rng.choice("wlq")
        source = self.operand(size)
        self.emit("%s%s %s, %s" % (self.rng.choice(("bsf", "bsr", "popcnt", "lzcnt", "tzcnt")), size, source,
                                   part(self.reg(), size)))

    def condition(self):
        cc = self.rng.choice(CONDITIONS)
        if self.rng.random() < 0.5:
            self.emit("set%s %s" % (cc, self.operand("b")))
        else:
            size = self.rng.choice("wlq")
            source = self.operand(size)
            self.emit("cmov%s%s %s, %s" % (cc, size, source, part(self.reg(), size)))

    def lea(self):
        base, index = self.reg(), self.reg()
        form = self.rng.choice(("%d(%%%s)" % (self.rng.getrandbits(20), base),
                                "%d(%%%s,%%%s,4)" % (-self.rng.getrandbits(7), base, index),
                                "%d(,%%%s,8)" % (self.rng.getrandbits(10), index), "data+9(%rip)"))
        size = self.rng.choice("lq")
        self.emit("lea%s %s, %s" % (size, form, part(self.reg(), size)))

    def move(self):
        form = self.rng.randrange(5)
        if form == 0:
            self.emit("movabs $%d, %%%s" % (self.rng.getrandbits(63), self.reg()))
        elif form == 1:
            self.emit("bswap%s %s" % (lambda s: (s, part(self.reg(), s)))(self.rng.choice("lq")))
        elif form == 2:
            size = self.rng.choice("wlq")
            memory = self.mem()
            self.emit("movbe%s %s, %s" % ((size, memory, part(self.reg(), size)) if self.rng.random() < 0.5 else
                                          (size, part(self.reg(), size), memory)))
        elif form == 3:
            self.emit("movnti %%%s, %s" % ((lambda m: (self.reg(), m))(self.mem())))
        else:
            self.emit(self.rng.choice(("cbtw", "cwtl", "cltq", "cwtd", "cltd", "cqto")))

    def flags(self):
        self.emit(self.rng.choice(("lahf", "sahf", "clc", "stc", "cmc", "nop", "pause", "xlat_", "pushpop")))
        if self.lines[-1] == "\txlat_":
            self.lines.pop()
            self.emit("lea data(%rip), %rbx")
            self.emit("xlat")
        elif self.lines[-1] == "\tpushpop":
            self.lines.pop()
            self.emit("pushfq")
            self.emit("popq %" + self.reg())

    def stack(self):
        form = self.rng.randrange(6)
        if form == 0:
            self.emit("push %" + self.reg())
            self.emit("pop %" + self.reg())
        elif form == 1:
            self.emit("pushq " + self.mem())
            self.emit("popq " + self.mem())
        elif form == 2:
            self.emit("pushq $%d" % self.rng.choice((-1, 5, 0x7fffffff, -0x80000000)))
            self.emit("popq %" + self.reg())
        elif form == 3:
            self.emit("pushw %" + part(self.reg(), "w")[1:])
            self.emit("popw %" + part(self.reg(), "w")[1:])
        elif form == 4:
            self.emit("enter $%d, $%d" % (self.rng.choice((0, 16, 64)), 0))
            self.emit("mov %%%s, -8(%%rbp)" % self.reg(("rbp",)))
            self.emit("leave")
        else:
            self.emit("mov %%%s, -100(%%rsp)" % self.reg())   # the red zone
            self.emit("mov -100(%%rsp), %%%s" % self.reg())
            self.emit("pushq %d(%%rsp)" % -8)
            self.emit("popq -16(%rsp)")

    def string(self):
        size = self.rng.choice(SIZES)
        scale = {"b": 1, "w": 2, "l": 4, "q": 8}[size]
        name, prefixes = self.rng.choice((("movs", ("", "rep ")), ("stos", ("", "rep ")), ("lods", ("", "rep ")),
                                          ("cmps", ("", "repe ", "repne ")), ("scas", ("", "repe ", "repne "))))
        back = self.rng.random() < 0.2
        self.emit("lea data+%d(%%rip), %%rsi" % (200 if back else self.rng.randrange(100)))
        self.emit("lea data+%d(%%rip), %%rdi" % (400 if back else 200 + self.rng.randrange(100)))
        self.emit("mov $%d, %%ecx" % self.rng.randrange(0, 80 // scale))
        if back:
            self.emit("std")
        self.emit(self.rng.choice(prefixes) + name + size)
        if back:
            self.emit("cld")

    def bmi(self):
        size = self.rng.choice("lq")
        a, b, c = (part(self.reg(), size) for _ in range(3))
        source = self.operand(size)
        name = self.rng.choice(("andn", "bextr", "blsi", "blsr", "blsmsk", "bzhi", "pdep", "pext", "mulx", "rorx",
                                "sarx", "shlx", "shrx", "adcx", "adox", "crc32"))
        if name in ("blsi", "blsr", "blsmsk"):
            self.emit("%s %s, %s" % (name, source, b) if source[0] == "%" else "%s%s %s, %s" % (name, size, source, b))
        elif name == "rorx":
            self.emit("rorx%s $%d, %s, %s" % (size, self.rng.randrange(64), source, b))
        elif name in ("adcx", "adox"):
            self.emit("%s%s %s, %s" % (name, size, source, b))
        elif name == "crc32":
            self.emit("crc32%s %s, %s" % (size, source, b))
        elif name in ("bextr", "bzhi", "sarx", "shlx", "shrx"):
            self.emit("%s%s %s, %s, %s" % (name, size, c, source, b))
        elif name == "mulx":
            if b == c:
                c = part("rax" if b[-2:] != "ax" else "rcx", size)
            self.emit("mulx%s %s, %s, %s" % (size, source, c, b))
        else:
            self.emit("%s%s %s, %s, %s" % (name, size, source, c, b))

    def vector(self):
        x, y = self.rng.randrange(XMM), self.rng.randrange(XMM)
        reg, memory = self.reg(), self.mem()
        e = part(reg, "l")
        forms = ["movd %s, %%xmm%d" % (e, x), "movq %%%s, %%xmm%d" % (reg, x), "movd %%xmm%d, %s" % (x, e),
                 "movq %%xmm%d, %%%s" % (x, reg), "movdqu %s, %%xmm%d" % (memory, x),
                 "movdqu %%xmm%d, %s" % (x, memory),
                 "pinsrq $1, %%%s, %%xmm%d" % (reg, x), "pinsrw $3, %s, %%xmm%d" % (e, x),
                 "pinsrb $5, %s, %%xmm%d" % (e, x), "pextrq $1, %%xmm%d, %%%s" % (x, reg),
                 "pextrd $2, %%xmm%d, %s" % (x, e), "pextrw $4, %%xmm%d, %s" % (x, e),
                 "pextrb $7, %%xmm%d, %s" % (x, e),
                 "pmovmskb %%xmm%d, %s" % (x, e), "movmskpd %%xmm%d, %s" % (x, e), "cvtsi2sdq %%%s, %%xmm%d" % (reg, x),
                 "cvttsd2si %%xmm%d, %%%s" % (x, reg), "paddd %%xmm%d, %%xmm%d" % (x, y),
                 "pxor %%xmm%d, %%xmm%d" % (x, y), "ptest %%xmm%d, %%xmm%d" % (x, y)]
        if "avx2" in self.features:
            forms += ["vmovd %s, %%xmm%d" % (e, x), "vmovq %%xmm%d, %%%s" % (x, reg),
                      "vpinsrq $0, %%%s, %%xmm%d, %%xmm%d" % (reg, x, y), "vpextrd $1, %%xmm%d, %s" % (x, e),
                      "vpaddq %%xmm%d, %%xmm%d, %%xmm%d" % (x, y, x), "vmovdqu %s, %%xmm%d" % (memory, x),
                      "vpbroadcastd %s, %%xmm%d" % (memory, x), "vpmovmskb %%xmm%d, %s" % (x, e),
                      "vcvtsi2sdq %%%s, %%xmm%d, %%xmm%d" % (reg, x, y)]
        if "avx512vl" in self.features and "avx512bw" in self.features and "avx512dq" in self.features:
            forms += ["kmovq %%%s, %%k%d" % (reg, 1 + x % 7), "kmovd %%k%d, %s" % (1 + x % 7, e),
                      "vpbroadcastq %%%s, %%xmm%d" % (reg, x), "vpbroadcastd %s, %%xmm%d" % (e, x),
                      "{evex} vmovq %%%s, %%xmm%d" % (reg, x), "{evex} vpinsrd $2, %s, %%xmm%d, %%xmm%d" % (e, x, y),
                      "vmovdqu64 %s, %%xmm%d" % (memory, x), "vcvtusi2sdq %%%s, %%xmm%d, %%xmm%d" % (reg, x, y),
                      "vmovdqu8 %%xmm%d, %s{%%k%d}" % (x, memory, 1 + y % 7), "vcvttsd2usi %%xmm%d, %%%s" % (x, reg)]
        self.emit(self.rng.choice(forms))

    def gather(self):
        if "avx2" not in self.features:
            return
        base = self.reg()
        self.emit("lea data+64(%%rip), %%%s" % base)
        self.emit("vpcmpeqd %xmm7, %xmm7, %xmm7")
        self.emit("vpxor %xmm6, %xmm6, %xmm6")
        self.emit("vpgatherdd %%xmm7, 8(%%%s,%%xmm6,4), %%xmm%d" % (base, self.rng.randrange(6)))

    def some(self, count):
        for _ in range(count):
            self.step()

    def jump(self):
        skip = self.label()
        self.emit("j%s %s" % (self.rng.choice(CONDITIONS), skip))
        self.some(self.rng.randrange(1, 3))
        self.lines.append(skip + ":")

    def loop(self):
        top, out = self.label(), self.label()
        self.emit("mov $%d, %%ecx" % self.rng.randrange(0, 5))
        if self.rng.random() < 0.5:
            self.emit("jrcxz " + out)
            self.lines.append(top + ":")
            self.emit("%s %s" % (self.rng.choice(("add %r15, %rax", "lea 3(%r15), %r15", "xor %ecx, %r15d",
                                                  "adc %r15, %r14")), ""))
            self.emit("%s %s" % (self.rng.choice(("loop", "loope", "loopne")), top))
        else:
            self.emit("jecxz " + out)
            self.step()
        self.lines.append(out + ":")

    def indirect(self):
        to, over = self.label(), self.label()
        via = self.reg()
        form = self.rng.randrange(6)
        if form == 0:
            self.emit("lea %s(%%rip), %%%s" % (to, via))
            self.emit("jmp *%%%s" % via)
        elif form == 1:
            self.emit("lea %s(%%rip), %%%s" % (to, via))
            self.emit("push %%%s" % via)
            self.emit("ret")
        elif form == 2:
            self.emit("lea %s(%%rip), %%%s" % (to, via))
            self.emit("mov %%%s, pointer(%%rip)" % via)
            base = self.reg()
            self.emit("lea pointer-24(%%rip), %%%s" % base)
            self.emit("jmp *24(%%%s)" % base)
        elif form == 3:
            index = self.reg()
            self.emit("movq $%s, pointer(%%rip)" % to)
            self.emit("mov $2, %%%s" % part(index, "l")[1:])
            self.emit("jmp *pointer-16(,%%%s,8)" % index)
        elif form == 4:
            self.emit("call " + to)
            self.emit("jmp " + over)
            self.lines.append(to + ":")
            self.step()
            self.emit("ret")
            self.lines.append(over + ":")
            return
        else:
            bytes_ = self.rng.choice((0, 8, 24))
            self.emit("lea -%d(%%rsp), %%rsp" % bytes_)
            self.emit("lea %s(%%rip), %%%s" % (to, via))
            self.emit("call *%%%s" % via)
            self.emit("jmp " + over)
            self.lines.append(to + ":")
            self.step()
            self.emit("ret $%d" % bytes_)
            self.lines.append(over + ":")
            return
        self.step()
        self.lines.append(to + ":")

    KINDS = ((alu, 8), (unary, 2), (shift, 3), (double_shift, 1), (extend, 3), (multiply, 2), (divide, 1),
             (exchange, 3), (exchange_wide, 1), (bits, 2), (scan, 2), (condition, 4), (lea, 3), (move, 3), (flags, 2),
             (stack, 3), (string, 2), (bmi, 3), (vector, 4), (gather, 1), (jump, 5), (loop, 1), (indirect, 3))

    def step(self):
        self.depth += 1
        kinds = [kind for kind in self.KINDS if self.depth < 4 or kind[0] not in (Writer.jump, Writer.loop,
                                                                                  Writer.indirect)]
        self.rng.choices([kind[0] for kind in kinds], [kind[1] for kind in kinds])[0](self)
        self.depth -= 1


def state_code(store):
    """Moves all registers between the hardware and `state`; flags go by the stack."""
    lines = []
    for i, reg in enumerate(GPR):
        lines.append("\tmov %%%s, state+%d(%%rip)" % (reg, 8 * i) if store else
                     "\tmov state+%d(%%rip), %%%s" % (8 * i, reg))
    for i in range(XMM):
        at = "state+%d(%%rip)" % (8 * 17 + 16 * i)
        lines.append("\tmovdqu %%xmm%d, %s" % (i, at) if store else "\tmovdqu %s, %%xmm%d" % (at, i))
    return lines


def program(seed, sequences, passes, interval, features):
    """The assembly source, and the lines of each sequence for the report."""
    rng = random.Random(seed)
    text, sources = [], []
    start = rng.getrandbits(64)
    text.append("""
	.bss
	.balign 4096
	.space 65536
stack:	.space 4096
	.balign 64
data:	.space %(data)d
state:	.space %(state)d
results: .space %(all)d
first:	.space %(all)d
	.space 64
pointer: .quad 0
passes: .quad 0
out_at:	.quad 0
random:	.quad 0
	.text
handler:
	incl handled(%%rip)
	ret
restorer:
	mov $15, %%eax
	syscall
	.globl _start
_start:
	lea stack(%%rip), %%rsp
""" % {"data": DATA, "state": STATE, "all": STATE * sequences})
    if interval:
        text.append("""
	mov $13, %eax
	mov $14, %edi
	lea action(%rip), %rsi
	xor %edx, %edx
	mov $8, %r10d
	syscall
	mov $38, %eax
	xor %edi, %edi
	lea interval(%rip), %rsi
	xor %edx, %edx
	syscall
""")
    text.append("again:\n\tlea results(%rip), %rax\n\tmov %rax, out_at(%rip)")
    if "avx512bw" in features:
        text += ["\tkxorq %%k%d, %%k%d, %%k%d" % (k, k, k) for k in range(1, 8)]
    text.append("\tmovabs $%d, %%rax\n\tmov %%rax, random(%%rip)" % (start >> 1))
    for number in range(sequences):
        writer = Writer(rng, features, number)
        writer.some(rng.randrange(4, 30))
        sources.append(writer.lines)
        text.append("\tcall prepare")
        text += state_code(False)
        text.append("\tpushq flags(%rip)\n\tpopfq")
        text += writer.lines
        text.append("\tpushfq\n\tpopq state+%d(%%rip)" % (8 * 15))
        text.append("\tcld")
        text.append("\tmov %%rsp, state+%d(%%rip)" % (8 * 16))
        text += state_code(True)
        text.append("\tlea stack(%rip), %rsp\n\tcall collect")
    text.append("""
	/* The first pass is kept; each later one must be the same. */
	lea results(%%rip), %%rsi
	lea first(%%rip), %%rdi
	mov $%(all)d, %%ecx
	incl passes(%%rip)
	cmpl $1, passes(%%rip)
	jne 1f
	rep movsb
	jmp 2f
1:	repe cmpsb
	jne 3f
2:	cmpl $%(passes)d, passes(%%rip)
	jb again
3:	lea results(%%rip), %%rsi
	mov $%(all)d, %%edx
4:	mov $1, %%eax
	mov $1, %%edi
	syscall
	test %%rax, %%rax
	jle 5f
	add %%rax, %%rsi
	sub %%rax, %%rdx
	jnz 4b
5:	cmpl $%(passes)d, passes(%%rip)
	mov $0, %%edi
	je 6f
	mov $3, %%edi
6:	mov $231, %%eax
	syscall

	/* Fills data and the registers in state with random numbers. */
prepare:
	lea data(%%rip), %%rdi
	mov $%(words)d, %%ecx
	mov random(%%rip), %%rax
	movabs $6364136223846793005, %%rdx
1:	imul %%rdx, %%rax
	add $1442695041, %%rax
	mov %%rax, %%rsi
	shr $29, %%rsi
	xor %%rax, %%rsi
	mov %%rsi, (%%rdi)
	add $8, %%rdi
	loop 1b
	mov %%rax, random(%%rip)
	and $0x8d5, %%eax
	or $0x202, %%eax
	mov %%rax, flags(%%rip)
	ret

	/* Appends state, then data, to the results. */
collect:
	mov out_at(%%rip), %%rdi
	lea state(%%rip), %%rsi
	mov $%(regs)d, %%ecx
	rep movsb
	lea data(%%rip), %%rsi
	mov $%(data)d, %%ecx
	rep movsb
	mov %%rdi, out_at(%%rip)
	ret

	.data
flags:	.quad 0x202
handled: .quad 0
action:	.quad handler, 0x14000000, restorer, 0
interval: .quad 0, %(interval)d, 0, %(interval)d
""" % {"all": STATE * sequences, "passes": passes, "words": (DATA + STATE - DATA) // 8, "regs": STATE - DATA,
       "data": DATA, "interval": interval or 1})
    return "\n".join(text) + "\n", sources


def run(command):
    done = subprocess.run(command, capture_output=True, timeout=100, check=False)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def names():
    return list(GPR) + ["flags", "rsp"] + ["xmm%d.%d" % (i // 2, i % 2) for i in range(2 * XMM)] + \
        ["data+%d" % (8 * i) for i in range(DATA // 8)]


def show(number, native, translated, source):
    print("sequence %d differs:" % number)
    for i, name in enumerate(names()):
        a = int.from_bytes(native[8 * i:8 * i + 8], "little")
        b = int.from_bytes(translated[8 * i:8 * i + 8], "little")
        if a != b:
            print("  %-8s native %016x  pcl %016x" % (name, a, b))
    print("\n".join(source))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sequences", type=int, default=400)
    parser.add_argument("--passes", type=int, default=1)
    parser.add_argument("--signals", type=int, default=0)
    parser.add_argument("--keep")
    parser.add_argument("options", nargs="*")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        base = os.path.join(args.keep or scratch, "random-%d" % args.seed)
        text, sources = program(args.seed, args.sequences, args.passes, args.signals, cpu_flags())
        with open(base + ".S", "w") as file:
            file.write(text)
        subprocess.run(["gcc", "-nostdlib", "-static", "-no-pie", "-o", base, base + ".S"], check=True)
        status, native, error = run([base])
        if status or len(native) != STATE * args.sequences:
            print("seed %d fails natively: status %d, %d bytes %s" % (args.seed, status, len(native), error))
            return 1
        status, translated, error = run([os.environ["PCL"], *args.options, base])
    if status not in (0, 3) or len(translated) != len(native):
        print("seed %d %s: status %d, %d bytes of %d\n%s" % (args.seed, " ".join(args.options), status, len(translated),
                                                             len(native), error))
        return 1
    wrong = [i for i in range(args.sequences)
             if native[i * STATE:(i + 1) * STATE] != translated[i * STATE:(i + 1) * STATE]]
    for i in wrong[:2]:
        show(i, native[i * STATE:(i + 1) * STATE], translated[i * STATE:(i + 1) * STATE], sources[i])
    print("seed %d %s: %d of %d sequences differ" % (args.seed, " ".join(args.options), len(wrong), args.sequences))
    return 1 if wrong or status else 0


try:
    sys.exit(main())
except subprocess.TimeoutExpired as late:
    print("no end within %d s: %s" % (late.timeout, " ".join(late.cmd)))
    sys.exit(1)
