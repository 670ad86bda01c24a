"""A digest of the package's own sources: which deepcs made a run."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

import deepcs

SUFFIXES = (".py", ".toml")


@functools.cache
def source_digest() -> str:
    """SHA-256, in hexadecimal, over the names and contents of all source files of deepcs."""
    root = Path(deepcs.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.suffix in SUFFIXES:
            content = path.read_bytes()
            digest.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode())
            digest.update(content)
    return digest.hexdigest()
