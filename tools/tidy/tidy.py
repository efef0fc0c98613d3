#!/usr/bin/env python3
"""The rules of CONTRIBUTING.md that a program can check, each fault as path:line: [rule] text.

    tidy.py sources [ROOT]                     text, layers, descriptors, limits, contracts, quotes
    tidy.py headers [ROOT] --compiler g++      each public header compiles alone; --together: all do
    tidy.py format  [ROOT] --formatter NAME    clang-format has nothing to say

Exit code: 0 without a fault, 1 with some, 2 when it could not look.
"""

import argparse
import sys
from pathlib import Path

import contracts
import descriptors
import layers
import limits
import programs
import snippets
import switches
from source import read_tree


def print_comment_share(sources):
    comments = code = 0
    for source in sources:
        if source.path.startswith("include/holdfast/"):
            more = contracts.comment_share(source.text)
            comments, code = comments + more[0], code + more[1]
    if comments + code:
        share = 100 * comments // (comments + code)
        print(f"public headers: {share} % of {comments + code} lines are comments")


def check_sources(sources):
    yield from limits.check(sources)
    yield from layers.check(sources)
    yield from descriptors.check(sources)
    yield from contracts.check(sources)
    yield from snippets.check(sources)
    yield from switches.check(sources)


def main(arguments):
    parser = argparse.ArgumentParser(prog="tidy")
    parser.add_argument("what", choices=("sources", "headers", "format"))
    parser.add_argument("root", nargs="?", default=Path(__file__).resolve().parents[2])
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--together", action="store_true")
    parser.add_argument("--formatter", default="clang-format-14")
    chosen = parser.parse_args(arguments)

    sources = read_tree(chosen.root)
    if chosen.what == "headers":
        faults = programs.check_headers(chosen.root, chosen.compiler, chosen.together)
    elif chosen.what == "format":
        faults = programs.check_format(chosen.root, sources, chosen.formatter)
    else:
        faults = check_sources(sources)
        print_comment_share(sources)

    count = 0
    for fault in faults:
        print(fault)
        count += 1
    print(f"tidy {chosen.what}: {len(sources)} files, {count} faults")
    return 1 if count else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except OSError as trouble:
        print(f"tidy: {trouble}", file=sys.stderr)
        sys.exit(2)
