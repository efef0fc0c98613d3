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


def _compile(compiler, root, header, extra):
    """The compiler's complaint about a file that includes only `header`, or nothing."""
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as unit:
        unit.write(f"#include <holdfast/{header.name}>\n#include <holdfast/{header.name}>\n")
        unit.flush()
        command = [compiler, *_FLAGS, *extra, "-fsyntax-only", f"-I{root}/include", unit.name]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    return "" if done.returncode == 0 else done.stderr


def check_headers(root, compiler):
    """Every public header alone, twice in one unit; all but asio.hpp without exceptions too."""
    jobs = []
    for header in _public_headers(root):
        jobs.append((header, []))
        if header.name != "asio.hpp":
            jobs.append((header, ["-fno-exceptions", "-fno-rtti"]))
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        complaints = pool.map(lambda job: _compile(compiler, root, *job), jobs)
    for (header, extra), complaint in zip(jobs, complaints):
        if complaint:
            path = f"include/holdfast/{header.name}"
            where = " with " + " ".join(extra) if extra else ""
            yield Fault(path, 1, "alone", f"does not compile alone{where}:\n{complaint}")


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
