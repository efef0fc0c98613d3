"""Fencing for an object store with conditional puts (If-Match, If-None-Match on PUT).

The token travels in the object's own metadata, so that content and token change together. A writer
looks at the object, compares, and puts under the condition that the object is still the one it
compared with. Over plain HTTP here; every store's own client has the same two conditions. The
store's ETag has to change with the token: where it is a hash of the content, put() wants the token
in there, too.
"""

import hashlib
import http.client
import re

TOKEN = re.compile(r"([1-9][0-9]{0,15}):([!-~]+:[!-~]+)")
TOKEN_MAX = 2**53 - 1
METADATA = "x-amz-meta-fencing-token"


class StaleToken(Exception):
    """A newer token was seen: this writer was replaced."""


class WrongToken(Exception):
    """The token is malformed, or of another lock or store than the object's."""


def parsed(token):
    match = TOKEN.fullmatch(token)
    if not match or int(match[1]) > TOKEN_MAX:
        raise WrongToken(f"{token!r} is no fencing token: the form is VALUE:LOCK:STORE, with VALUE "
                         "from 1 to 2^53 - 1")
    return int(match[1]), match[2]


def _request(address, method, path, headers=None, body=None):
    connection = http.client.HTTPConnection(*address, timeout=10)
    try:
        connection.request(method, path, body=body, headers=headers or {})
        answer = connection.getresponse()
        answer.read()
        return answer
    finally:
        connection.close()


def condition_for(address, path, token):
    """The condition under which the token may put the object as it is now."""
    value, source = parsed(token)
    seen = _request(address, "HEAD", path)
    if seen.status == 404:
        return {"If-None-Match": "*"}
    if seen.status != 200:
        raise OSError(f"HEAD {path}: {seen.status} {seen.reason}")
    kept = seen.getheader(METADATA)
    if kept is None:
        raise WrongToken(f"{path} was put without a fencing token: put it once by hand with one")
    floor, bound = parsed(kept)
    if bound != source:
        raise WrongToken(f"{path} is bound to {bound}: {token} is of another lock or store")
    if value < floor:
        raise StaleToken(f"stale token {value} for {path}: token {floor} was seen, this writer was "
                         "replaced: stop and acquire the lock again")
    return {"If-Match": seen.getheader("ETag")}


def _names_content_alone(tag, body):
    hashes = (hashlib.new(name, body).hexdigest() for name in ("md5", "sha1", "sha256"))
    return (tag or "").strip('"').lower() in hashes


def put(address, path, token, body, tries=10):
    """Puts the object, unless a newer token was seen."""
    for _ in range(tries):
        condition = condition_for(address, path, token)
        done = _request(address, "PUT", path, {**condition, METADATA: token}, body)
        if done.status in (200, 201):
            # Equal content with a newer token would have the ETag that an older writer has seen.
            if token.encode() not in body and _names_content_alone(done.getheader("ETag"), body):
                raise OSError(f"PUT {path}: it was put, but the store's ETag is a hash of the "
                              "content alone and does not change with the token: put the token "
                              "into the content, too")
            return
        # Somebody was faster; who it was decides.
        if done.status not in (409, 412):
            raise OSError(f"PUT {path}: {done.status} {done.reason}")
    raise OSError(f"PUT {path}: the object changed {tries} times meanwhile")
