"""A command's arguments as an object; invalid ones are reported in one sentence.

tyro reports such errors as boxes of several lines, whose first part has the matter in it.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterator, Sequence
from typing import TypeVar

import tyro

from deepcs.system.limits import STEPS

Command = TypeVar("Command")
WIDE = "100000"  # columns, so that tyro breaks no line
HELP = ("-h", "--help")
KINDS = {  # tyro's words for them, and ours
    "INT": "a whole number",
    "FLOAT": "a number",
    "N": f"a whole number up to {STEPS:,}, such as 500k",
}
PLAINER = (  # messages of tyro and Python, and ours
    (r"invalid literal for int\(\) with base 10: (.*)", r"got \1; give a whole number"),
    (r"could not convert string to float: (.*)", r"got \1; give a number"),
    (r"Exceeds the limit \(\d+ digits\) for integer string.*", "give a number with fewer digits"),
    (
        r"no type matching (.*) could be instantiated from \[(.*)\]\.?\s*Got errors.*",
        r"got \2; give \1",
    ),
    (r"give \{None\}\|(INT|FLOAT|N)\b", lambda found: f"give {KINDS[found[1]]}, or None"),
    (r"^Error parsing (\S+): (.)", lambda found: f"{found[1]}: {found[2].lower()}"),
    (r"^Unrecognized options: (.*)", r"Got \1, which is not understood"),
    (r"^Missing from deepcs [\w -]+: (\S+).*", r"Got no \1"),
    (r"^Missing value for argument '(.*)'\..*", r"Got \1 without a value"),
    (
        r"^invalid choice (.*) for argument '(.*)'. Expected one of \((.*?),?\)\.?$",
        r"Got \1 for \2; choose one of \3",
    ),
)


class ArgumentError(ValueError):
    """Arguments that a command does not understand."""


def parse(command_type: type[Command], arguments: Sequence[str], prog: str) -> Command:
    """The command that the arguments describe; raises ArgumentError. Help is printed by tyro."""
    if any(word in HELP for word in arguments):
        return tyro.cli(command_type, args=arguments, prog=prog)
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said), _wide():
            return tyro.cli(command_type, args=arguments, prog=prog)
    except SystemExit as error:
        if not error.code:  # help or the like was asked for, and is printed
            print(said.getvalue(), end="")
            raise
        raise ArgumentError(f"{sentence(said.getvalue())}; see {prog} --help.") from error


@contextlib.contextmanager
def _wide() -> Iterator[None]:
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = WIDE
    try:
        yield
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before


def sentence(boxes: str) -> str:
    """What tyro says, without a full stop: a title, rules between parts, of which the first."""
    parts: list[list[str]] = [[]]
    for line in map(str.strip, boxes.splitlines()):
        if line and set(line) == {"-"}:
            parts.append([])
        elif line:
            parts[-1].append(line)
    text = " ".join(parts[1] if len(parts) > 1 else parts[0])
    for pattern, plain in PLAINER:
        text = re.sub(pattern, plain, text)
    meant = next((part[1] for part in parts if part and part[0].startswith("Perhaps you")), "")
    return text.rstrip(". ") + (f"; perhaps you meant {meant}" if meant else "")
