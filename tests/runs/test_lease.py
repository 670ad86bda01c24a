"""One writer at a time: who gets a lease, and what a former owner can still do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from trainee import Trainee, assert_same_run

from deepcs.runs.checkpoint import (
    Checkpoint,
    checkpoint_steps,
    prune_checkpoints,
    save_checkpoint,
)
from deepcs.runs.config import RunConfig
from deepcs.runs.errors import RunError
from deepcs.runs.lease import Lease, LeaseHeldError, LeaseLostError, Terms, holder, is_leased
from deepcs.runs.logs import CsvLog
from deepcs.runs.train import resume, train
from deepcs.system.files import write_whole

BRIEF = Terms(seconds=0.1)
HALLWAY = RunConfig(
    "KeyHallway", steps=4_000, actors=4, log_every=300, checkpoint_every=200, milestone_every=600
)


def overdue(run: Path) -> Lease:
    """A lease whose owner is alive but has not been heard of in time."""
    lease = Lease(run, BRIEF)
    time.sleep(2 * BRIEF.seconds)
    return lease


def test_a_lease_that_is_held_is_refused_with_its_owner(tmp_path: Path) -> None:
    Lease(tmp_path, Terms())
    with pytest.raises(LeaseHeldError, match=rf"into .* \(process {os.getpid()} on .*\); wait"):
        Lease(tmp_path, Terms())
    assert sorted(os.listdir(tmp_path / "lease")) == ["1"]


def test_a_released_lease_is_free_at_once_and_its_number_is_not_used_again(tmp_path: Path) -> None:
    Lease(tmp_path, Terms()).release()
    assert holder(tmp_path) is None
    assert Lease(tmp_path, Terms()).staging == tmp_path / "lease" / "2"
    assert holder(tmp_path) is not None


def test_an_overdue_lease_is_taken_over_and_its_former_owner_told(tmp_path: Path) -> None:
    former = overdue(tmp_path)
    Lease(tmp_path, Terms())
    with pytest.raises(LeaseLostError, match=r"was taken over by process \d+ on .*nothing was"):
        former.renew()
    former.release()
    assert holder(tmp_path) is not None


def test_an_owner_of_another_machine_that_is_silent_is_replaced_though_its_clock_was_ahead(
    tmp_path: Path,
) -> None:
    former = Lease(tmp_path, Terms(seconds=0.5))
    owner = former.staging / "owner.json"
    owner.write_text(owner.read_text().replace('"machine": "', '"machine": "another '))
    tomorrow = time.time() + 86_400
    os.utime(owner, (tomorrow, tomorrow))
    with pytest.raises(LeaseHeldError):
        Lease(tmp_path, Terms())
    assert Lease(tmp_path, Terms(patience=5.0)).staging == tmp_path / "lease" / "2"
    assert former.lost


def test_a_process_whose_name_is_no_text_can_hold_a_lease(tmp_path: Path) -> None:
    code = "import sys, time; from deepcs.runs.lease import *; from pathlib import Path\n"
    code += (
        "Path('/proc/self/comm').write_bytes(b'\\xff) \\xfe'); Lease(Path(sys.argv[1]), Terms())\n"
    )
    code += "print(flush=True); time.sleep(60)"
    with subprocess.Popen(
        [sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert holder(tmp_path) is not None
        process.kill()
    assert holder(tmp_path) is None


def test_a_renewed_lease_is_kept(tmp_path: Path) -> None:
    lease = Lease(tmp_path, Terms(seconds=1.0))
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        lease.renew()
        time.sleep(0.05)
    with pytest.raises(LeaseHeldError):
        Lease(tmp_path, BRIEF)


def test_patience_waits_for_an_owner_that_releases(tmp_path: Path) -> None:
    code = "import sys, time; from deepcs.runs.lease import *; from pathlib import Path\n"
    code += "lease = Lease(Path(sys.argv[1]), Terms()); print(flush=True); time.sleep(1)\n"
    code += "lease.release(); time.sleep(60)"
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        owner.stdout.readline()
        Lease(tmp_path, Terms(patience=30.0))
        owner.kill()


CLAIM = """
import sys, time
from pathlib import Path
from deepcs.runs.lease import Lease, LeaseHeldError, Terms
print(flush=True)
sys.stdin.read(1)
try:
    Lease(Path(sys.argv[1]), Terms())
except LeaseHeldError:
    sys.exit(3)
