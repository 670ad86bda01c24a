"""What made a run: the folder's format, the versions, the sources and the CPU."""

from __future__ import annotations

import functools
import hashlib
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path, PurePosixPath

import deepcs
from deepcs._version import __version__
from deepcs.system.cpu import cpu_model

FORMAT = 2  # of the run folder: what is written, and can be resumed
READABLE = (1, 2)  # formats that can be evaluated, recorded and reported
LIBRARIES = ("torch", "numpy", "ale-py", "gymnasium", "opencv-python-headless")
SUFFIXES = (".py", ".toml")


@functools.cache
def source_digest() -> str:
    """SHA-256, in hexadecimal, over the names and contents of all source files of deepcs."""
    root = Path(deepcs.__file__).parent
    return digest_of_sources(
        {
            PurePosixPath(path.relative_to(root)): path.read_bytes()
            for path in root.rglob("*")
            if path.suffix in SUFFIXES
        }
    )


def digest_of_sources(sources: Mapping[PurePosixPath, bytes]) -> str:
    """The digest of these files, by their paths within the package."""
    digest = hashlib.sha256()
    for path, content in sorted(sources.items()):
        digest.update(f"{path} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """What the run's bytes depend on beside its settings."""
    return {
        "deepcs": __version__,
        "sources": source_digest(),
        **{name: version(name) for name in LIBRARIES},
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cpu": cpu_model(),
    }
