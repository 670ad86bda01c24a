"""A lease on a run folder: one writer at a time, also where machines share storage.

lease/<epoch>/owner.json   the process that writes; its mtime is when it last renewed the lease

The highest epoch holds the lease, and its folder is the owner's staging folder: whatever the owner
writes into the run is made there and renamed into place, whatever it deletes is first renamed into
that folder. A new owner moves the old staging folder away before it reads anything. From then on
every write of the former owner fails, however late it wakes up. Neither a file lock, which machines
may not share, nor a check of the lease before each write could guarantee that.
"""

from __future__ import annotations

import errno
import json
import os
import re
import socket
import time
import uuid
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from deepcs.runs.checkpoint import FILES, UNFINISHED
from deepcs.system.files import delete_folder, holds_only, read_file, write_whole

LEASE_SECONDS = 60.0
RENEWALS = 4  # in the time after which a lease that is not renewed counts as lost
POLL_SECONDS = 0.2  # between checks of a lease that is waited for
CLEARING_TRIES = 100  # of a staging folder that its former owner still writes to
OWNER = "owner.json"
ASIDE = re.compile(r"\.(\d+-)?[0-9a-f]{32}")  # a staging folder before or after its epoch
STAGED = re.compile(rf"owner\.json|\.[\w.]+\.new|{UNFINISHED.pattern}/({FILES.pattern})")
"""What a staging folder may hold."""


class LeaseHeldError(ValueError):
    """Another process writes into the run."""


class LeaseLostError(RuntimeError):
    """Another process has taken the run over."""


@dataclass(frozen=True)
class Terms:
    """How a lease is held and waited for."""

    seconds: float = LEASE_SECONDS
    """an owner that has not renewed its lease for this long may be replaced"""
    patience: float = 0.0
    """seconds to wait for an owner that is alive"""


@dataclass(frozen=True)
class Owner:
    """A process that holds a lease."""

    host: str
    machine: str
    """its boot id and pid namespace; the same for processes that can see each other"""
    pid: int
    born: str
    """when the process began, in the machine's ticks, as pids are reused"""
    seconds: float
    """the lease's"""

    @classmethod
    def this_process(cls, seconds: float) -> Owner:
        pid = os.getpid()
        return cls(socket.gethostname(), _machine(), pid, _born(pid), seconds)

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"

    @property
    def gone(self) -> bool:
        """Whether it is known to have ended; False for a process on another machine."""
        return self.machine == _machine() and self.born != _born(self.pid)


def _machine() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot} {os.readlink('/proc/self/ns/pid')}"


def _born(pid: int) -> str:
    """Start time of a process; empty if it has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()  # with the process's name, in any bytes
        state, *fields = stat.rpartition(b")")[2].decode().split()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return "" if state in "ZX" else fields[18]


def is_leased(run: Path) -> bool:
    """Whether a run was ever held by a lease."""
    return bool(_epochs(run / "lease"))


def holder(run: Path) -> Owner | None:
    """Who holds a run now, as far as this machine's clock tells."""
    epochs = _epochs(run / "lease")
    return _alive(run / "lease" / str(epochs[-1]), time.time()) if epochs else None


def lease_changed(run: Path) -> int:
    """When a run's lease last changed owner, in nanoseconds; 0: never."""
    try:
        return (run / "lease").stat().st_mtime_ns
    except (FileNotFoundError, NotADirectoryError):
        return 0


def _epochs(leases: Path) -> list[int]:
    if not leases.is_dir():
        return []
    return sorted(int(path.name) for path in leases.iterdir() if path.name.isdecimal())


def _alive(staging: Path, now: float) -> Owner | None:
    """The owner of a staging folder, unless it has released the lease, ended, or is overdue."""
    try:
        owner = Owner(**json.loads(read_file(staging / OWNER)))
        overdue = now - (staging / OWNER).stat().st_mtime > owner.seconds
    except (OSError, ValueError, TypeError, RecursionError):
        return None  # being moved away
    return None if overdue or owner.gone else owner


def _heard(staging: Path) -> int:
    """When a lease was last renewed, in nanoseconds of the storage's clock; 0: it is gone."""
    try:
        return (staging / OWNER).stat().st_mtime_ns
    except OSError:
        return 0


