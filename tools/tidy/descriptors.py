"""Every descriptor is closed in a program that is started meanwhile, from its first moment on.

A flag that is set behind the call comes too late for a thread that forks between the two. Streams
of the standard library have none: what they read is read at once, and holds nothing.
"""

import re

from source import Fault

_PLACES = ("src/", "cli/")
_TAKES_FLAG = (
    "open openat openat2 socket socketpair pipe2 accept4 dup3 epoll_create1 eventfd timerfd_create "
    "signalfd memfd_create inotify_init1 mkostemp recvmsg"
).split()
_HAS_NO_FLAG = (
    "creat pipe accept dup dup2 epoll_create inotify_init mkstemp tmpfile popen"
).split()
# Members of ours may be called open or accept: the system's begin with two colons.
_CALL = re.compile(rf"(?<![\w>:])::({'|'.join(_TAKES_FLAG + _HAS_NO_FLAG)})\s*\(")
_FILE = re.compile(r"\bf(?:re)?open\s*\(")


def _arguments(code, begin):
    """The text between the parenthesis at `begin` and the one that closes it."""
    depth = 0
    for at in range(begin, len(code)):
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        if depth == 0:
            return code[begin + 1 : at]
    return code[begin:]


def _closes(code, match):
    if match.group(1) in _HAS_NO_FLAG:
        return False
    arguments = _arguments(code, match.end() - 1)
    if "CLOEXEC" in arguments:
        return True
    if not re.search(r"\bflags\b", arguments):
        return False
    values = re.findall(r"\bflags\s*=\s*([^;]*);", code[: match.start()])
    return bool(values) and "CLOEXEC" in values[-1]


def check(sources):
    for source in sources:
        if source.is_test or not source.is_cpp or not source.path.startswith(_PLACES):
            continue
        code = source.code
        found = [m for m in _CALL.finditer(code) if not _closes(code, m)]
        # The mode "re" is open(2)'s O_RDONLY | O_CLOEXEC; literals are blank in `code`.
        for match in _FILE.finditer(code):
            if not re.search(r',\s*"\w*e', source.text[match.end() :].split(";", 1)[0]):
                found.append(match)
        found += re.finditer(r"\bF_DUPFD\b", code)
        for match in found:
            text = f"{match.group(0).rstrip('( ')}: a program that is started meanwhile inherits it"
            yield Fault(source.path, source.line_at(match.start()), "descriptor", text)
