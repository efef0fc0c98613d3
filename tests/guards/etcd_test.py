#!/usr/bin/env python3
"""guards/etcd_fence.sh on an etcd server of the test's own, through sh and etcdctl."""

import os
import shutil
import subprocess
import tempfile
import threading
import unittest

from contract import Contract, token
from server import GUARDS, Server, free_port, need


class Stale(Exception):
    pass


class Wrong(Exception):
    pass


class Etcd(Server):
    def __init__(self):
        super().__init__()
        need("etcd", "etcdctl")
        client = f"http://127.0.0.1:{free_port()}"
        peer = f"http://127.0.0.1:{free_port()}"
        self.environment = {**os.environ, "ETCDCTL_API": "3", "ETCDCTL_ENDPOINTS": client}
        self.start(["etcd", "--data-dir", self.folder + "/data", "--unsafe-no-fsync",
                    "--listen-client-urls", client, "--advertise-client-urls", client,
                    "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                    "--initial-cluster", "default=" + peer],
                   lambda: self.ctl("endpoint", "health").returncode == 0)

    def ctl(self, *words):
        return subprocess.run(["etcdctl", *words], capture_output=True, text=True,
                              env=self.environment, timeout=20)


def setUpModule():
    global server
    server = Etcd()


def tearDownModule():
    server.stop()


class EtcdGuard(Contract, unittest.TestCase):
    STALE, WRONG = Stale, Wrong
    script = os.path.join(GUARDS, "etcd_fence.sh")

    def setUp(self):
        server.ctl("del", "--prefix", "")

    def write(self, fencing_token, text):
        done = subprocess.run(
            ["sh", "-euc", f'. {self.script}; fenced_put books data/books "$1"', "sh", text],
            capture_output=True, text=True, timeout=20,
            env={**server.environment, "HOLDFAST_FENCING_TOKEN": fencing_token})
        why = {0: None, 77: Stale, 64: Wrong}.get(done.returncode, RuntimeError)
        if why:
            raise why(done.stderr)

    def read(self):
        return server.ctl("get", "--print-value-only", "data/books").stdout.rstrip("\n") or None

    def test_without_etcdctl_the_tool_is_named_and_not_etcd(self):
        with tempfile.TemporaryDirectory() as tools:
            for tool in ("timeout", "od"):
                os.symlink(shutil.which(tool), os.path.join(tools, tool))
            done = subprocess.run(
                [shutil.which("sh"), "-euc", f". {self.script}; fenced_put books data/books a"],
                capture_output=True, text=True, timeout=20,
                env={**server.environment, "PATH": tools, "HOLDFAST_FENCING_TOKEN": token(42)})
        self.assertEqual(done.returncode, 69, done.stderr)
        self.assertIn("there is no etcdctl in PATH; nothing was put", done.stderr)
        self.assertNotIn("did not answer", done.stderr)

    def test_a_value_may_hold_quotes_and_backslashes(self):
        paragraphs = "header\n\n\nput \"other\" \"x\"\nend"
        for text in ('a "b" \\n \\ c', paragraphs, "--ignore-value", "-5"):
            self.write(token(42), text)
            self.assertEqual(self.read(), text)
        self.assertEqual(server.ctl("get", "other").stdout, "")

    def test_a_token_with_a_blank_or_a_line_more_is_no_token_and_binds_nothing(self):
        for text in (token(42) + " ", token(42) + "\r", token(42) + "\n", token(42, "a b:c"),
                     token(42, "a:b\nfence/books/floor")):
            with self.subTest(text):
                self.refused(Wrong, text, "no fencing token")
        self.write(token(42), "a")

    def test_a_value_that_is_not_utf8_is_put_as_it_is(self):
        self.write(token(42), os.fsdecode(b"caf\xe9"))
        put = subprocess.run(["etcdctl", "get", "--print-value-only", "data/books"],
                             capture_output=True, env=server.environment, timeout=20)
        self.assertEqual(put.stdout, b"caf\xe9\n")

    def test_how_etcdctl_writes_elsewhere_is_nothing_to_it(self):
        plain = server.environment
        said = {"ETCDCTL_WRITE_OUT": "json", "ETCDCTL_HEX": "true"}
        for name, value in said.items():
            with self.subTest(name):
                self.setUp()
                server.environment = {**plain, name: value}
                try:
                    self.write(token(43), "new")
                    with self.assertRaisesRegex(Stale, "token 43 was seen"):
                        self.write(token(42), "late")
                    with self.assertRaisesRegex(Wrong, "bound to nightly:local/0123abcd"):
                        self.write(token(44, "weekly:x"), "late")
                finally:
                    server.environment = plain
                self.assertEqual(self.read(), "new")

    def test_both_tokens_are_named_and_the_lock(self):
        self.write(token(43), "new")
        self.refused(Stale, token(42), "stale token 42 for books: token 43 was seen")
        self.refused(Wrong, token(44, "weekly:x"), "bound to nightly:local/0123abcd")

    def test_many_writers_at_once_leave_what_the_newest_put(self):
        values = list(range(1, 9))
        stale = []

        def write(value):
            try:
                self.write(token(value), str(value))
            except Stale:
                stale.append(value)

        writers = [threading.Thread(target=write, args=(value,)) for value in values]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        self.assertEqual(self.read(), "8")
        self.assertNotIn(8, stale)

    @unittest.skipUnless("HOLDFAST_TEST_FULL" in os.environ, "it takes five seconds")
    def test_no_answer_is_69_and_told(self):
        done = subprocess.run(
            ["sh", "-c", f". {self.script}; fenced_put books data/books x"],
            capture_output=True, text=True, timeout=30,
            env={**server.environment, "HOLDFAST_FENCING_TOKEN": token(1),
                 "ETCDCTL_ENDPOINTS": "http://127.0.0.1:1"})
        self.assertEqual(done.returncode, 69, done.stderr)
        self.assertIn("whether data/books was put is not known", done.stderr)


class WithoutTheGuard(unittest.TestCase):
    def test_a_late_write_overwrites_a_newer_one(self):
        class Unguarded(EtcdGuard):
            def write(self, fencing_token, text):
                server.ctl("put", "data/books", text)

        case = Unguarded()
        case.setUp()
        with self.assertRaises(AssertionError):
            case.test_an_older_token_is_refused_and_told_so()
        self.assertEqual(case.read(), "must not be there")


if __name__ == "__main__":
    unittest.main()
