"""Code in the documentation is code that compiles: each quote equals a region of an example.

In a Markdown file a C++ block must follow a line "<!-- examples/FILE.cpp NAME -->", and the example
holds the region between "// [NAME]" and "// [/NAME]". Indentation that all lines share is dropped.
"""

import re
import textwrap

from source import Fault

_BLOCK = re.compile(
    r"(?:<!-- (?P<file>examples/[\w./]+) (?P<name>\w+) -->\n)?```cpp\n(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


def region(text, name):
    """The lines between the marks of `name`, or None."""
    pattern = rf"^[ ]*// \[{name}\]\n(.*?)^[ ]*// \[/{name}\]$"
    match = re.search(pattern, text, re.DOTALL | re.MULTILINE)
    return textwrap.dedent(match.group(1)) if match else None


def check(sources):
    examples = {s.path: s.text for s in sources if s.path.startswith("examples/")}
    for source in sources:
        if not source.path.endswith(".md"):
            continue
        for match in _BLOCK.finditer(source.text):
            line = source.line_at(match.start("code"))
            path, name = match.group("file"), match.group("name")
            if path is None:
                text = "a C++ block that quotes no example; see tools/tidy/snippets.py"
                yield Fault(source.path, line, "snippet", text)
                continue
            wanted = region(examples.get(path, ""), name)
            if wanted is None:
                yield Fault(source.path, line, "snippet", f"{path} has no region [{name}]")
            elif wanted != match.group("code"):
                yield Fault(source.path, line, "snippet", f"differs from [{name}] of {path}")
