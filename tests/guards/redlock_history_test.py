#!/usr/bin/env python3
"""Commands under `holdfast run` on Redlock record what they were told, as a user's would, while
some are killed; `holdfast verify` judges it. The process tests do this on the other engines.
HOLDFAST names the program."""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HOLDFAST = os.environ["HOLDFAST"]
FULL = "HOLDFAST_TEST_FULL" in os.environ


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def record(path, line):
    """One write of one line, so that those of several processes stay apart."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND)
    os.write(file, (line + "\n").encode("ascii"))
    os.close(file)


def command(path, caller, invoked):
    """What runs under the lock."""
    token = os.environ["HOLDFAST_TOKEN"]
    record(path, f"acquire {caller} ledger {token} {invoked} {now()} ok")
    for _ in range(4):
        asked = now()
        good = subprocess.run([HOLDFAST, "check"], stderr=subprocess.DEVNULL).returncode == 0
        record(path, f"check {caller} ledger {token} {asked} {now()} {'ok' if good else 'lost'}")
    return 0


class RedlockHistory(unittest.TestCase):
    def setUp(self):
        from late_writer_test import Redlock
        self.store = Redlock()
        self.addCleanup(self.store.stop)
        self.folder = tempfile.mkdtemp(prefix="holdfast-history-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = self.folder + "/history"
        with open(self.path, "w", encoding="ascii") as file:
            file.write("holdfast-history 1\n")

    def contend(self, number, rounds, victims):
        for i in range(rounds):
            # A command that is killed is a caller of its own: its last call never returned.
            caller, invoked = f"w{number}.{i}", now()
            record(self.path, f"acquire {caller} ledger - {invoked} - pending")
            run = subprocess.Popen(
                [HOLDFAST, "run", "ledger", "--store", self.store.url, "--wait", "60s", "--",
                 sys.executable, __file__, self.path, caller, str(invoked)],
                stderr=subprocess.DEVNULL,
                env={**os.environ, "HOLDFAST_RUN_DIRECTORY": self.folder + "/run",
                     "XDG_STATE_HOME": self.folder + "/state"})
            if (number, i) in victims:
                time.sleep(random.uniform(0.05, 0.6))
                run.kill()
            run.wait(90)

    def verify(self):
        done = subprocess.run([HOLDFAST, "verify", self.path], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def test_what_commands_on_redlock_were_told_is_linearizable(self):
        rounds = 40 if FULL else 5
        victims = {(n, i) for n in range(3) for i in range(rounds) if i % 5 == n + 1}
        callers = [threading.Thread(target=self.contend, args=(n, rounds, victims))
                   for n in range(3)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        with open(self.path, encoding="ascii") as file:
            granted = [line.split() for line in file if line.endswith(" ok\n")
                       and line.startswith("acquire")]
        self.assertGreater(len(granted), rounds)
        code, said = self.verify()
        self.assertEqual(code, 0, said)
        # The same with one holder who acts after it was replaced.
        oldest = min(granted, key=lambda fields: int(fields[3]))
        record(self.path, f"check {oldest[1]} ledger {oldest[3]} {now()} {now()} ok")
        code, said = self.verify()
        self.assertEqual(code, 1, said)
        self.assertIn("not linearizable", said)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        sys.exit(command(*sys.argv[1:]))
    unittest.main()
