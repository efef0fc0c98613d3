"""Limits of size and of the characters that a file may hold."""

import ast
import re

from functions import functions
from source import Fault

LINE_COLUMNS_MAX = 100
FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70

# Texts of others, tables that cannot be wrapped, and man pages, where a line end means something.
_ANY_WIDTH = (".md", ".json", ".1", ".5", "LICENSE")
_ANY_LENGTH = ("LICENSE",)
_MARKS = re.compile(r"\b(" + "|".join(("FIX" + "ME", "TO" + "DO", "X" * 3)) + r")\b")
# A reader has the documentation of this tree and nothing else.
_NOT_HERE = re.compile(r"\b" + "DES" + r"IGN\b")


def check_lines(source):
    for number, line in enumerate(source.text.split("\n"), start=1):
        if len(line) > LINE_COLUMNS_MAX and not source.path.endswith(_ANY_WIDTH):
            text = f"{len(line)} columns, {LINE_COLUMNS_MAX} are allowed"
            yield Fault(source.path, number, "line", text)
        if line != line.rstrip() and not source.path.endswith("LICENSE"):
            yield Fault(source.path, number, "space", "white space at the end of the line")
        bad = next((c for c in line if not (c == "\t" or " " <= c <= "~")), None)
        if bad is not None:
            yield Fault(source.path, number, "ascii", f"character U+{ord(bad):04X}; use ASCII")
        if "\t" in line and not source.path.endswith((".bash", ".zsh", ".sh", ".tsv")):
            yield Fault(source.path, number, "space", "a tab; use spaces")
        if re.match(r"[<>]{7} ", line):
            yield Fault(source.path, number, "mark", "left over from a conflict between versions")
        mark = _MARKS.search(line)
        if mark:
            text = f"{mark.group(0)}: do it, or open an issue"
            yield Fault(source.path, number, "mark", text)
        cited = _NOT_HERE.search(line)
        if cited:
            text = f"{cited.group(0)}: no such text is in this tree; name the page of docs"
            yield Fault(source.path, number, "cite", text)


def check_file(source):
    lines = source.text.count("\n")
    if lines > FILE_LINES_MAX and not source.path.endswith(_ANY_LENGTH):
        text = f"{lines} lines, {FILE_LINES_MAX} are allowed: split it by what it does"
        yield Fault(source.path, 1, "file", text)
    if source.text and not source.text.endswith("\n"):
        yield Fault(source.path, lines + 1, "space", "no line end at the end of the file")


def _python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno, node.name


def check_functions(source):
    if source.is_cpp:
        found = functions(source.code)
    elif source.path.endswith(".py"):
        found = _python_functions(source.text)
    else:
        return
    for first, last, head in found:
        lines = last - first + 1
        if lines > FUNCTION_LINES_MAX:
            name = " ".join(head.split())[:60]
            text = f"{lines} lines, {FUNCTION_LINES_MAX} are allowed: {name}"
            yield Fault(source.path, first, "function", text)


def check(sources):
    for source in sources:
        yield from check_lines(source)
        yield from check_file(source)
        yield from check_functions(source)
