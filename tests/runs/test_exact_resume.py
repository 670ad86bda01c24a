"""A run that was killed and resumed ends with the same bytes as one that was not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Literal

import pytest
from trainee import MOMENTS, Trainee, assert_same_run, train_with_kills

from deepcs.agents.a2c import A2CSettings
from deepcs.agents.acktr import ACKTRSettings
from deepcs.agents.ppo import PPOSettings
from deepcs.runs.checkpoint import checkpoint_steps
from deepcs.runs.config import RunConfig
from deepcs.runs.load import load_run
from deepcs.runs.train import train
from deepcs.system.cpu import bfloat16_instructions

# Games of 15 steps end within the run; rows of curve.csv and checkpoints fall on different steps.
ATARI = RunConfig(
    "MontezumaRevenge",
    steps=160,
    actors=4,
    shards=2,
    max_frames=60,
    precision="float32",
    log_every=60,
    checkpoint_every=40,
)
HALLWAY = RunConfig(
    "KeyHallway", steps=2_000, actors=4, log_every=300, checkpoint_every=200, milestone_every=600
)
# Statistics, decompositions and the end of the cold start fall on both sides of checkpoints.
ACKTR = ACKTRSettings(n_steps=5, cold_updates=12, statistics_every=3, refresh_every=7)

# Two minibatches of each shard's samples, three times over, in every update.
PPO = PPOSettings(n_steps=10, minibatch=20)


def tensorboard_scalars(out: Path) -> dict[str, list[tuple[int, float]]]:
    """What TensorBoard shows of a run, times aside."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(out / "tensorboard"))
    events.Reload()
    names = [n for n in events.Tags()["scalars"] if n not in ("steps_per_second", "seconds")]
    return {name: [(e.step, e.value) for e in events.Scalars(name)] for name in names}


