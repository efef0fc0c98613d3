"""Servers of a test's own, on a free port of 127.0.0.1, ended with the test."""

import atexit
import ctypes
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

GUARDS = os.path.join(os.path.dirname(__file__), "..", "..", "guards")


def guard(name):
    with open(os.path.join(GUARDS, name), encoding="ascii") as file:
        return file.read()


def need(*programs):
    """Skips where a program is missing, and says so."""
    for program in programs:
        if shutil.which(program) is None:
            raise unittest.SkipTest(f"NOT TESTED: there is no {program}")


_given = set()


def free_port():
    """Below those of the other tests, and those that the kernel gives to clients: such a one may be
    somebody's before the server has it."""
    while True:
        port = random.randrange(10_000, 15_000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in _given:
            _given.add(port)
            return port


def unprivileged():
    """Arguments of Popen for servers that refuse to run as root, and the user's name."""
    if os.geteuid() != 0:
        return {}, pwd.getpwuid(os.geteuid()).pw_name
    return {"user": "nobody", "group": "nogroup", "extra_groups": []}, "nobody"


def end_with_parent():
    """Of a test that is killed nothing is left either; prctl(2), PR_SET_PDEATHSIG."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Server:
    """A process with a folder of its own; `ready` is asked until it answers true."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="holdfast-guard-")
        self._process = None

    def start(self, command, ready, **how):
        log_path = os.path.join(self.folder, "log")
        with open(log_path, "wb") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                             stderr=log, preexec_fn=end_with_parent, **how)
        # For a test that fails before it has somebody who stops it.
        atexit.register(self.stop)
        end = time.monotonic() + 30
        while not ready():
            if self._process.poll() is not None or time.monotonic() > end:
                with open(log_path, encoding="utf-8", errors="replace") as log:
                    sys.stderr.write(log.read())
                raise RuntimeError(f"{command[0]} did not start")
            time.sleep(0.05)

    def stop(self):
        if self._process is not None:
            process, self._process = self._process, None
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
