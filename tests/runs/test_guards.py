"""What stops a run, and what is safe then."""

from __future__ import annotations

import itertools
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import psutil
import pytest
from trainee import Trainee, assert_same_run

from deepcs.agents.a2c import A2CSettings
from deepcs.agents.ppo import PPOSettings
from deepcs.runs.checkpoint import checkpoint_steps, newest_checkpoint
from deepcs.runs.config import RunConfig
from deepcs.runs.errors import RunError
from deepcs.runs.load import load_run
from deepcs.runs.train import StoppedError, train

HALLWAY = RunConfig(
    "KeyHallway", steps=2_000, actors=4, shards=2, log_every=300, checkpoint_every=200
)
ENDLESS = replace(HALLWAY, steps=10_000_000)
ORPHAN_SECONDS = 5.0


def assert_gone(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=ORPHAN_SECONDS)
    assert not alive


def test_two_cannot_train_into_one_folder_and_a_killed_one_leaves_neither_lock_nor_processes(
    tmp_path: Path,
) -> None:
    with Trainee(ENDLESS, tmp_path, workers=2) as trainee:
        assert trainee.wait_until(trainee.saved)
        with pytest.raises(RunError, match=r"Another process is training into .*; wait for it"):
            train(ENDLESS, tmp_path)
        family = psutil.Process(trainee.popen.pid).children(recursive=True)
        assert len(family) == 1
        assert trainee.kill()
        assert_gone(family)
    done = checkpoint_steps(tmp_path / "checkpoints")[-1]
    assert train(replace(ENDLESS, steps=done), tmp_path) is None


@pytest.mark.long
def test_a_killed_replica_stops_the_run_and_its_checkpoint_is_safe(tmp_path: Path) -> None:
    with Trainee(ENDLESS, tmp_path, workers=4) as trainee:  # a replica beside it, 2 workers each
        assert trainee.wait_until(trainee.saved)
        family = psutil.Process(trainee.popen.pid).children(recursive=True)
        assert len(family) == 5
        (replica,) = (process for process in family if process.children())
        replica.kill()
        code, _, complaint = trainee.finish()
        assert_gone(family)
    assert code == 1
    checkpoint, damaged = newest_checkpoint(tmp_path / "checkpoints")
    assert checkpoint is not None
    assert not damaged
    assert complaint.startswith(f"StoppedError: Replica 1, process {replica.pid}, was killed by")
    assert f"the checkpoint of step {checkpoint.step:,} is safe" in complaint
    assert complaint.endswith(f"deepcs resume {tmp_path}")


def test_an_observation_that_is_not_finite_stops_at_the_last_good_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parent)
    config = RunConfig("own_envs:poisoned", steps=4_000, actors=4, checkpoint_every=60)
    with pytest.raises(StoppedError, match="The environment returned an observation") as stop:
        train(config, tmp_path)
    # 100 good steps of 4 actors are 20 updates of 20 steps; 360 is the last multiple of 60.
    assert str(stop.value) == (
        "The environment returned an observation that is not finite at step 400; the checkpoint of "
        "step 360 is safe. It would go the same way again: fix the environment, and train anew."
    )
    checkpoint, _ = newest_checkpoint(tmp_path / "checkpoints")
    assert checkpoint is not None
    assert checkpoint.step == 360
    assert all(np.isfinite(array).all() for array in checkpoint.weights.values())


def unpayable() -> gymnasium.Env[Any, Any]:
    """Pays NaN in every 40th step of an actor."""
    steps = itertools.count(1)
    env = gymnasium.make("CartPole-v1")
    return gymnasium.wrappers.TransformReward(
        env, lambda reward: float("nan") if next(steps) % 40 == 0 else float(reward)
    )


def glimpse() -> gymnasium.Env[Any, Any]:
    """Shows infinity for one step in 40."""
    steps = itertools.count(1)
    env = gymnasium.make("CartPole-v1")
    return gymnasium.wrappers.TransformObservation(
        env, lambda seen: seen / 0 if next(steps) % 40 == 0 else seen, env.observation_space
    )


