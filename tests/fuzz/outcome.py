"""Runs the random caller once and says what is wrong with the run; for run and shrink."""
import os
import re
import signal
import subprocess
import tempfile
import time

LEFTOVER_GRACE = 5.0  # seconds for orphans to go: the kernel ends them with their parent


class Outcome:
    """verdict: None if all is well, else what is wrong, in words that stay the same if it happens again."""

    def __init__(self, verdict, output, seconds):
        self.verdict = verdict
        self.output = output
        self.seconds = seconds


def processes_of_session(sid):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name, encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == sid and fields[0] not in "ZX":
            found.append(int(name))
    return found


def kill_session(sid):
    for pid in processes_of_session(sid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def is_anything_left(sid):
    end = time.monotonic() + LEFTOVER_GRACE
    while processes_of_session(sid):
        if time.monotonic() > end:
            return True
        time.sleep(0.02)
    return False


def verdict_of(status, out, err):
    wrong = re.search(r"^wrong: (.*?) \(", out, re.M)
    if status is None:
        return "hang"
    if wrong:
        return "wrong: " + wrong.group(1)
    if err.strip():
        return "message: " + re.sub(r"0x[0-9a-f]+|\d+", "N", err.strip().splitlines()[0])
    if status < 0:
        return "died of signal %d" % -status
    return "status %d" % status if status else None


def run(command, timeout, accept_messages=False, **environment):
    """One run of command in a session (setsid) of its own, of which nothing is left afterwards.

    Late ones are killed.
    """
    start = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True,
                                 env=dict(os.environ, **environment))
        try:
            status = child.wait(timeout)
        except subprocess.TimeoutExpired:
            status = None
        left = status is not None and is_anything_left(child.pid)
        kill_session(child.pid)
        child.wait()
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace"))
    verdict = verdict_of(status, texts[0], "" if accept_messages else texts[1])
    if not verdict and left:
        verdict = "processes are left"
    return Outcome(verdict, "".join(texts), time.monotonic() - start)
