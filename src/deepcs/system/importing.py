"""Users' own parts, named as `module:name`: imported only where somebody has allowed it.

A name that a file holds is data: a run's settings come from anywhere. It is allowed where a person
names it, on a command line or in Python, and where a run may run its code (deepcs.runs.trust).
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from deepcs.system.first import do_first


def is_path(name: str) -> bool:
    """Whether a name means a user's own part: module:name."""
    return ":" in name


class NotAllowedError(ValueError):
    """Code that nobody has allowed to be imported."""


_allowed: set[str] = set()


def allow(names: Iterable[str]) -> None:
    """Let what is module:name among these be imported, here and in processes started from now on.

    Only for names that a person has given, or a run that `check_code` lets pass.
    """
    for name in names:
        if is_path(name) and name not in _allowed:
            _allowed.add(name)
            do_first(f"allow {name}", allow, [name])


def is_allowed(name: str) -> bool:
    """Whether `allow` was called with the name."""
    return name in _allowed


def check_allowed(name: str) -> None:
    """Raise NotAllowedError for a module:name that nobody has allowed."""
    if is_path(name) and name not in _allowed:
        raise NotAllowedError(
            f"Got {name!r}, which is code that nobody has allowed to be imported here; look at it "
            "first, then allow its run with --allow-code, or call resolved() of a RunConfig of "
            "your own."
        )


_own: set[str] = set()  # packages that objects were loaded from


def own_packages() -> frozenset[str]:
    """The user's top-level packages from which objects were loaded."""
    return frozenset(_own)


def source_of(path: str) -> bytes | None:
    """The source file of the module in `module:name`; None if there is none."""
    try:
        spec = importlib.util.find_spec(path.partition(":")[0])
        return None if spec is None or spec.origin is None else Path(spec.origin).read_bytes()
    except (ImportError, OSError, ValueError):
        return None


def load_object(path: str, wanted: str) -> Any:
    """The object that `module:name` names; the module may be in the current folder too.

    wanted: what to give instead, if there is no such object: it ends the ValueError's sentence.
    Raises NotAllowedError, and imports nothing, unless the name is allowed.
    """
    module, _, name = path.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), name)):
        raise ValueError(f"Got {path!r}, which names nothing in Python; give {wanted}.")
    check_allowed(path)
    if "" not in sys.path:
        sys.path.insert(0, "")  # the current folder, as `python -m` has it
    package = module.partition(".")[0]
    if package != "deepcs":
        _own.add(package)
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        where = ""
        if isinstance(error, ModuleNotFoundError) and module.startswith(error.name or module):
            where = f" in {os.getcwd()} or among the installed packages"
        raise ValueError(f"Got {path!r}, but {error}{where}; give {wanted}.") from error
    except (Exception, SystemExit) as error:  # whatever the module does
        raise ValueError(
            f"Got {path!r}, but importing {module} fails ({type(error).__name__}: {error}); fix "
            f"it, or give {wanted}."
        ) from error
