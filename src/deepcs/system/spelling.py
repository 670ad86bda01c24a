"""Suggestions for misspelled names."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

ALIKE = 0.6  # similarity, from 0 to 1, below which no name is suggested


def the_nearest(name: str, known: Mapping[str, str]) -> str:
    """`the nearest is Freeway: `, or nothing where no name is like it.

    known: names as they are shown, by their plain spelling, in which `name` is given.
    """
    found = difflib.get_close_matches(name, known, 1, ALIKE)
    return f"the nearest is {known[found[0]]}: " if found else ""
