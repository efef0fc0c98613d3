"""A source file with its comments and literals told apart from its code."""

import re
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong, in the form that editors can jump to."""

    path: str
    line: int
    rule: str
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: [{self.rule}] {self.text}"


# Raw strings come first: their text may hold quotes and comment marks.
_TOKEN = re.compile(
    r'R"(?P<mark>[^()\s\\]{0,16})\((?P<raw>.*?)\)(?P=mark)"'
    r"|//[^\n]*"
    r"|/\*.*?\*/"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Za-z_])(?:u8|[uUL])?'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)


def _blank(text):
    """Spaces in place of everything but line ends, so that positions stay the same."""
    return re.sub(r"[^\n]", " ", text)


def code_of(text):
    """C++ text without comments; literals keep their quotes and lose their contents."""

    def replace(match):
        found = match.group(0)
        if found.startswith("/"):
            return _blank(found)
        return found[0] + _blank(found[1:-1]) + found[-1]

    return _TOKEN.sub(replace, text)


def without_comments(text):
    """C++ text without comments, literals kept: for #include lines."""
    return _TOKEN.sub(
        lambda m: _blank(m.group(0)) if m.group(0).startswith("/") else m.group(0), text
    )


@dataclass
class Source:
    """A text file of the repository: its path from the root and its text."""

    path: str
    text: str
    code: str = field(init=False)

    def __post_init__(self):
        self.code = code_of(self.text) if self.is_cpp else self.text

    @property
    def is_cpp(self):
        return self.path.endswith((".cpp", ".hpp"))

    @property
    def is_test(self):
        name = self.path.rsplit("/", 1)[-1]
        return self.path.startswith("tests/") or "_test." in name or "_fixture." in name

    def includes(self):
        """(line, text between the marks, True for <...>) of every #include."""
        pattern = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
        for match in pattern.finditer(without_comments(self.text)):
            yield self.line_at(match.start(1)), match.group(2), match.group(1) == "<"

    def line_at(self, position):
        return self.text.count("\n", 0, position) + 1


# Folders of build results, version control, fuzzers' inputs and installed packages hold nothing
# that people write here.
_SKIPPED = {".git", "build", ".cache", "__pycache__", "corpus", "node_modules"}


def read_tree(root):
    """Every file under `root` that is text, sorted by path."""
    sources = []
    for path in sorted(Path(root).rglob("*")):
        parts = path.relative_to(root).parts
        if _SKIPPED.intersection(parts) or not path.is_file():
            continue
        data = path.read_bytes()
        if b"\0" in data:
            continue
        sources.append(Source("/".join(parts), data.decode("utf-8", errors="replace")))
    return sources
