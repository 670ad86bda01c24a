"""A run's folder: its settings and its lock."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from deepcs.runs.checkpoint import Checkpoint
from deepcs.runs.config import RunConfig
from deepcs.runs.errors import LockLostError, RunError
from deepcs.runs.lease import Lease, Terms, is_leased
from deepcs.runs.saved_config import ADDED, from_json, to_json
from deepcs.runs.trust import code_digests, is_signed, sign
from deepcs.runs.versions import FORMAT, READABLE, versions
from deepcs.system.files import delete_folder, holds_only, read_file, refuse_links, write_whole

SAVED = "saved"  # an empty file: the run has had a checkpoint
EVENTS = re.compile(r"events\.out\.tfevents\..*")
NOTHING = re.compile(r"(?!)")


@dataclass(frozen=True)
class Segment:
    """A part of a run with one planned total, over which the schedules run."""

    begins: int
    """step at which it was begun"""
    steps: int
    """planned total steps of the run"""


@dataclass(frozen=True)
class SavedRun:
    """What config.json holds."""

    config: RunConfig
    segments: tuple[Segment, ...]
    versions: dict[str, str]
    format: int
    settings: dict[str, Any]
    """the config as saved in the file"""
    accepted: tuple[str, ...]
    """digests of other settings under which its checkpoints may have been saved"""
    trained_here: bool
    """this user trained it"""

    @property
    def identity(self) -> str:
        """A digest of the settings, but for the total of steps, which may grow."""
        return identity_of(self.settings)


def settings_digest(config: RunConfig) -> str:
    """The `identity` of a run with these settings."""
    return identity_of(json.loads(json.dumps(to_json(config))))


def identity_of(settings: dict[str, Any]) -> str:
    """A digest of all settings but the total of steps; settings that were added later are included
    only where they differ from what runs without them did.
    """
    return digest_of(
        {
            key: value
            for key, value in settings.items()
            if key != "steps" and not (key in ADDED and ADDED[key] == value)
        }
    )


def digest_of(content: Any) -> str:
    """SHA-256 of JSON values, whatever a file's formatting."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def open_lock(folder: Path, refusal: type[ValueError]) -> IO[bytes]:
    """The lock file of a folder, created if missing; refuses a folder that cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        refuse_links(folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.fdopen(os.open(folder / "lock", flags, 0o666), "ab")
    except OSError as error:
        raise refusal(f"{folder} cannot be written ({error}); give another --out.") from error


class RunFolder:
    """The files of one run."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.checkpoints = self.path / "checkpoints"
        self.tensorboard = self.path / "tensorboard"
        self._lock: IO[bytes] | None = None
        self.lease: Lease | None = None

    @property
    def staging(self) -> Path | None:
        """The lease owner's staging folder; None without a lease."""
        return None if self.lease is None else self.lease.staging

    @property
    def holds_run(self) -> bool:
        return (self.path / "config.json").is_file()

    def lock(self, terms: Terms | None = None) -> None:
        """Make this process the only one that trains here, until it ends, however it ends.

        terms: hold the folder by a lease, also against machines that share its storage. A folder
        that was ever held by one is always held by one.
        """
        file = open_lock(self.path, RunError)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if not is_leased(self.path):
                file.close()
                raise RunError(
                    f"Another process is training into {self.path}; "
                    "wait for it, stop it, or give another --out."
                ) from error
        except OSError:
            if terms is None:
                raise  # with a lease, storage without file locks is enough
        self._lock = file
        if terms is not None or is_leased(self.path):
            try:
                self.lease = Lease(self.path, terms or Terms())
            except BaseException:
                self.unlock()
                raise

    def check_lock(self) -> None:
        """Raise LockLostError if the lock's file is no longer the one that this process holds."""
        if self._lock is None:
            return
        held = os.fstat(self._lock.fileno())
        try:
            found = os.lstat(self.path / "lock")
        except FileNotFoundError:
            found = None
        if found is None or (found.st_dev, found.st_ino) != (held.st_dev, held.st_ino):
            raise LockLostError(
                f"The file {self.path / 'lock'} was taken away while this process held it, so "
                "another may be training there; this one has stopped and written nothing since"
            )

    def unlock(self) -> None:
        if self.lease is not None:
            self.lease.release()
            self.lease = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def forget(self) -> None:
        """Delete the files of a run without a checkpoint, and no others."""
        for name in ("config.json", "games.csv", "curve.csv", "visits.npz"):
            (self.path / name).unlink(missing_ok=True)
        if holds_only(self.tensorboard, EVENTS):
            delete_folder(self.tensorboard, EVENTS)
        if holds_only(self.checkpoints, NOTHING):
            self.checkpoints.rmdir()

    @property
    def was_saved(self) -> bool:
        """Whether the run has ever had a checkpoint, even if that was deleted."""
        return os.path.lexists(self.path / SAVED)

    def note_saved(self) -> None:
        """Remember for good that there was a checkpoint."""
        if not self.was_saved:
            write_whole(self.path / SAVED, b"", self.staging)

    def write_config(
        self,
        config: RunConfig,
        segments: Sequence[Segment],
        before: SavedRun | None = None,
        accepted: Sequence[str] = (),
    ) -> None:
        """Write config.json; `before`: what it held, whose versions are kept, if it is extended."""
        settings = json.loads(json.dumps(to_json(config)))
        content = {
            "format": FORMAT,
            "config": settings,
            "segments": [[segment.begins, segment.steps] for segment in segments],
            "protocol": vars(config.protocol_settings) if config.is_atari else config.how_games_end,
            "treatment": vars(config.treatment_settings),
            "versions": before.versions if before else {**versions(), **code_digests(config)},
            "accepted": list(accepted),
        }
        content["signature"] = sign(digest_of(settings))
        content["digest"] = digest_of(content)
        path = self.path / "config.json"
        write_whole(path, json.dumps(content, indent=2).encode(), self.staging)

    def read_config(self, *, accept_changes: bool = False) -> SavedRun:
        """What config.json holds; refuses a file that was changed, unless that is accepted."""
        path = self.path / "config.json"
        try:
            saved = json.loads(read_file(path))
        except FileNotFoundError as error:
            raise RunError(
                f"{self.path} is not the folder of a run: it has no config.json; "
                "give the folder that deepcs train wrote."
            ) from error
        except (OSError, ValueError, RecursionError) as error:
            raise RunError(
                f"{path} cannot be read ({error}); give the folder that deepcs train wrote."
            ) from error
        if not isinstance(saved, dict) or "format" not in saved:
            raise RunError(f"{path} is not a config of deepcs; give the folder of a run.")
        written_by = saved["versions"] if isinstance(saved.get("versions"), dict) else {}
        if saved["format"] not in READABLE:
            raise RunError(
                f"{self.path} is a run of format {saved['format']}, this deepcs reads formats "
                f"{' and '.join(map(str, READABLE))}; use the version that wrote it, "
                f"{written_by.get('deepcs', 'unknown')}."
            )
        content = {key: value for key, value in saved.items() if key != "digest"}
        guarded = saved["format"] != 1 or "digest" in saved
        changed = guarded and saved.get("digest") != digest_of(content)
        if changed and not accept_changes:
            raise RunError(
                f"{path} was changed since deepcs wrote it; restore it from a copy, or take it as "
                f"it is now with: deepcs resume {self.path} --accept-changes"
            )
        try:
            config = from_json(saved["config"])
            config.check()
            segments = tuple(Segment(*map(int, pair)) for pair in saved["segments"])
            if not all(isinstance(each, str) for each in written_by.values()):
                raise ValueError("its versions are not all text")
            return SavedRun(
                config,
                segments,
                {"deepcs": written_by["deepcs"], **written_by},
                saved["format"],
                saved["config"],
                tuple(map(str, saved.get("accepted", []))),
                is_signed(digest_of(saved["config"]), saved.get("signature")),
            )
        except (
            KeyError,
            TypeError,
            ValueError,
            AttributeError,
            OverflowError,
            RecursionError,
        ) as error:
            raise RunError(
                f"{path} lacks or mistakes a setting ({error}); restore the file from a copy."
            ) from error


def check_settings(
    folder: RunFolder,
    saved: SavedRun,
    identity: str,
    checkpoint: Checkpoint | None,
    accept_changes: bool,
) -> None:
    """Refuse a checkpoint that was saved under other settings than config.json now has.

    identity: of the settings as read here; those of a user's agent may have changed since.
    """
    under = checkpoint.state.get("settings") if checkpoint else None
    if accept_changes or (saved.format == 1 and under is None):
        return
    known = {saved.identity, *saved.accepted}
    if identity not in known or (checkpoint and under not in known):
        raise RunError(
            f"The settings in {folder.path} are not those that its checkpoint was saved under; "
            "restore config.json from a copy, or go on with what it says by --accept-changes."
        )
