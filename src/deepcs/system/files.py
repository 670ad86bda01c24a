"""Atomic writes, never through a link; deleting only known files."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path


class UnsafePathError(ValueError):
    """A link or special file that deepcs would have to write or delete through, and does not."""


def refuse_links(root: Path) -> None:
    """Raise UnsafePathError if anything below a folder is neither a file nor a folder.

    A folder that somebody else made may hold links to files elsewhere, which must not be written
    or deleted through it. The folder itself was named by the user, and may be a link.
    """
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder, name)
            try:
                mode = path.lstat().st_mode
            except FileNotFoundError:
                continue  # another process deleted it
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                kind = "a link" if stat.S_ISLNK(mode) else "not an ordinary file"
                raise UnsafePathError(
                    f"{path} is {kind}, and deepcs writes only into ordinary files and folders "
                    "there; take it away, or put a copy of what it points to in its place."
                )


def read_file(path: Path, last: int | None = None) -> bytes:
    """The content of an ordinary file; raises OSError for any other, which might never end.

    last: read no more than so many bytes at its end.
    """
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "Not an ordinary file", str(path))
        if last is not None:
            file.seek(max(0, found.st_size - last))
        return file.read()


def write_whole(path: Path, content: bytes, staging: Path | None = None) -> None:
    """Write a staging file and rename it into place: a reader sees the old or the new one.

    staging: the folder of the staging file, on the same disk; None: beside its place.
    """
    beside = (staging or path.parent) / f".{path.name}.new"
    try:
        write_synced(beside, content)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_synced(path: Path, content: bytes) -> None:
    """Write a new file and wait until it is on disk."""
    with os.fdopen(create(path), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def create(path: Path) -> int:
    """A new file to write to, as a descriptor; an old one of that name is deleted first."""
    path.unlink(missing_ok=True)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def holds_only(folder: Path, known: re.Pattern[str]) -> bool:
    """Whether this is a folder, not a link, and the relative path of every file in it matches."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    return all(
        known.fullmatch(Path(where, name).relative_to(folder).as_posix())
        for where, folders, files in os.walk(folder)
        for name in (*files, *(name for name in folders if Path(where, name).is_symlink()))
    )


def delete_folder(folder: Path, known: re.Pattern[str]) -> None:
    """Delete a folder of files that deepcs wrote; raises OSError if it holds any other."""
    if not holds_only(folder, known):
        raise OSError(f"{folder} holds files that deepcs did not write; move it away")
    for where, folders, files in os.walk(folder, topdown=False):
        for name in files:
            Path(where, name).unlink(missing_ok=True)
        for name in folders:
            Path(where, name).rmdir()
    folder.rmdir()
