"""A stand-in for an object store: not one. It keeps objects in memory and has what the guard needs
of a real one: HEAD, GET and PUT with ETag, If-Match, If-None-Match and metadata, each put atomic.
"""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class ObjectStoreStandIn(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, honours_conditions=True, tags_content_alone=False):
        super().__init__(("127.0.0.1", 0), _Requests)
        self.objects = {}
        self.one_put = threading.Lock()
        self.honours_conditions = honours_conditions
        self.tags_content_alone = tags_content_alone


class _Requests(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def _answer(self, status, headers=(), body=b""):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self):
        kept = self.server.objects.get(self.path)
        if kept is None:
            self._answer(404)
            return
        body, tag, metadata = kept
        self._answer(200, [("ETag", tag), *metadata], body)

    do_GET = do_HEAD

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        metadata = [(k, v) for k, v in self.headers.items() if k.lower().startswith("x-amz-meta-")]
        with self.server.one_put:
            kept = self.server.objects.get(self.path)
            if self.server.honours_conditions and not self._may(kept):
                self._answer(412)
                return
            tagged = body if self.server.tags_content_alone else body + repr(metadata).encode()
            tag = '"' + hashlib.md5(tagged).hexdigest() + '"'
            self.server.objects[self.path] = (body, tag, metadata)
        self._answer(200, [("ETag", tag)])

    def _may(self, kept):
        if self.headers["If-None-Match"] == "*" and kept is not None:
            return False
        wanted = self.headers["If-Match"]
        return wanted is None or (kept is not None and kept[1] == wanted)
