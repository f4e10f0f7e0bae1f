"""A fixture for pytest: how many instructions a call executes, compared with pytest-counts.json.

    pcl --pin python3 -m pytest --update-counts     writes the counts
    pcl --pin python3 -m pytest                     a test fails if there are more by over 1 %, or none are written
"""
import ctypes, fcntl, gc, itertools, json, os, pathlib, struct
import pytest

COUNTS, TOLERANCE = pathlib.Path("pytest-counts.json"), 0.01  # what ran before has left its mark in the heap


def pytest_addoption(parser):
    parser.addoption("--update-counts", action="store_true", help="write %s" % COUNTS)


@pytest.fixture
def instructions(request):
    """instructions(function, *arguments): counts the second of two calls, compares, and returns the count."""
    attr = struct.pack("IIQQQQQ", 0, 128, 1, 0, 0, 0, 1 | 1 << 5).ljust(128, b"\0")  # disabled, exclude_kernel
    fd = ctypes.CDLL(None).syscall(298, attr, 0, -1, -1, 0)
    if fd < 0:
        pytest.skip("no counters here: run it by pcl --pin")
    calls = itertools.count(1)

    def count(function, *arguments):
        function(*arguments)  # imports, caches
        gc.disable()
        fcntl.ioctl(fd, 0x2403, 0)  # from 0 on: a test may count several calls
        fcntl.ioctl(fd, 0x2400, 0)
        try:
            function(*arguments)
        finally:
            fcntl.ioctl(fd, 0x2401, 0)
            gc.enable()
        now = int.from_bytes(os.read(fd, 8), "little")
        counts = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
        nr = next(calls)
        name = request.node.nodeid + (" #%d" % nr if nr > 1 else "")
        if request.config.getoption("--update-counts"):
            COUNTS.write_text(json.dumps({**counts, name: now}, indent=1))
        elif name not in counts:
            pytest.fail("%s has no count of %s: --update-counts writes it" % (COUNTS, name), pytrace=False)
        else:
            before = counts[name]
            assert now <= before * (1 + TOLERANCE), "%d instructions, before %d" % (now, before)
        return now

    yield count
    os.close(fd)
