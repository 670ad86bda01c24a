"""Output files of a command, checked at its start: those that cannot be written are refused."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def check_output(path: Path, option: str) -> None:
    """Raise ValueError, in one sentence, if a file cannot be written there; writes nothing."""
    try:
        if path.is_dir() or not path.name:
            raise ValueError(f"Got {option} {path}, which is a folder; give the name of a file.")
        if path.exists() and not path.is_file():
            raise ValueError(
                f"Got {option} {path}, which is not an ordinary file; give the name of one."
            )
        descriptor, beside = tempfile.mkstemp(".new", f".{path.name}.", path.parent)
        os.close(descriptor)
        os.unlink(beside)
    except OSError as error:
        raise ValueError(
            f"Got {option} {path}, which cannot be written ({error.strerror or error}); give the "
            "name of a file in a folder that is there."
        ) from error