print("mine", flush=True)
time.sleep(60)
"""


def test_of_many_that_reach_for_an_overdue_lease_one_gets_it_and_its_death_frees_it(
    tmp_path: Path,
) -> None:
    overdue(tmp_path)
    command = [sys.executable, "-c", CLAIM, str(tmp_path)]
    claimants = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(8)
    ]
    for each in claimants:
        assert each.stdout is not None
        each.stdout.readline()
    for each in claimants:
        assert each.stdin is not None
        each.stdin.write(b"x")
        each.stdin.flush()
    end = time.monotonic() + 60
    while sum(each.poll() is None for each in claimants) > 1 and time.monotonic() < end:
        time.sleep(0.05)
    (winner,) = [each for each in claimants if each.poll() is None]
    assert all(each.returncode == 3 for each in claimants if each is not winner)
    owner = holder(tmp_path)
    assert owner is not None
    assert owner.pid == winner.pid
    winner.kill()
    winner.wait()
    Lease(tmp_path, Terms())
    for each in claimants:
        each.communicate()


def test_nothing_that_a_former_owner_still_does_changes_the_run(tmp_path: Path) -> None:
    """Every way to write, by one who has lost the lease and has not noticed."""
    checkpoints = tmp_path / "checkpoints"

    def checkpoint(step: int) -> Checkpoint:
        return Checkpoint(step, {"w": np.zeros(3)}, {"w": np.zeros(3)}, None, {})

    former = overdue(tmp_path)
    old_log = CsvLog(tmp_path / "log.csv", ("a",), None, former.staging)
    old_log.append({"a": 1})
    length = old_log.sync()
    write_whole(tmp_path / "config.json", b"old", former.staging)
    save_checkpoint(checkpoints, checkpoint(10), former.staging)

    now = Lease(tmp_path, Terms())
    log = CsvLog(tmp_path / "log.csv", ("a",), length, now.staging)
    log.append({"a": 2})
    log.sync()
    write_whole(tmp_path / "config.json", b"new", now.staging)
    save_checkpoint(checkpoints, checkpoint(20), now.staging)

    for late in (
        lambda: write_whole(tmp_path / "config.json", b"late", former.staging),
        lambda: save_checkpoint(checkpoints, checkpoint(20), former.staging),
        lambda: save_checkpoint(checkpoints, checkpoint(30), former.staging),
        lambda: prune_checkpoints(checkpoints, 10, 1, 1_000, former.staging),
        lambda: CsvLog(tmp_path / "log.csv", ("a",), None, former.staging),
    ):
        with pytest.raises(FileNotFoundError):
            late()
    old_log.append({"a": 3})
    old_log.close()
    assert (tmp_path / "log.csv").read_text() == "a\n1\n2\n"
    assert (tmp_path / "config.json").read_bytes() == b"new"
    assert checkpoint_steps(checkpoints) == [10, 20]
    assert sorted(os.listdir(tmp_path / "lease")) == ["2"]


def test_a_run_that_was_begun_under_a_lease_stays_under_one(tmp_path: Path) -> None:
    config = replace(HALLWAY, steps=400)
    train(config, tmp_path / "leased", lease=Terms())
    other = Lease(tmp_path / "leased", Terms())
    with pytest.raises(LeaseHeldError, match="Another process is training"):
        resume(tmp_path / "leased", steps=600)
    other.release()
    assert resume(tmp_path / "leased", steps=600) is None
    train(config, tmp_path / "plain")
    assert not is_leased(tmp_path / "plain")


def test_a_run_that_is_trained_without_a_lease_is_not_taken_with_one(tmp_path: Path) -> None:
    with Trainee(replace(HALLWAY, steps=10_000_000), tmp_path) as trainee:
        assert trainee.wait_until(trainee.saved)
        with pytest.raises(RunError, match="Another process is training"):
            train(replace(HALLWAY, steps=10_000_000), tmp_path, lease=Terms())
    assert not is_leased(tmp_path)


LEASED = """
import json, sys
from deepcs.runs.saved_config import from_json
from deepcs.runs.lease import Terms
from deepcs.runs.train import StoppedError, train
try:
    print(train(from_json(json.loads(sys.argv[1])), sys.argv[2], workers=1, lease=Terms(1.0)))
except StoppedError as error:
    sys.exit(f"StoppedError: {error}")
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run as it is when nobody disturbs it."""
    out = tmp_path_factory.mktemp("whole") / "run"
    train(HALLWAY, out)
    return out


MOMENTS = {
    "with nothing written yet": "lease/1/owner.json",
    "after a checkpoint": "checkpoints/*00",
    "while saving": "lease/*/.*00.new",
}


@pytest.mark.long
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_writer_that_slept_is_replaced_and_harms_nothing_when_it_wakes(
    moment: str, whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    with Trainee(HALLWAY, out, program=LEASED) as sleeper:
        assert sleeper.wait_until(lambda: any(out.glob(MOMENTS[moment])))
        sleeper.send(signal.SIGSTOP)
        reached = checkpoint_steps(out / "checkpoints")
        assert HALLWAY.steps not in reached
        assert train(HALLWAY, out, lease=Terms(1.0, patience=30.0)) is None
        sleeper.send(signal.SIGCONT)
        code, _, complaint = sleeper.finish()
    assert code == 1
    assert f"{out} was taken over by a process that has ended, because this one was" in complaint
    assert complaint.count("\n") == 0
    assert_same_run(whole, out)