@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value):RuntimeWarning")
@pytest.mark.parametrize("agent", ["a2c", "ppo"])
@pytest.mark.parametrize(
    ("world", "what"), [("unpayable", "a reward"), ("glimpse", "an observation")]
)
def test_what_is_not_finite_is_blamed_on_the_environment(
    world: str, what: str, agent: str, tmp_path: Path
) -> None:
    learner = A2CSettings(n_steps=8) if agent == "a2c" else PPOSettings(n_steps=8, minibatch=8)
    config = RunConfig(
        f"{__name__}:{world}", "plain", steps=400, actors=2, agent=agent, learner=learner
    )
    with pytest.raises(StoppedError, match=f"^The environment returned {what} that is not finite"):
        train(config, tmp_path, workers=1)


def test_weights_that_are_not_finite_are_never_saved(tmp_path: Path) -> None:
    """A first step this long overflows; no second loss is needed to see it."""
    absurd = A2CSettings(learning_rate=3e38, value=1e4, max_gradient_norm=np.inf)
    config = replace(HALLWAY, checkpoint_every=20, learner=absurd)
    with pytest.raises(StoppedError, match=r"finite at step 20; nothing was .* smaller learning"):
        train(config, tmp_path, workers=1)
    assert checkpoint_steps(tmp_path / "checkpoints") == []


FULL_DISK = """
import json, resource, sys
from deepcs.runs.saved_config import from_json
from deepcs.runs.progress import Silence
from deepcs.runs.train import StoppedError, train

class DiskFills(Silence):
    def __init__(self, step, limit):
        self.step, self.limit = step, limit

    def show(self, status):
        if status.step == self.step:
            allow(self.limit)

def allow(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

# No file may grow beyond 20 kB: a checkpoint does. Then none at all: logs do too.
for step, limit in ((520, 20_000), (940, 10)):
    try:
        train(from_json(json.loads(sys.argv[1])), sys.argv[2], display=DiskFills(step, limit))
    except StoppedError as error:
        allow(resource.RLIM_INFINITY)
        print(error)
"""


def test_a_full_disk_loses_no_checkpoint_and_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "full"
    with Trainee(replace(HALLWAY, shards=1), out, program=FULL_DISK) as trainee:
        code, said, complaint = trainee.finish()
    assert code == 0, complaint
    first, second = said.splitlines()
    assert first.startswith("Could not write ([Errno 27] File too large")
    assert "the checkpoint of step 400 is safe" in first
    assert second.startswith("Could not write ([Errno 27] File too large")
    assert "the checkpoint of step 800 is safe" in second
    assert checkpoint_steps(out / "checkpoints") == [600, 800]
    assert not list(out.rglob(".*.new"))
    train(replace(HALLWAY, shards=1), out)
    train(replace(HALLWAY, shards=1), tmp_path / "whole")
    assert_same_run(tmp_path / "whole", out)


def test_sigterm_to_the_whole_group_saves_a_checkpoint_to_go_on_from_exactly(
    tmp_path: Path,
) -> None:
    config = replace(HALLWAY, shards=1, steps=100_000, checkpoint_every=100_000, log_every=10_000)
    config = replace(config, learner=A2CSettings(schedule="constant"))
    with Trainee(config, tmp_path / "stopped", workers=2) as trainee:
        assert trainee.wait_until(trainee.begun)
        time.sleep(0.3)
        trainee.send(signal.SIGTERM, group=True)
        code, said, complaint = trainee.finish()
    assert (code, said) == (0, str(signal.SIGTERM.value)), complaint
    (done,) = checkpoint_steps(tmp_path / "stopped" / "checkpoints")
    assert done < 100_000
    total = config.whole_updates(done + 500)
    for name in ("stopped", "whole"):
        train(replace(config, steps=total), tmp_path / name, workers=1)
    assert_same_run(tmp_path / "stopped", tmp_path / "whole", but=("config.json", "checkpoints"))


def test_ctrl_c_while_starting_ends_without_a_traceback(tmp_path: Path) -> None:
    with Trainee(replace(ENDLESS, shards=1), tmp_path, workers=2) as trainee:
        parent = psutil.Process(trainee.popen.pid)
        assert trainee.wait_until(lambda: bool(parent.children()))
        trainee.send(signal.SIGINT, group=True)
        code, said, complaint = trainee.finish()
    assert (code, said) == (0, str(signal.SIGINT.value)), complaint
    assert complaint == ""
    assert checkpoint_steps(tmp_path / "checkpoints") == [0]
    assert len(load_run(tmp_path).curve["step"]) == 0
