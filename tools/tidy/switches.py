"""The switches of the safety rules, and the tables of the documentation that name them.

docs/simulator.md has a row for each switch of sim/rule_switches.cpp and of its twin for Redlock,
with the scenario in which its removal is found; docs/safety.md names each of them in the column
"switch", and nothing else there.
"""

import re

from source import Fault

_SESSIONS = "sim/rule_switches.cpp"
_REDLOCK = "sim/redlock/rule_switches.cpp"
_SIMULATOR = "docs/simulator.md"
_SAFETY = "docs/safety.md"

_OF_SESSIONS = re.compile(r'\{"(\w+)", &core::rules::\w+, "(\w+)"\}')
_OF_REDLOCK = re.compile(
    r'of_\w+\(\s*"(\w+)",\s*&\w+::\w+,\s*"(\w+)"\)'
    r'|rule_switch\{\s*\.name = "(\w+)",\s*\.scenario = "(\w+)"'
)
_FOUND = re.compile(r"^\| (\w+) \| (\w+) \| [\d,]+ \| [\d,]+ \|", re.MULTILINE)
_TABLE = re.compile(r"^\| rule \|(.*)\|\n((?:\|.*\n)+)", re.MULTILINE)


def _pairs(pattern, text):
    """(name, scenario) of every switch."""
    return [tuple(part for part in match if part) for match in pattern.findall(text)]


def _named_in_safety(source):
    """(line, name) of every switch in a table with such a column."""
    for table in _TABLE.finditer(source.text):
        columns = [column.strip() for column in table.group(1).split("|")]
        if "switch" not in columns:
            continue
        first = source.line_at(table.start(2))
        for number, row in enumerate(table.group(2).splitlines()):
            if row.startswith("|-"):
                continue
            cell = row.split(" | ")[1 + columns.index("switch")]
            for name in re.findall(r"`(\w+)`", cell):
                yield first + number, name


def check(sources):
    files = {source.path: source for source in sources}
    if not {_SESSIONS, _REDLOCK, _SIMULATOR, _SAFETY} <= files.keys():
        return
    switches = _pairs(_OF_SESSIONS, files[_SESSIONS].text)
    switches += _pairs(_OF_REDLOCK, files[_REDLOCK].text)
    rows = _FOUND.findall(files[_SIMULATOR].text)
    for name, scenario in sorted(set(switches) - set(rows)):
        text = f"no row says that {name} is found in {scenario}"
        yield Fault(_SIMULATOR, 1, "switch", text)
    for name, scenario in sorted(set(rows) - set(switches)):
        text = f"no switch {name} is to be found in {scenario}"
        yield Fault(_SIMULATOR, 1, "switch", text)
    known = {name for name, _ in switches}
    named = list(_named_in_safety(files[_SAFETY]))
    for line, name in named:
        if name not in known:
            yield Fault(_SAFETY, line, "switch", f"there is no switch {name}")
    for name in sorted(known - {name for _, name in named}):
        yield Fault(_SAFETY, 1, "switch", f"no rule names its switch {name}")