@pytest.mark.long
def test_a_killed_atari_run_ends_with_the_same_bytes(tmp_path: Path) -> None:
    train(ATARI, tmp_path / "whole", workers=1)
    logs = load_run(tmp_path / "whole")
    assert len(logs.games["step"]) >= 8
    assert logs.visits["entries"].sum() >= 8
    moments = ["while saving", "after a checkpoint"]
    kills, _ = train_with_kills(ATARI, tmp_path / "killed", moments, Random(1))
    assert kills == 2
    assert_same_run(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.long
def test_a_killed_hallway_run_ends_with_the_same_bytes_and_the_same_tensorboard(
    tmp_path: Path,
) -> None:
    config = replace(HALLWAY, treatment="never-reset", graded=True)
    train(config, tmp_path / "whole")
    kills, _ = train_with_kills(config, tmp_path / "killed", ["while saving"], Random(2))
    assert kills == 1
    assert_same_run(tmp_path / "whole", tmp_path / "killed")
    shown = tensorboard_scalars(tmp_path / "whole")
    assert shown["entropy"]
    assert tensorboard_scalars(tmp_path / "killed") == shown


@pytest.mark.long
def test_a_killed_acktr_run_ends_with_the_same_bytes(tmp_path: Path) -> None:
    config = replace(HALLWAY, agent="acktr", learner=ACKTR, shards=2)
    train(config, tmp_path / "whole", workers=1)
    moments = ["while saving", "after a checkpoint"]
    kills, _ = train_with_kills(config, tmp_path / "killed", moments, Random(3), workers=2)
    assert kills == 2
    assert_same_run(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.long
@pytest.mark.parametrize("processes", [1, 2, 4])
def test_a_killed_ppo_run_ends_with_the_same_bytes(processes: int, tmp_path: Path) -> None:
    config = replace(HALLWAY, agent="ppo", learner=PPO, shards=4, steps=1_000)
    train(config, tmp_path / "whole", workers=1)
    moments, rng = ["while saving"], Random(processes)
    kills, _ = train_with_kills(config, tmp_path / "killed", moments, rng, workers=processes)
    assert kills == 1
    assert_same_run(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.long
def test_a_run_killed_before_its_first_checkpoint_begins_again(tmp_path: Path) -> None:
    config = replace(HALLWAY, steps=20_000, checkpoint_every=20_000)
    with Trainee(config, tmp_path / "killed") as trainee:
        trainee.wait_until(lambda: b"\n300," in _read(tmp_path / "killed" / "curve.csv"))
        assert trainee.kill()
    assert checkpoint_steps(tmp_path / "killed" / "checkpoints") == []
    train(config, tmp_path / "killed")
    train(config, tmp_path / "whole")
    assert_same_run(tmp_path / "whole", tmp_path / "killed")


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


@pytest.mark.long
def test_workers_do_not_change_a_byte(tmp_path: Path) -> None:
    config = replace(ATARI, steps=60, protocol="machado")
    for workers in (1, 2, 4):
        train(config, tmp_path / str(workers), workers=workers)
        assert_same_run(tmp_path / "1", tmp_path / str(workers))


@pytest.mark.long
@pytest.mark.parametrize("world", ["Freeway", "MontezumaRevenge"])
def test_three_kills_change_nothing_of_acktr(world: str, tmp_path: Path) -> None:
    config = replace(ATARI, world=world, agent="acktr", learner=ACKTR, steps=480)
    train(config, tmp_path / "whole", workers=1)
    moments = ["while saving", "after a checkpoint", "while saving"]
    kills, _ = train_with_kills(config, tmp_path / "killed", moments, Random(world), workers=2)
    assert kills == 3
    assert_same_run(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.long
@pytest.mark.parametrize("processes", [1, 2, 4])
@pytest.mark.parametrize("values", ["two", "one"])
@pytest.mark.parametrize("world", ["Freeway", "MontezumaRevenge"])
def test_three_kills_change_nothing_of_ppo(
    world: str, values: Literal["two", "one"], processes: int, tmp_path: Path
) -> None:
    learner = replace(PPO, values=values)
    config = replace(ATARI, world=world, agent="ppo", learner=learner, shards=4, steps=480)
    train(config, tmp_path / "whole", workers=1)
    moments = ["while saving", "after a checkpoint", "while saving"]
    rng = Random(f"{world} {values} {processes}")
    kills, _ = train_with_kills(config, tmp_path / "killed", moments, rng, workers=processes)
    assert kills == 3
    assert_same_run(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.long
@pytest.mark.skipif(bfloat16_instructions() is None, reason="this CPU cannot multiply bfloat16")
@pytest.mark.parametrize("processes", [1, 2, 4])
@pytest.mark.parametrize("agent", ["a2c", "ppo"])
def test_three_kills_change_nothing_in_half_precision(
    agent: str, processes: int, tmp_path: Path
) -> None:
    # With one value, I is imitated too, so that there is something to imitate from the start.
    ppo = replace(PPO, values="one", imitation=1, imitation_samples=80)
    learner = ppo if agent == "ppo" else A2CSettings(imitation=1, imitation_samples=80)
    config = replace(
        ATARI,
        agent=agent,
        learner=learner,
        network="narrow",
        precision="bfloat16",
        shards=4,
        steps=480,
    )
    train(config, tmp_path / "whole", workers=1)
    assert load_run(tmp_path / "whole").curve["remembered"][-1] > 0
    moments = ["while saving", "after a checkpoint", "while saving"]
    rng = Random(f"{agent} {processes}")
    kills, _ = train_with_kills(config, tmp_path / "killed", moments, rng, workers=processes)
    assert kills == 3
    assert_same_run(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("protocol", ["paper", "machado"])
@pytest.mark.parametrize("world", ["Freeway", "MontezumaRevenge"])
def test_seven_kills_change_nothing(world: str, protocol: str, seed: int, tmp_path: Path) -> None:
    """Eight runs, 56 kills."""
    config = replace(ATARI, world=world, protocol=protocol, seed=seed, steps=640)
    train(config, tmp_path / "whole", workers=1)
    assert len(load_run(tmp_path / "whole").games["step"]) >= 30
    rng = Random(f"{world} {protocol} {seed}")
    moments = [*MOMENTS, *MOMENTS, "while saving"]
    rng.shuffle(moments)
    kills, halves = train_with_kills(config, tmp_path / "killed", moments, rng, workers=1 + seed)
    print(f"{world} {protocol} seed {seed}: {kills} kills, {halves} in the midst of a checkpoint")
    assert kills == 7
    assert halves >= 1
    assert_same_run(tmp_path / "whole", tmp_path / "killed")
