"""Parts that people bring themselves, named as `module:name`."""

from __future__ import annotations

import importlib
import sys
from typing import Any


def is_path(name: str) -> bool:
    """Whether a name means something of the user's own: module:name."""
    return ":" in name


def load_object(path: str, wanted: str) -> Any:
    """What `module:name` names; the module is looked for in the current folder too.

    wanted: what to give instead, if there is no such object: it ends the ValueError's sentence.
    """
    module, _, name = path.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")  # the current folder, as `python -m` has it
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise ValueError(f"Got {path!r}, but {error}; give {wanted}.") from error
