"""Checks that need a program: headers that compile alone, and the formatter."""

import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from source import Fault

_FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
_FORMATTED = ("src/", "include/", "cli/", "sim/", "tests/", "bench/", "examples/", "fuzz/")


def _public_headers(root):
    return sorted(Path(root, "include", "holdfast").glob("*.hpp"))


def _compile(compiler, root, headers, extra):
    """The compiler's complaint about a file that includes only `headers`, twice, or nothing."""
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as unit:
        for header in (*headers, *headers):
            unit.write(f"#include <holdfast/{header.name}>\n")
        unit.flush()
        command = [compiler, *_FLAGS, *extra, "-fsyntax-only", f"-I{root}/include", unit.name]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    return "" if done.returncode == 0 else done.stderr


def check_headers(root, compiler, together=False):
    """Every public header alone, twice in one unit; all but asio.hpp without exceptions too.

    `together`: all in one unit instead, without exceptions, and in the other order with them: a
    fraction of the time. What an earlier one brings then hides that a later one lacks it.
    """
    headers = _public_headers(root)
    bare = [header for header in headers if header.name != "asio.hpp"]
    without = ["-fno-exceptions", "-fno-rtti"]
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        all_bare = pool.submit(_compile, compiler, root, bare, without)
        jobs = [(header, []) for header in headers]
        if together:
            backwards = _compile(compiler, root, headers[::-1], [])
            jobs = jobs if backwards else []
        complaints = list(pool.map(lambda job: _compile(compiler, root, [job[0]], job[1]), jobs))
        # One by one they say which of them it is.
        if all_bare.result():
            more = [(header, without) for header in bare]
            complaints += pool.map(lambda job: _compile(compiler, root, [job[0]], job[1]), more)
            jobs += more
    for (header, extra), complaint in zip(jobs, complaints):
        if complaint:
            path = f"include/holdfast/{header.name}"
            where = " with " + " ".join(extra) if extra else ""
            yield Fault(path, 1, "alone", f"does not compile alone{where}:\n{complaint}")
    if not any(complaints) and (all_bare.result() or (together and backwards)):
        both = all_bare.result() or backwards
        yield Fault("include/holdfast", 1, "alone", f"do not compile together:\n{both}")


def check_format(root, sources, formatter):
    """Every C++ file is as .clang-format says."""
    paths = [s.path for s in sources if s.is_cpp and s.path.startswith(_FORMATTED)]
    if not paths:
        return
    command = [formatter, "--style=file", "--dry-run", "--Werror", *paths]
    done = subprocess.run(
        command, cwd=root, capture_output=True, text=True, timeout=300, check=False
    )
    seen = set()
    for line in done.stderr.split("\n"):
        if "clang-format-violations" not in line:
            continue
        path, number = line.split(":")[:2]
        if path not in seen:
            seen.add(path)
            yield Fault(path, int(number), "format", f"run {formatter} -i on it")
    if done.returncode != 0 and not seen:
        yield Fault(".clang-format", 1, "format", done.stderr.strip())
