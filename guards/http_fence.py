"""Fencing for an HTTP service: a WSGI middleware that refuses what a replaced lock holder sends.

    application = Fence(application, resource="accounts", folder="/var/lib/service/fence")

Requests that change something carry the header `Fencing-Token: VALUE:LOCK:STORE`, which is
HOLDFAST_FENCING_TOKEN as it is. Answers of its own: 428 no token, 400 malformed, 403 of another
lock or store than the resource is bound to, 412 stale, 411 and 413 of a body that cannot be read
before the others wait. Python's standard library is all it needs.
"""

import fcntl
import io
import json
import os
import re

TOKEN = re.compile(r"([1-9][0-9]{0,15}):([!-~]+:[!-~]+)")
TOKEN_MAX = 2**53 - 1
# WSGI joins a header that is sent twice, and a store's name may hold commas and colons.
TWICE = re.compile(r"[^:]+:[^:]+:[!-~]+,[1-9][0-9]{0,15}:[^:]+:[!-~]+")


class Refused(Exception):
    """Why a request is not let through: the status line and a sentence."""

    def __init__(self, status, why):
        super().__init__(why)
        self.status = status


class Floor:
    """The newest token a resource has seen, in a file that survives a loss of power."""

    def __init__(self, folder, resource):
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", resource):
            raise ValueError(f"resource {resource!r}: letters, digits and ._- only")
        self._resource = resource
        self._folder = folder
        self._path = os.path.join(folder, resource + ".json")

    def _read(self):
        try:
            with open(self._path, encoding="ascii") as file:
                kept = json.load(file)
            return kept["source"], kept["floor"]
        except FileNotFoundError:
            return None, 0

    def _write(self, source, floor):
        draft = self._path + ".new"
        with open(draft, "w", encoding="ascii") as file:
            json.dump({"source": source, "floor": floor}, file)
            file.flush()
            os.fsync(file.fileno())
        os.rename(draft, self._path)
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def enter(self, token):
        """Admits the token, or raises Refused. The pass lasts until the file that is given back is
        closed: a newer token waits for it, in other processes too."""
        match = TOKEN.fullmatch(token)
        if not match or int(match[1]) > TOKEN_MAX:
            raise Refused("400 Bad Request", f"{token!r} is no fencing token: the form is "
                          "VALUE:LOCK:STORE, with VALUE from 1 to 2^53 - 1")
        value, source = int(match[1]), match[2]
        turn = open(self._path + ".lock", "a", encoding="ascii")
        try:
            fcntl.flock(turn, fcntl.LOCK_EX)
            bound, floor = self._read()
            if bound not in (None, source):
                raise Refused("403 Forbidden", f"{self._resource} is bound to {bound}: the token "
                              f"{token} is of another lock or store")
            if value < floor:
                raise Refused("412 Precondition Failed", f"stale token {value} for "
                              f"{self._resource}: token {floor} was seen, this writer was "
                              "replaced: stop and acquire the lock again")
            # On the disk before anything that it guards.
            if (bound, floor) != (source, value):
                self._write(source, value)
            return turn
        except BaseException:
            turn.close()
            raise


class Fence:
    """The middleware: requests of one resource pass one after the other. Each is read as a whole
    before, up to body_max bytes: who hangs in the middle of one keeps nobody out."""

    SAFE = ("GET", "HEAD", "OPTIONS")

    def __init__(self, application, resource, folder, body_max=10 * 2**20):
        self._application = application
        self._floor = Floor(folder, resource)
        self._body_max = body_max

    def __call__(self, environ, start_response):
        if environ["REQUEST_METHOD"] in self.SAFE:
            return self._application(environ, start_response)
        try:
            token = environ.get("HTTP_FENCING_TOKEN")
            if token is None:
                raise Refused("428 Precondition Required", "the header Fencing-Token is missing: "
                              "send HOLDFAST_FENCING_TOKEN with every change")
            if TWICE.fullmatch(token):
                raise Refused("400 Bad Request", f"{token!r} is no fencing token but several: "
                              "send the header Fencing-Token once")
            self._read_body(environ)
            with self._floor.enter(token):
                return self._whole_answer(environ, start_response)
        except Refused as refused:
            start_response(refused.status, [("Content-Type", "text/plain; charset=ascii")])
            return [(str(refused) + "\n").encode("ascii", "backslashreplace")]

    def _read_body(self, environ):
        length = environ.get("CONTENT_LENGTH") or "0"
        if not re.fullmatch(r"[0-9]{1,18}", length):
            raise Refused("400 Bad Request", f"Content-Length {length!r} is no number")
        wanted, most = int(length), self._body_max
        if environ.get("wsgi.input_terminated"):
            left = most + 1
        elif "HTTP_TRANSFER_ENCODING" in environ:
            raise Refused("411 Length Required", "send the header Content-Length: this server "
                          "does not tell where a body without it ends")
        else:
            left = wanted
        body = bytearray()
        while wanted <= most and left > 0:
            part = environ["wsgi.input"].read(left)
            if not part:
                break
            body += part
            left -= len(part)
        if max(wanted, len(body)) > most:
            raise Refused("413 Content Too Large", f"more than {most} bytes, which are read "
                          "before others are kept waiting: see body_max")
        if len(body) < wanted:
            raise Refused("400 Bad Request", f"{len(body)} bytes came of {wanted}")
        environ["wsgi.input"] = io.BytesIO(bytes(body))
        environ["CONTENT_LENGTH"] = str(len(body))

    def _whole_answer(self, environ, start_response):
        # An application may do its work while its answer is read: that belongs to the pass too.
        answer = self._application(environ, start_response)
        try:
            return [b"".join(answer)]
        finally:
            if hasattr(answer, "close"):
                answer.close()
