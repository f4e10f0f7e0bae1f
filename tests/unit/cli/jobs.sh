#!/bin/sh
# Job control: an interactive bash on a terminal of its own stops, continues and interrupts guests.
exec python3 - "$PCL" <<'PROGRAM'
import os
import pty
import select
import sys
import time

PCL = sys.argv[1]
TIMEOUT = 20


class Shell:
    """An interactive bash on a new terminal."""

    def __init__(self):
        pid, self.terminal = pty.fork()
        if pid == 0:
            os.environ["PS1"] = "@ "
            os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
        self.unread = ""
        self.expect("@ ")

    def type(self, text):
        os.write(self.terminal, text.encode())

    def expect(self, wanted):
        """Reads to the end of the wanted text."""
        end = time.monotonic() + TIMEOUT
        while wanted not in self.unread:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.terminal], [], [], left)[0]:
                sys.exit("no %r but %r" % (wanted, self.unread))
            self.unread += os.read(self.terminal, 4096).decode(errors="replace")
        self.unread = self.unread.split(wanted, 1)[1]

    def expect_ready(self):
        """The guest shell is up and its `sleep` has begun: between fork and exec a signal may be lost, natively too."""
        self.expect("ready")
        time.sleep(0.5)


def converse(options):
    pcl = ("%s %s" % (PCL, options)).strip()
    shell = Shell()
    shell.type(pcl + " sh -c 'echo rea${x}dy; sleep 50'\n")
    shell.expect_ready()
    shell.type("\x1a")
    shell.expect("Stopped")
    shell.type("jobs -r; echo none''running\n")
    shell.expect("nonerunning")
    shell.type("fg\n")
    time.sleep(0.5)
    shell.type("\x1a")
    shell.expect("Stopped")
    shell.type("bg\n")
    shell.type("sleep 0.3; jobs -r\n")
    shell.expect("Running")
    shell.type("kill %1; wait; echo status''$?\n")
    shell.expect("status")
    shell.type(pcl + " sh -c 'echo rea${x}dy; sleep 50'\n")
    shell.expect_ready()
    shell.type("\x03")
    shell.type("echo status''$?\n")
    shell.expect("status130")
    shell.type(pcl + " sh -c 'trap \"echo inter${x}rupted\" INT; echo rea${x}dy; sleep 50; echo ov${x}er; exit 6'\n")
    shell.expect_ready()
    shell.type("\x03")
    shell.expect("interrupted")
    shell.expect("over")
    shell.type("echo status''$?\n")
    shell.expect("status6")
    shell.type(pcl + " sh -c 'echo rea${x}dy; exec cat'\n")
    shell.expect_ready()
    shell.type("words\n")
    shell.expect("words")  # the terminal's echo
    shell.expect("words")
    shell.type("\x04")
    shell.type("echo status''$?\n")
    shell.expect("status0")
    shell.type("stty -a | " + pcl + " grep -c intr; " + pcl + " tty >/dev/null && echo has''tty\n")
    shell.expect("hastty")


converse("")
converse("--stats")
PROGRAM
