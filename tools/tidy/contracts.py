"""Promises that hold between files: all is built and run, every error is told and tested."""

import re
from pathlib import PurePosixPath

from source import Fault

ERRORS = "include/holdfast/error.hpp"
SUITES = "cli/CMakeLists.txt"
_BUILT = ("src/", "sim/", "cli/", "tests/", "bench/", "examples/", "fuzz/")


def check_listed(sources):
    """Every .cpp is named, by its path from there, in a CMake file of a folder above it."""
    lists = {s.path: s.text for s in sources if s.path.endswith("CMakeLists.txt")}
    for source in sources:
        if not (source.path.startswith(_BUILT) and source.path.endswith(".cpp")):
            continue
        path = PurePosixPath(source.path)
        for folder in path.parents:
            text = lists.get(str(folder / "CMakeLists.txt"), "")
            here = re.escape(str(path.relative_to(folder)))
            stem = re.escape(str(path.relative_to(folder).with_suffix("")))
            if re.search(rf"(^|[\s\"(/])({here}|{stem})($|[\s\")])", text, re.MULTILINE):
                break
        else:
            yield Fault(source.path, 1, "cmake", "no CMakeLists.txt above it names this file")


def check_suites(sources):
    """Every suite of the program is named in the CMake file that registers them."""
    listed = next((s.text for s in sources if s.path == SUITES), "")
    named = re.search(r"foreach\(suite\s([^)]*)\)", listed)
    names = named.group(1).split() if named else []
    for source in sources:
        path = PurePosixPath(source.path)
        if path.suffix == ".bats" and path.stem not in names:
            yield Fault(source.path, 1, "cmake", f"{SUITES} does not register this suite")


def _values(text):
    """(line, name, doc) of every value of `enum class errc`."""
    body = re.search(r"enum class errc \{(.*?)\};", text, re.DOTALL)
    if body is None:
        return
    first = text.count("\n", 0, body.start(1)) + 1
    for number, line in enumerate(body.group(1).split("\n")):
        match = re.match(r"\s*(\w+)(?:\s*=\s*\d+)?,\s*(///<\s*\S.*)?$", line)
        if match:
            yield first + number, match.group(1), match.group(2)


def check_errors(sources):
    """Every errc has a line of documentation, a name, a sentence and a test."""
    header = next((s for s in sources if s.path == ERRORS), None)
    if header is None:
        return
    values = list(_values(header.text))
    if not values:
        yield Fault(ERRORS, 1, "errc", "the values of enum class errc were not found")
    code = "\n".join(s.text for s in sources if s.path.startswith("src/core/") and not s.is_test)
    tests = "\n".join(s.text for s in sources if s.is_test)
    for line, name, doc in values:
        if doc is None:
            yield Fault(ERRORS, line, "errc", f"{name} has no documentation (///<)")
        if not re.search(rf'case errc::{name}:\s*return \{{"{name}",\s*"[^"]{{10,}}', code):
            text = f'src/core has no `case errc::{name}: return {{"{name}", "a sentence"}}`'
            yield Fault(ERRORS, line, "errc", text)
        if not re.search(rf"errc::{name}\b", tests):
            yield Fault(ERRORS, line, "errc", f"no test names errc::{name}")


def check(sources):
    yield from check_listed(sources)
    yield from check_suites(sources)
    yield from check_errors(sources)


def comment_share(text):
    """Comment lines / (comment + code lines), whole-line comments only."""
    comments = code = 0
    for line in text.split("\n"):
        stripped = line.strip()
        comments += stripped.startswith("//")
        code += bool(stripped) and not stripped.startswith("//")
    return comments, code