class Lease:
    """A lease that this process holds until it is released or lost."""

    def __init__(self, run: Path, terms: Terms) -> None:
        """Claim the run; raises LeaseHeldError if another still holds it after `terms.patience`."""
        self._run, self._seconds = run, terms.seconds
        self._leases = run / "lease"
        mine = self._leases / f".{uuid.uuid4().hex}"
        try:
            epoch = self._wait_and_claim(mine, time.monotonic() + terms.patience)
        finally:
            if mine.exists():
                _delete(mine)
        self._heard = time.monotonic()
        self.staging = self._leases / str(epoch)
        """where files are written before they are renamed into the run"""
        self._take_other_staging_away(epoch)

    def _wait_and_claim(self, mine: Path, until: float) -> int:
        signature = json.dumps(asdict(Owner.this_process(self._seconds)))
        heard, since = 0, time.monotonic()  # of the present owner, and since when it is unchanged
        while True:
            try:
                mine.mkdir(parents=True, exist_ok=True)
                write_whole(mine / OWNER, signature.encode())
                now = (mine / OWNER).stat().st_mtime  # the storage's clock, whatever ours may say
            except FileNotFoundError:
                continue  # another process deleted it before owner.json was written
            newest = max(_epochs(self._leases), default=0)
            owner = _alive(self._leases / str(newest), now)
            if heard != (heard := _heard(self._leases / str(newest))):
                since = time.monotonic()
            # A clock that was set back makes a dead owner look alive, but does not make it renew.
            if owner is not None and time.monotonic() - since > owner.seconds:
                owner = None
            if owner is None and self._claim(mine, newest + 1):
                return newest + 1
            if owner is not None and time.monotonic() >= until:
                raise LeaseHeldError(
                    f"Another process is training into {self._run} ({owner}); "
                    "wait for it, stop it, or give another --out."
                )
            time.sleep(POLL_SECONDS)

    def _claim(self, mine: Path, epoch: int) -> bool:
        """Whether this process, and no other, gets the epoch."""
        try:
            mine.rename(self._leases / str(epoch))  # fails where there is one: none is empty
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            return False
        # A higher one: meanwhile this number was used by another and its folder moved away.
        return max(_epochs(self._leases)) == epoch

    def _take_other_staging_away(self, epoch: int) -> None:
        now = (self.staging / OWNER).stat().st_mtime
        for path in self._leases.iterdir():
            if path.name.isdecimal() and int(path.name) < epoch:
                with suppress(FileNotFoundError):  # another newcomer was quicker
                    _delete(path.rename(self._leases / f".{path.name}-{uuid.uuid4().hex}"))
            elif ASIDE.fullmatch(path.name) and _alive(path, now) is None:
                _delete(path)  # left by a process that was killed while it waited or cleared

    def renew(self) -> None:
        """Renew the lease, if it is time; raises LeaseLostError if another process has it."""
        if time.monotonic() - self._heard < self._seconds / RENEWALS:
            return
        try:
            os.utime(self.staging / OWNER)
        except FileNotFoundError as error:
            raise LeaseLostError(self.loss) from error
        self._heard = time.monotonic()

    @property
    def lost(self) -> bool:
        return not (self.staging / OWNER).exists()

    @property
    def loss(self) -> str:
        """What to say when the lease is lost."""
        now = holder(self._run)
        return (
            f"{self._run} was taken over by {now or 'a process that has ended'}, because this "
            f"one was not heard of for {self._seconds:g} s; nothing was written since"
        )

    def release(self) -> None:
        """Let others take the run immediately."""
        with suppress(FileNotFoundError):
            os.utime(self.staging / OWNER, (0, 0))


def _delete(staging: Path) -> None:
    """Delete a staging folder, in which a former owner may still be writing."""
    for _ in range(CLEARING_TRIES):
        if not holds_only(staging, STAGED):
            break
        with suppress(OSError):
            delete_folder(staging, STAGED)
        if not staging.exists():
            return
        time.sleep(POLL_SECONDS / 10)
    if staging.exists():
        raise OSError(f"{staging} cannot be deleted, or holds files that deepcs did not write")
