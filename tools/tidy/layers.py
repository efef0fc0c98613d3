"""Who may include whom, and which calls are not made where. See CONTRIBUTING.md."""

import re
from dataclasses import dataclass

from source import Fault

# What each layer may include, the most special path first. "std" is the C++ library, "posix" is
# every C header; other words are the first part of an include. {own} is the folder itself.
LAYERS = [
    ("include/holdfast/asio.hpp", {"std", "holdfast", "asio"}),
    ("include/holdfast/", {"std", "holdfast"}),
    ("src/core/", {"std", "holdfast", "core"}),
    ("src/history/", {"std", "holdfast", "core", "history"}),
    ("src/wire/", {"std", "holdfast", "core", "wire"}),
    ("src/io/", {"std", "posix", "holdfast", "core", "wire", "io", "asio", "openssl", "zookeeper"}),
    ("src/engines/opened_store.hpp", {"std", "holdfast", "core"}),
    (
        "src/engines/",
        {
            "std", "posix", "holdfast", "core", "wire", "io", "engines/opened_store.hpp", "{own}",
            "lmdb.h",
        },
    ),
    ("src/fence/", {"std", "posix", "holdfast", "core", "io", "fence", "xxhash.h"}),
    ("src/client/", {"std", "holdfast", "core", "io", "engines", "fence", "client"}),
    ("sim/", {"std", "holdfast", "core", "sim"}),
    ("cli/", {"std", "posix", "holdfast", "cli", "CLI", "toml++", "nlohmann", "fmt"}),
    ("examples/", {"std", "holdfast", "asio"}),
]

# Pure code cannot reach a clock, a thread or a file when it cannot name them.
_PURE = ("src/core/", "src/history/", "src/wire/")
NOT_IN_PURE = {
    "thread", "mutex", "shared_mutex", "condition_variable", "future", "semaphore", "latch",
    "barrier", "random", "iostream", "fstream", "filesystem", "cstdio", "ctime", "syncstream",
}


# Where a program that broke a contract prints its last words and ends.
_LAST_WORDS = ("src/core/assert.cpp", "src/core/error.cpp")


@dataclass(frozen=True)
class Ban:
    """A call that is not made: the pattern, where the rule holds, and what to use instead."""

    pattern: str
    instead: str
    places: tuple
    exceptions: tuple = ()


_IN_SRC = ("src/",)
_IN_IO = ("src/io/",)
_EVERYWHERE = ("src/", "cli/", "include/", "sim/", "examples/")
_WORDS = [
    ("system_clock", "holdfast::clock, or wall_now() of src/io for what people read"),
    ("steady_clock", "holdfast::clock: steady_clock stands still while a machine sleeps"),
    ("sleep_for", "a timer of src/io"),
    ("sleep_until", "a timer of src/io"),
    ("usleep", "a timer of src/io"),
    ("mt19937", "the random bits that the caller passes in"),
    ("random_device", "the random bits of src/io"),
    ("clock_gettime", "holdfast::clock"),
]
BANS = [
    *(Ban(rf"\b{word}\b", instead, _IN_SRC, _IN_IO) for word, instead in _WORDS),
    Ban(r"\bstd::j?thread\b(?!::id)", "the loop of src/io", _IN_SRC, _IN_IO),
    Ban(r"\bstd::(\w*mutex|lock_guard|unique_lock|scoped_lock|condition_variable)\b",
        "io::mutex, held_mutex and condition of src/io/thread: clang checks what they guard",
        _IN_SRC, ("src/io/thread/mutex.hpp", "src/io/thread/condition.hpp")),
    Ban(r"\bstd::rand\b|\bsrand\s*\(", "the random bits of src/io", _EVERYWHERE),
    Ban(r"\bstd::(cout|cerr|clog)\b", "an observer event: the library never prints", _IN_SRC),
    Ban(r"\b[fd]?printf\s*\(", "an observer event: the library never prints", _IN_SRC,
        _LAST_WORDS),
    Ban(r"\babort\s*\(", "HOLDFAST_ASSERT of src/core/assert.hpp", _IN_SRC,
        _LAST_WORDS),
    Ban(r"\bnow\s*\(", "the time that the caller passes in", _PURE),
    Ban(r"\bclock::now\b", "the simulated time", ("sim/",)),
    Ban(r"\b(std::system|popen)\s*\(", "posix_spawn or execvp: never a shell", _EVERYWHERE),
    Ban(r"\b(v?sprintf|strcpy|strcat|gets)\s*\(", "std::string", _EVERYWHERE),
    Ban(r"\b[io]?stringstream\b",
        "std::to_string and core::whole_number: streams write numbers as the program's locale says",
        _IN_SRC),
    Ban(r"\b(atoi|atol|atoll|atof)\s*\(", "std::from_chars, which tells errors", _EVERYWHERE),
    Ban(r"\bassert\s*\(", "HOLDFAST_ASSERT, which stays on in release", _IN_SRC),
    Ban(r"\busing\s+namespace\s+std\s*;", "names with std::", _EVERYWHERE),
]


# Where time is an argument a test needs no time either; others may wait for threads.
_SLEEPS = re.compile(r"\b(sleep_for|sleep_until|u?sleep|nanosleep)\s*\(")


def _layer_of(path):
    return next((may for prefix, may in LAYERS if path.startswith(prefix)), None)


def _allowed(name, angled, may, own):
    first = name.split("/")[0]
    if not angled:
        words = {first, name, "/".join(name.split("/")[:2])}
        return bool(words & {word.replace("{own}", own) for word in may})
    if name in may or first.removesuffix(".hpp") in may:
        return True
    if "/" not in name and not name.endswith((".h", ".hpp")):
        return "std" in may
    return name.endswith(".h") and "posix" in may


def check_includes(source):
    may = _layer_of(source.path)
    if may is None or source.is_test or not source.is_cpp:
        return
    own = "/".join(source.path.split("/")[1:3])
    for line, name, angled in source.includes():
        if not _allowed(name, angled, may, own):
            text = f"{name} is outside of what this layer may include"
            yield Fault(source.path, line, "include", text)
        is_pure = source.path.startswith(_PURE) and source.path not in _LAST_WORDS
        if is_pure and angled and name in NOT_IN_PURE:
            text = f"<{name}>: this layer has no clock, no thread, no I/O and no chance"
            yield Fault(source.path, line, "include", text)
        if name.startswith("engines/") and source.path.startswith("src/client/"):
            if not re.fullmatch(r"engines/(\w+/open|opened_store)\.hpp", name):
                yield Fault(source.path, line, "include", f"{name}: only an engine's open.hpp")


def check_sleeps(source):
    if not source.is_test or not source.is_cpp or not source.path.startswith(_PURE):
        return
    for match in _SLEEPS.finditer(source.code):
        text = f"{match.group(1)}: a test of this layer passes the time in"
        yield Fault(source.path, source.line_at(match.start()), "banned", text)


def check_bans(source):
    if source.is_test or not source.is_cpp:
        return
    for ban in BANS:
        if not source.path.startswith(ban.places) or source.path.startswith(ban.exceptions):
            continue
        for match in re.finditer(ban.pattern, source.code):
            text = f"{match.group(0).strip()}: use {ban.instead}"
            yield Fault(source.path, source.line_at(match.start()), "banned", text)


def check(sources):
    for source in sources:
        yield from check_includes(source)
        yield from check_bans(source)
        yield from check_sleeps(source)
