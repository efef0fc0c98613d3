#!/usr/bin/env python3
"""Prints every link of the Markdown files below the given folder that leads to no file below it,
and every anchor that names no heading. Ends with 1 when there is one."""

import pathlib
import re
import sys
import urllib.parse

LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\[[^\]]+\]:\s*(\S+)", re.M)
CODE = re.compile(r"^( *)(```|~~~).*?^\1\2[^\n]*$|`[^`\n]+`", re.M | re.S)
HEADING = re.compile(r"^#+\s+(.+?)\s*#*$", re.M)


def anchors(text):
    """As the usual renderers make them of headings."""
    found = set()
    for heading in HEADING.findall(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        found.add(re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-"))
    return found


def dead_links(root):
    for file in sorted(root.rglob("*.md")):
        text = CODE.sub("", file.read_text(encoding="utf-8"))
        for match in LINK.finditer(text):
            link = match.group(1) or match.group(2)
            if re.match(r"[a-z][a-z0-9+.-]*:", link):
                continue
            path, _, anchor = urllib.parse.unquote(link).partition("#")
            target = (file.parent / path).resolve() if path else file.resolve()
            if not target.exists() or not target.is_relative_to(root):
                yield file, link
            elif anchor and target.suffix == ".md":
                if anchor not in anchors(target.read_text(encoding="utf-8")):
                    yield file, link


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    if not any(root.rglob("*.md")):
        print(f"{root}: no Markdown there")
        return 1
    dead = list(dead_links(root))
    for file, link in dead:
        print(f"{file.relative_to(root)}: {link}")
    return 1 if dead else 0


sys.exit(main())
