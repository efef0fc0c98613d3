#!/usr/bin/env python3
"""Makes docs/fault-matrix.md from the notes above the tests of tests/redlock.

A note is a comment before a test:  /// Fault matrix: what happens | what the test shows
Without an argument it checks that the file is up to date; --write writes it.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "fault-matrix.md"
MARK = "/// Fault matrix:"
TEST = re.compile(r"TEST(?:_[FP])?\(\s*(\w+)\s*,\s*(\w+)\s*\)")
VALUES = r"INSTANTIATE_TEST_SUITE_P\(\s*(\w+),\s*%s,\s*testing::Values\(([^;]*)\)\);"

HEAD = """\
# Fault matrix of Redlock

What is done to real redis-server processes, and what the client is shown to keep. Made from the
tests in `tests/redlock` by `tools/fault_matrix.py --write`; a test fails when it is out of date.

Where nothing else is said the store has five nodes and tokens. In the tests of `redlock_faults`,
`redlock_state_faults`, `redlock_restart` and `redlock_clock` three clients contend for one lock
meanwhile: no two ever hold at the same time, tokens grow strictly, no key is left for longer than
its ttl, and every call ends.

Run them with `ctest --test-dir build/release -L redis`, in full with `HOLDFAST_TEST_FULL=1`.
"""


def notes_of(path):
    """(fault, shown, suite, test) of every noted test in one file."""
    lines = path.read_text().splitlines()
    at = 0
    while at < len(lines):
        if not lines[at].startswith(MARK):
            at += 1
            continue
        text = lines[at][len(MARK):]
        at += 1
        while lines[at].startswith("///"):
            text += " " + lines[at][3:].strip()
            at += 1
        found = TEST.match(" ".join(lines[at:at + 2]))
        parts = [p.strip() for p in text.split("|")]
        if found is None or len(parts) != 2:
            sys.exit(f"{path}:{at}: a fault matrix note is 'what | shown' before a test")
        yield parts[0], parts[1], found.group(1), found.group(2)


def with_values(path, suite):
    """For how many nodes a test of such a suite runs, as a sentence part."""
    found = re.search(VALUES % suite, path.read_text())
    if found is None or found.group(1) != "nodes":
        return ""
    numbers = re.findall(r"(\d+)U?", found.group(2))
    return f" ({', '.join(numbers)} nodes)"


def page():
    rows = []
    for path in sorted((ROOT / "tests" / "redlock").glob("*_test.cpp")):
        for fault, shown, suite, test in notes_of(path):
            name = f"`{suite}.{test}`"
            rows.append((fault + with_values(path, suite), shown, name))
    body = "\n".join(f"| {a} | {b} | {c} |" for a, b, c in rows)
    return f"{HEAD}\n| what happens | what is kept | test |\n|---|---|---|\n{body}\n"


def main():
    text = page()
    if "--write" in sys.argv[1:]:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        sys.exit(f"{PAGE} is out of date; run: tools/fault_matrix.py --write")


if __name__ == "__main__":
    main()
