"""Warnings of deepcs, and how they are shown: by the process that a user sees, each text once."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any


class DeepcsWarning(UserWarning):
    """One sentence about something that works, but probably not as it is meant."""


@contextlib.contextmanager
def told_to(tell: Callable[[str], None]) -> Iterator[None]:
    """Warnings of deepcs go to this function, each text once; others are shown as before."""
    before: Any = warnings.showwarning
    told: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, DeepcsWarning):
            before(message, category, *place, **more)
        elif str(message) not in told:
            told.add(str(message))
            tell(str(message))

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before
