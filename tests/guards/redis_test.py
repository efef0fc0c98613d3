#!/usr/bin/env python3
"""guards/redis.lua on a redis-server of the test's own, through redis-cli."""

import os
import subprocess
import unittest

from contract import Contract, token
from server import GUARDS, Server, free_port, need


class Stale(Exception):
    pass


class Wrong(Exception):
    pass


class Redis(Server):
    def __init__(self):
        super().__init__()
        need("redis-server", "redis-cli")
        self.port = free_port()
        self.start(["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                    "--dir", self.folder], lambda: self.cli("PING") == "PONG")

    def cli(self, *words):
        done = subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True,
                              text=True, timeout=10)
        return done.stdout.rstrip("\n")


def setUpModule():
    global server
    server = Redis()


def tearDownModule():
    server.stop()


class RedisGuard(Contract, unittest.TestCase):
    STALE, WRONG = Stale, Wrong

    def setUp(self):
        server.cli("FLUSHALL")

    def fenced(self, fencing_token, *command):
        said = server.cli("--eval", os.path.join(GUARDS, "redis.lua"), "fence:{accounts}",
                          "{accounts}", ",", fencing_token, *command)
        for word, why in (("STALETOKEN", Stale), ("OTHERLOCK", Wrong), ("BADTOKEN", Wrong)):
            if word in said:
                # Its words, in those of the contract.
                text = said.replace("this is no fencing token", "no fencing token")
                raise why(text.replace("STALETOKEN token", "stale token")
                          .replace("tokens of different locks", "another lock"))
        return said

    def write(self, fencing_token, text):
        self.assertEqual(self.fenced(fencing_token, "SET", text), "OK")

    def read(self):
        return server.cli("GET", "{accounts}") or None

    def test_any_command_can_be_fenced_and_its_answer_comes_back(self):
        server.cli("RPUSH", "{accounts}", "a")
        self.assertEqual(self.fenced(token(42), "RPUSH", "b", "c"), "3")
        self.assertEqual(self.fenced(token(42), "LPOP"), "a")

    def test_a_command_that_fails_raises_the_floor_all_the_same(self):
        server.cli("RPUSH", "{accounts}", "a")
        self.assertIn("WRONGTYPE", self.fenced(token(42), "APPEND", "b"))
        with self.assertRaises(Stale):
            self.fenced(token(41), "LPOP")

    def test_a_transaction_that_was_prepared_before_the_newer_write_is_refused(self):
        with open(os.path.join(GUARDS, "redis.lua"), encoding="ascii") as file:
            sha = server.cli("SCRIPT", "LOAD", file.read())
        call = [sha, "2", "fence:{accounts}", "{accounts}"]
        older = subprocess.Popen(["redis-cli", "-p", str(server.port)], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        older.stdin.write("MULTI\nEVALSHA " + " ".join([*call, token(41), "SET", "late"]) + "\n")
        older.stdin.flush()
        self.assertEqual(server.cli("EVALSHA", *call, token(42), "SET", "new"), "OK")
        said, _ = older.communicate("EXEC\n", timeout=10)
        self.assertIn("STALETOKEN", said)
        self.assertEqual(self.read(), "new")


class WithoutTheGuard(unittest.TestCase):
    def test_a_late_write_overwrites_a_newer_one(self):
        class Unguarded(RedisGuard):
            def fenced(self, fencing_token, *command):
                return server.cli(command[0], "{accounts}", *command[1:])

        case = Unguarded()
        case.setUp()
        with self.assertRaises(AssertionError):
            case.test_an_older_token_is_refused_and_told_so()
        self.assertEqual(case.read(), "must not be there")


if __name__ == "__main__":
    unittest.main()
