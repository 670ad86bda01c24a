"""Settings as people write them on a command line: 2.5M is 2,500,000."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Annotated

import tyro

from deepcs.system.limits import STEPS, shown

UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "b": 1_000_000_000, "g": 1_000_000_000}


def parse_count(text: str) -> int:
    """A whole number, with k, M or B for thousands, millions and billions."""
    match = re.fullmatch(r"(-?\d[\d_,]*(?:\.\d+)?(?:e\d+)?)([kmbg]?)", text.strip().lower())
    if match is None:
        raise ValueError(
            f"Got {shown(repr(text))}; give a whole number such as 120000, 500k or 2.5M."
        )
    written = Decimal(re.sub("[_,]", "", match[1]))
    if written.copy_abs() > STEPS:  # asked before the digits of 1e999999999 are written out
        raise ValueError(f"Got {shown(text)}; give {STEPS:,} at most.")
    number = Fraction(written) * UNITS[match[2]]
    if number.denominator != 1:
        raise ValueError(f"Got {text!r}, which is not whole; give a number such as 500k or 2.5M.")
    return int(number)


Count = Annotated[
    int,
    tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="N",
        instance_from_str=lambda words: parse_count(words[0]),
        is_instance=lambda value: isinstance(value, int),
        str_from_instance=lambda value: [str(value)],
    ),
]

World = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="GAME")]
