#!/usr/bin/env python3
"""Two writers and one ledger, on local:, Redlock and etcd: one is stopped between its check and its
write until its lock has passed on. Without a fence it writes over the other's line; with one it is
refused. LATE_WRITER and HOLDFAST name the programs."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from server import Server, free_port, need

STALE = 77


class Local:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="holdfast-late-")
        self.url = f"local:{self.folder}/store?ttl=2s"
        subprocess.run([os.environ["HOLDFAST"], "run", "x", "--store", self.url, "--", "true"],
                       check=True, timeout=30)

    def stop(self):
        shutil.rmtree(self.folder)


class Redlock:
    def __init__(self):
        need("redis-server", "redis-cli")
        self.nodes = [self.node() for _ in range(5)]
        addresses = ",".join(address for _, address in self.nodes)
        # Slow answers on a busy machine are no failure of a node.
        self.url = f"redlock://{addresses}?ttl=3s&node_timeout=1s"
        subprocess.run([os.environ["HOLDFAST"], "redlock", "init", "--store", self.url], check=True,
                       stdout=subprocess.DEVNULL, timeout=30)

    @staticmethod
    def node():
        server, port = Server(), free_port()
        server.start(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "",
                      "--dir", server.folder],
                     lambda: b"PONG" in subprocess.run(["redis-cli", "-p", str(port), "PING"],
                                                       capture_output=True, timeout=10).stdout)
        return server, f"127.0.0.1:{port}"

    def stop(self):
        for server, _ in self.nodes:
            server.stop()


class Etcd:
    def __init__(self):
        need("etcd", "etcdctl")
        self.server = Server()
        port, peer = free_port(), f"http://127.0.0.1:{free_port()}"
        client = f"http://127.0.0.1:{port}"
        self.server.start(
            ["etcd", "--data-dir", self.server.folder + "/data", "--unsafe-no-fsync",
             "--heartbeat-interval", "10", "--election-timeout", "100",
             "--listen-client-urls", client, "--advertise-client-urls", client,
             "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
             "--initial-cluster", "default=" + peer],
            lambda: subprocess.run(["etcdctl", "--endpoints", client, "endpoint", "health"],
                                   env={**os.environ, "ETCDCTL_API": "3"}, timeout=20,
                                   capture_output=True).returncode == 0)
        self.url = f"etcd://127.0.0.1:{port}?ttl=4s&node_timeout=2s"

    def stop(self):
        self.server.stop()


class Writer:
    """One example_late_writer on the store and the ledger of a test."""

    def __init__(self, case, name, *more):
        self._case = case
        self.said = ""
        floors = "file:" + case.folder + "/floors" if case.fenced else "-"
        environment = {**os.environ, "XDG_STATE_HOME": case.folder + "/state",
                       "HOLDFAST_RUN_DIRECTORY": case.folder + "/run"}
        self._process = subprocess.Popen(
            [os.environ["LATE_WRITER"], case.store.url, case.ledger, floors, name, *more],
            stderr=subprocess.PIPE, text=True, env=environment)
        case.addCleanup(self.kill)

    def until_stopped(self):
        end = time.monotonic() + 60
        while True:
            with open(f"/proc/{self._process.pid}/stat", encoding="ascii") as file:
                state = file.read().rpartition(")")[2].split()[0]
            if state == "T":
                return
            if state == "Z" or time.monotonic() > end:
                self.end()
                self._case.fail("the writer has not stopped itself: " + self.said)
            time.sleep(0.01)

    def go_on(self):
        self._process.send_signal(signal.SIGCONT)

    def kill(self):
        self._process.kill()
        self._process.wait()
        self._process.stderr.close()

    def end(self):
        """Its exit code; what it said is in `said`."""
        try:
            _, self.said = self._process.communicate(timeout=90)
        except subprocess.TimeoutExpired:
            self._process.kill()
            _, self.said = self._process.communicate()
        return self._process.returncode


class LateWriter:
    """Mixed into a TestCase with `engine`."""

    @classmethod
    def setUpClass(cls):
        cls.store = cls.engine()

    @classmethod
    def tearDownClass(cls):
        cls.store.stop()

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="holdfast-late-")
        self.ledger = self.folder + "/ledger"
        with open(self.ledger, "w", encoding="ascii") as file:
            file.write("first\n")

    def tearDown(self):
        shutil.rmtree(self.folder)

    def lines(self):
        with open(self.ledger, encoding="ascii") as file:
            return file.read().split()

    def late_write(self):
        """What the late writer answers, after the other has written; and what it said."""
        late = Writer(self, "late", "stop")
        late.until_stopped()
        other = Writer(self, "other")
        self.assertEqual(other.end(), 0, other.said)
        self.assertEqual(self.lines(), ["first", "other"])
        late.go_on()
        code = late.end()
        return code, late.said

    def test_without_a_fence_the_late_write_loses_the_other_line(self):
        self.fenced = False
        code, said = self.late_write()
        self.assertEqual(code, 0, said)
        self.assertEqual(self.lines(), ["first", "late"], "the line of the other is lost")

    def test_with_a_fence_the_late_write_is_refused_and_nothing_is_lost(self):
        self.fenced = True
        code, said = self.late_write()
        self.assertEqual(code, STALE, said)
        self.assertRegex(said, "token [0-9]+")
        self.assertEqual(self.lines(), ["first", "other"])
        again = Writer(self, "again")
        self.assertEqual(again.end(), 0, again.said)
        self.assertEqual(self.lines(), ["first", "other", "again"])


class OnLocal(LateWriter, unittest.TestCase):
    engine = Local

    def test_a_ledger_that_cannot_be_read_is_not_taken_for_empty(self):
        self.fenced = False
        os.remove(self.ledger)
        os.symlink(self.ledger, self.ledger)
        writer = Writer(self, "one")
        self.assertEqual(writer.end(), 1, writer.said)
        self.assertRegex(writer.said, "cannot copy .*/ledger")
        self.assertTrue(os.path.islink(self.ledger), "nothing took its place")


class OnRedlock(LateWriter, unittest.TestCase):
    engine = Redlock


class OnEtcd(LateWriter, unittest.TestCase):
    engine = Etcd


if __name__ == "__main__":
    sys.exit(unittest.main())
