"""What processes started by this one do first, to take over what is registered in this one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Call = tuple[Callable[..., Any], tuple[Any, ...]]  # a function and its arguments

_calls: dict[str, Call] = {}


def do_first(key: str, do: Callable[..., Any], *args: Any) -> None:
    """Every process started from now on calls `do(*args)`, unless `key` is given another call."""
    _calls[key] = do, args


def first_calls() -> list[Call]:
    """All that a process started now has to do first, in order."""
    return list(_calls.values())
