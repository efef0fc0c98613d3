#!/usr/bin/env python3
"""guards/http_fence.py around a small service, with real requests."""

import http.client
import os
import shutil
import socket
import socketserver
import sys
import tempfile
import threading
import time
import unittest
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from contract import Contract, token
from server import GUARDS

sys.path.insert(0, GUARDS)
from http_fence import Fence  # noqa: E402


class Stale(Exception):
    pass


class Wrong(Exception):
    pass


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


class Threads(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Service:
    """One text that can be put and got; the put of `held` stops in the middle."""

    def __init__(self):
        self.text = None
        self.held = None
        self.entered = threading.Event()
        self.may_go_on = threading.Event()

    def __call__(self, environ, start_response):
        if environ["REQUEST_METHOD"] == "PUT":
            body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])).decode()
            start_response("204 No Content", [])
            return self.written(body)
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [(self.text or "").encode()]

    def written(self, text):
        # While the answer is read, as a service that streams would.
        if text == self.held:
            self.entered.set()
            self.may_go_on.wait(10)
        self.text = text
        yield b""


class HttpGuard(Contract, unittest.TestCase):
    STALE, WRONG = Stale, Wrong

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="holdfast-guard-")
        self.service = Service()
        self.start()

    def around(self, service):
        return Fence(service, resource="books", folder=self.folder)

    def start(self):
        self.server = make_server("127.0.0.1", 0, self.around(self.service), Threads, Quiet)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def tearDown(self):
        self.service.may_go_on.set()
        self.stop()
        shutil.rmtree(self.folder)

    def request(self, method, headers, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.server_port, timeout=20)
        try:
            connection.request(method, "/books", body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def write(self, fencing_token, text):
        status, said = self.request("PUT", {"Fencing-Token": fencing_token}, text)
        why = {204: None, 412: Stale, 400: Wrong, 403: Wrong}.get(status, RuntimeError)
        if why:
            raise why(said)

    def read(self):
        return self.request("GET", {})[1] or None

    def test_a_change_without_a_token_is_428_and_a_look_needs_none(self):
        for method in ("PUT", "POST", "DELETE", "PATCH"):
            status, said = self.request(method, {}, "x")
            self.assertEqual(status, 428)
            self.assertIn("Fencing-Token is missing", said)
        self.assertIsNone(self.read())

    def test_a_header_that_is_sent_twice_is_refused_and_binds_nothing(self):
        for source in ("nightly:local/0123abcd", "a,5:zookeeper/a:2181,10.0.0.2:2181/p"):
            for second in (42, 43):
                both = f"{token(42, source)},{token(second, source)}"
                with self.subTest(both):
                    self.refused(Wrong, both, "Fencing-Token once")
        self.write(token(42, "a,5:zookeeper/a:2181,10.0.0.2:2181/p"), "a")
        self.assertEqual(self.read(), "a")

    def test_the_floor_outlives_the_service(self):
        self.write(token(42), "a")
        self.stop()
        self.start()
        self.refused(Stale, token(41), "stale token 41 for books: token 42 was seen")

    def test_a_damaged_floor_lets_nobody_in(self):
        self.write(token(42), "a")
        with open(os.path.join(self.folder, "books.json"), "w", encoding="ascii") as file:
            file.write("{")
        self.server.handle_error = lambda *_: None
        stderr, sys.stderr = sys.stderr, open(os.devnull, "w", encoding="ascii")
        try:
            status, _ = self.request("PUT", {"Fencing-Token": token(43)}, "x")
        finally:
            sys.stderr.close()
            sys.stderr = stderr
        self.assertEqual(status, 500)
        self.assertEqual(self.read(), "a")

    def in_the_middle_of(self, value):
        self.service.held = str(value)
        first = threading.Thread(target=self.write, args=(token(value), str(value)))
        first.start()
        self.assertTrue(self.service.entered.wait(10))
        return first

    def test_a_newer_request_waits_for_the_write_of_an_older_one(self):
        older = self.in_the_middle_of(41)
        newer = threading.Thread(target=self.write, args=(token(42), "42"))
        newer.start()
        newer.join(0.3)
        self.assertTrue(newer.is_alive(), "it passed beside a write that is under way")
        self.service.may_go_on.set()
        older.join()
        newer.join()
        self.assertEqual(self.read(), "42")

    def half_sent(self, fencing_token, headers="Content-Length: 10\r\n"):
        slow = socket.create_connection(("127.0.0.1", self.server.server_port), 10)
        self.addCleanup(slow.close)
        slow.sendall(f"PUT /books HTTP/1.0\r\nFencing-Token: {fencing_token}\r\n"
                     f"{headers}\r\nabc".encode())
        return slow

    def test_who_hangs_amid_its_request_keeps_nobody_out(self):
        slow = self.half_sent(token(41))
        time.sleep(0.3)
        newer = threading.Thread(target=self.write, args=(token(42), "42"), daemon=True)
        newer.start()
        newer.join(10)
        is_kept_out = newer.is_alive()
        slow.sendall(b"defghij")
        status = slow.makefile("rb").readline()
        newer.join(10)
        self.assertFalse(is_kept_out)
        self.assertIn(b" 412 ", status)
        self.assertEqual(self.read(), "42")

    def test_a_request_that_is_cut_short_or_too_large_binds_nothing(self):
        cut = self.half_sent(token(50))
        cut.shutdown(socket.SHUT_WR)
        self.assertIn(b" 400 ", cut.makefile("rb").readline())
        for headers, code in (("Content-Length: 10485761\r\n", b" 413 "),
                              ("Content-Length: x\r\n", b" 400 "),
                              ("Transfer-Encoding: chunked\r\n", b" 411 ")):
            with self.subTest(headers):
                self.assertIn(code, self.half_sent(token(50), headers).makefile("rb").readline())
        self.write(token(42), "a")
        self.assertEqual(self.read(), "a")

    def test_an_older_request_during_a_newer_one_is_refused(self):
        newer = self.in_the_middle_of(42)
        said = []
        older = threading.Thread(target=lambda: said.append(
            self.request("PUT", {"Fencing-Token": token(41)}, "late")))
        older.start()
        older.join(0.3)
        self.service.may_go_on.set()
        newer.join()
        older.join()
        self.assertEqual(said[0][0], 412)
        self.assertEqual(self.read(), "42")


class WithoutTheGuard(unittest.TestCase):
    def test_a_late_write_overwrites_a_newer_one(self):
        class Unguarded(HttpGuard):
            def around(self, service):
                return service

        case = Unguarded()
        case.setUp()
        try:
            with self.assertRaises(AssertionError):
                case.test_an_older_token_is_refused_and_told_so()
            self.assertEqual(case.read(), "must not be there")
        finally:
            case.tearDown()


if __name__ == "__main__":
    unittest.main()
