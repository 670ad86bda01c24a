"""Output files of a command, checked at its start: those that cannot be written are refused."""

from __future__ import annotations

from pathlib import Path


def check_output(path: Path, option: str) -> None:
    """Raise ValueError, in one sentence, if a file cannot be written there; writes nothing."""
    beside = path.with_name(f".{path.name}.new") if path.name else path
    try:
        if path.is_dir() or not path.name:
            raise ValueError(f"Got {option} {path}, which is a folder; give the name of a file.")
        there = beside.exists()
        beside.open("ab").close()
        if not there:
            beside.unlink()
    except OSError as error:
        raise ValueError(
            f"Got {option} {path}, which cannot be written ({error.strerror or error}); give the "
            "name of a file in a folder that is there."
        ) from error
