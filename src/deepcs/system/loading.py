"""What users name as `module:name`, in a module of theirs."""

from __future__ import annotations

import importlib
import sys
from typing import Any


def load_object(path: str, wanted: str) -> Any:
    """The object that `module:name` names; the module may lie in the current folder.

    wanted: what to give instead, if there is no such object: it ends the ValueError's sentence.
    """
    module, _, name = path.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")  # the current folder, as `python -m` has it
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"Got {path!r}, but {error}; give {wanted}.") from error
