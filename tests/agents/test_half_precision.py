"""bfloat16 in the built-in network, emulated where the CPU has no instructions for it."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from deepcs.agents.agent import Moment
from deepcs.agents.folding import fold_into
from deepcs.agents.network import Network
from deepcs.agents.ppo import PPOSettings
from deepcs.agents.replicas import Replicas
from deepcs.agents.samples import SeenObservations
from deepcs.runs.config import RunConfig

SHAPES = {"nature": (5, 84, 84), "maze": (4, 11, 11), "flat": (7,)}
NETWORKS = [(shape, False) for shape in SHAPES.values()] + [(SHAPES["nature"], True)]
NAMES = [*SHAPES, "narrow"]
ACTIONS, ENVS, STEPS, VALUES = 4, 2, 2, 2
ROUNDING = 2.0**-8  # of one number, at most


def both(shape: tuple[int, ...], narrow: bool = False) -> tuple[Network, Network]:
    """A network in float32 and one in bfloat16, on the same weights, which bfloat16 can hold."""
    exact = Network(shape, ACTIONS, envs=ENVS, steps=STEPS, values=VALUES, narrow=narrow)
    exact.initialise(1)
    exact.parameters.copy_(exact.parameters.bfloat16())
    half = Network(
        shape,
        ACTIONS,
        envs=ENVS,
        steps=STEPS,
        values=VALUES,
        narrow=narrow,
        parameters=exact.parameters,
        precision="bfloat16",
    )
    return exact, half


def pixels(shape: tuple[int, ...]) -> Tensor:
    """Observations of a whole rollout, (T, N, *shape)."""
    generator = torch.Generator().manual_seed(3)
    return torch.randint(0, 256, (STEPS, ENVS, *shape), dtype=torch.uint8, generator=generator)


def distance(found: Tensor, wanted: Tensor) -> float:
    return float((found - wanted).norm() / wanted.norm())


@pytest.mark.parametrize(("shape", "narrow"), NETWORKS, ids=NAMES)
def test_policy_and_values_are_those_of_float32_but_for_rounding(
    shape: tuple[int, ...], narrow: bool
) -> None:
    exact, half = both(shape, narrow)
    for t, observations in enumerate(pixels(shape)):
        for found, wanted in zip(
            half.forward(t, observations), exact.forward(t, observations), strict=True
        ):
            assert found.dtype == torch.float32
            assert 0 < distance(found, wanted) < 5 * ROUNDING


@pytest.mark.parametrize(("shape", "narrow"), NETWORKS, ids=NAMES)
def test_the_gradient_is_that_of_float32_through_the_same_activations(
    shape: tuple[int, ...], narrow: bool
) -> None:
    exact, half = both(shape, narrow)
    for t, observations in enumerate(pixels(shape)):
        half.forward(t, observations)
        exact.forward(t, observations)  # its pixels; in half precision these may be in blocks
    for kept, given in list(zip(exact.inputs, half.inputs, strict=True))[half.block is not None :]:
        kept.copy_(given)
    generator = torch.Generator().manual_seed(4)
    d_logits = torch.randn(STEPS * ENVS, ACTIONS, generator=generator)
    d_values = torch.randn(STEPS * ENVS, VALUES, generator=generator)
    for network in (exact, half):
        network.backward(d_logits, d_values)
    wanted = exact.named_gradient()
    for name, found in half.named_gradient().items():
        assert found.dtype == torch.float32
        assert distance(found, wanted[name]) < 3 * ROUNDING, name


@pytest.mark.parametrize("layout", ["planes first", "planes last", "floats"])
def test_images_in_blocks_are_what_images_are(layout: str) -> None:
    _, half = both(SHAPES["nature"])
    given = pixels(SHAPES["nature"])[0]
    wanted = half.evaluate(given)
    if layout == "planes last":
        given = given.contiguous(memory_format=torch.channels_last)
    if layout == "floats":
        given = given / 255
    folded = SeenObservations(1, half.block).write(0, given)
    assert isinstance(folded, Tensor)
    assert folded.shape == (ENVS, 80, 21, 21)
    for found in (half.evaluate(given), half.evaluate(folded)):
        assert all(torch.equal(*each) for each in zip(found, wanted, strict=True))


def test_a_block_holds_its_pixels_channel_by_channel_and_row_by_row() -> None:
    image = torch.arange(2 * 4 * 8, dtype=torch.uint8).view(1, 2, 4, 8)
    blocks = torch.zeros(1, 1, 2, 32, dtype=torch.uint8)
    fold_into(image, 4, blocks)
    right = [
        plane * 32 + row * 8 + 4 + column
        for plane in (0, 1)
        for row in range(4)
        for column in range(4)
    ]
    assert blocks[0, 0, 1].tolist() == right


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_images_in_blocks_are_packed_as_images_and_come_back_in_blocks(dtype: torch.dtype) -> None:
    images = pixels(SHAPES["nature"])[0].to(dtype)
    seen = SeenObservations(1, 4)
    folded = seen.write(0, images)
    assert isinstance(folded, Tensor)
    packed = [seen.pack(sample) for sample in range(ENVS)]
    assert zlib.decompress(packed[1]) == images[1].numpy().tobytes()
    back = seen.unpack(packed[::-1])
    assert isinstance(back, Tensor)
    assert torch.equal(back, folded.flip(0))
    assert torch.equal(back, seen.take(torch.tensor([1, 0])))


def test_weights_that_others_changed_are_seen_by_the_next_rollout_and_evaluation() -> None:
    exact, half = both((7,))
    observations = pixels((7,))[0]
    before = half.forward(0, observations)[0].clone()
    exact.parameters.mul_(2)
    assert not torch.equal(half.evaluate(observations)[0], before)
    exact.parameters.div_(2)
    assert torch.equal(half.forward(0, observations)[0], before)


def hallway(**settings: Any) -> RunConfig:
    """As a run on a CPU with instructions for bfloat16 would have it."""
    config = RunConfig("KeyHallway", **settings).resolved().fitted()
    return replace(config, precision="bfloat16")


LEARNERS: dict[str, dict[str, Any]] = {
    "a2c": {"agent": "a2c"},
    "ppo": {"agent": "ppo", "learner": PPOSettings(n_steps=8, minibatch=16)},
}


@pytest.mark.long
@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_processes_and_interruptions_change_no_bit(learner: dict[str, Any]) -> None:
    training = hallway(actors=4, shards=2, **learner).training()
    results = []
    for workers, stops in ((1, False), (2, False), (1, True)):
        replicas = Replicas(training, workers)
        replicas.initialise()
        for update in range(4):
            if stops and update == 2:
                saved = replicas.weights(), replicas.vectors()
                actors = replicas.actors()
                replicas.close()
                replicas = Replicas(training, workers)
                replicas.load(*saved)
                replicas.restore(actors)
            replicas.update(Moment(update, 1e-2, logged=False))
        arrays = replicas.weights() | replicas.vectors()
        results.append({name: array.tobytes() for name, array in arrays.items()})
        assert all(array.dtype == np.float32 for array in arrays.values())
        replicas.close()
    assert results[0] == results[1] == results[2]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
def test_ppo_learns_to_fetch_the_key_in_half_precision_too(seed: int) -> None:
    faster = PPOSettings(learning_rate=1e-3, schedule="linear")
    config = hallway(agent="ppo", learner=faster, steps=250_000, seed=seed)
    replicas = Replicas(config.training(), workers=1)
    replicas.initialise()
    scores: list[float] = []
    for step in range(0, config.steps, config.update_steps):
        rate = config.learning_rate(step, config.steps)
        outcome = replicas.update(Moment(step // config.update_steps, rate, logged=False))
        scores += [game.record.score for game in outcome.games]
    replicas.close()
    last = scores[-len(scores) // 5 :]
    assert np.mean(np.array(last) > 0) > 0.90
