"""Finds where functions of a C++ file begin and end, by matching braces.

No compiler takes part: the code is formatted by clang-format, so a brace at namespace or class
level that follows a parameter list opens a function.
"""

import re

_TYPE = re.compile(
    r"^(template\s*<.*>\s*)?(requires\b.*)?(typedef\s+)?(class|struct|union|enum)\b[^()=]*$",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"\[\[.*?\]\]|\balignas\s*\([^)]*\)", re.DOTALL)
_PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.MULTILINE)


def _kind(head):
    """What a brace after `head` opens: scope, function, member (its initialiser) or other."""
    head = _ATTRIBUTE.sub("", head).strip()
    if re.search(r"(^|\s)namespace\b[^()]*$", head) or re.search(r'extern\s+"\s*"$', head):
        return "scope"
    if _TYPE.match(head):
        return "scope"
    if "(" not in head:
        return "other"
    # `f() : a_{1}`: the brace belongs to a member, the body is still to come.
    after_parameters = re.search(r"\)\s*(noexcept\s*)?:(?!:)", head)
    if after_parameters and re.search(r"[\w>]$", head):
        if not re.search(r"\b(noexcept|const|override|final|try)$", head):
            return "member"
    return "function"


def functions(code):
    """(first line, last line, head) of every function in `code`, which has no comments."""
    code = _PREPROCESSOR.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), code)
    found, stack, start = [], [], 0
    inside = 0  # How many open braces belong to a function's body.
    for match in re.finditer(r"[{};]|\b(?:public|private|protected)\s*:(?!:)", code):
        mark, at = match.group(0), match.start()
        if mark == "{":
            kind = "inner" if inside else _kind(code[start:at])
            stack.append((kind, start))
            inside += kind in ("inner", "function")
            if kind == "scope":
                start = at + 1
        elif mark == "}":
            if not stack:
                start = at + 1
                continue
            kind, begun = stack.pop()
            inside -= kind in ("inner", "function")
            if kind == "function":
                head = code[begun:at]
                first = begun + len(head) - len(head.lstrip())
                lines = code.count("\n", 0, first) + 1, code.count("\n", 0, at) + 1
                found.append((*lines, head.strip().split("{")[0].strip()))
            if kind in ("function", "scope"):
                start = at + 1
        elif not inside and not any(kind in ("other", "member") for kind, _ in stack[-1:]):
            start = match.end()
    return found
