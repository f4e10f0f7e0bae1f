#!/usr/bin/env python3
"""Reads a picture of pcl flame, and compares it with what perf report says.

    flame.py check SVG                 it is whole: each frame lies in its caller and beside its neighbours
    flame.py share SVG NAME            the inclusive share of a function in percent
    flame.py compare SVG DATA SAMPLES TOLERANCE
                                       inclusive shares are those of perf report --children of DATA, of that many
                                       samples at least
"""
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

SVG = "{http://www.w3.org/2000/svg}"


def read(path):
    """The frames as (position, width, depth, (name, file)), the whole first."""
    frames = []
    for g in xml.etree.ElementTree.parse(path).getroot().iter(SVG + "g"):
        if "data-x" in g.attrib:
            title = g.find(SVG + "title").text
            file = re.match(r" \((.*)\): ", title[len(g.get("data-n")):])
            frames.append((int(g.get("data-x")), int(g.get("data-w")), int(g.get("data-d")),
                           (g.get("data-n"), file and os.path.basename(file[1]))))
            assert title.startswith(g.get("data-n")), title
            share = float(re.search(r", ([0-9.]+) %$", title)[1])
            assert abs(share - 100 * frames[-1][1] / frames[0][1]) < 0.0006, title
    return frames


def inclusive(frames):
    """Of each function in percent: what is in itself again counts once. Depth 1 is the names of tasks."""
    at = {}
    for x, w, d, name in frames:
        if d > 1:
            at.setdefault(name, []).append((x, d, w))
    shares = {}
    for name, places in at.items():
        end = total = 0
        for x, d, w in sorted(places):
            if x >= end:
                total += w
                end = x + w
        shares[name] = 100 * total / frames[0][1]
    return shares


def check(path):
    frames = read(path)
    assert frames[0][0] == 0 and frames[0][2] == 0 and len(frames) > 5, frames[:3]
    path = []
    for x, w, d, name in frames:
        del path[d:]
        assert len(path) == d, name
        if path:
            assert path[-1][0] <= x and x + w <= path[-1][1], name
            assert x >= path[-1][2], f"{name} overlaps its neighbour"
            path[-1][2] = x + w
        path.append([x, x + w, x])


def perf_shares(data):
    command = ["perf", "report", "-i", data, "--stdio", "--children", "-g", "none", "--no-inline", "-s", "dso,sym",
               "--percent-limit", "0.2", "-F", "overhead_children,dso,sym"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {(unversioned(m[3]), m[2]): float(m[1])
            for m in re.finditer(r"^\s*([0-9.]+)%\s+(\S+)\s+\[\.\] (.*\S)", out, re.M)}


def unversioned(name):
    """A function that has two versions of its name has either."""
    return re.sub("@+GLIBC.*", "", name)


def compare(path, data, samples, tolerance):
    frames = read(path)
    got = {(unversioned(name), file): share for (name, file), share in inclusive(frames).items()}
    want = perf_shares(data)
    # perf takes a return address for what is there, not for the call in front of it: a function that ends in a call, as
    # ld.so's first one, gets the name of the next one. Each row is rounded by itself.
    rounded = dict.fromkeys(want, 1)
    for name, file in list(want):
        if name == "_dl_start_user":
            rounded["_start", file] = rounded.get(("_start", file), 0) + 1
            want["_start", file] = want.get(("_start", file), 0) + want.pop((name, file))
    assert frames[0][1] >= samples, f"only {frames[0][1]} samples"
    # Without a symbol perf has rows of addresses.
    names = [n for n in want if not re.match("0x[0-9a-f]+$", n[0])]
    # perf record may have a record or two twice where it reads while others are written (doc/linux-quirks.md).
    twice = 200 / frames[0][1]
    wrong = [f"{n}: perf {want[n]}, pcl flame {got.get(n, 0):.3f}"
             for n in names if abs(got.get(n, 0) - want[n]) > tolerance + twice + 0.0051 * rounded[n]]
    print(f"{len(names)} functions, {frames[0][1]} samples, {len(wrong)} differ")
    assert not wrong and len(names) >= 5, "\n".join(wrong[:10])


if sys.argv[1] == "check":
    check(sys.argv[2])
elif sys.argv[1] == "share":
    print(f"{sum(share for (name, file), share in inclusive(read(sys.argv[2])).items() if name == sys.argv[3]):.2f}")
else:
    compare(sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5]))
