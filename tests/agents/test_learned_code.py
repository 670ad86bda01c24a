"""The learned code of deepcs-hash tells frames apart, however long it is trained."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from deepcs.agents.bonus import Batch, run_alone
from deepcs.agents.hashing import (
    DARKEST,
    PENALTY,
    CodeLearner,
    aligned,
    autoencoder_size,
    code_in,
    logits_of,
    loss_gradient,
    mean_and_deviation,
    shade_sums,
)
from deepcs.agents.replicas import add_up
from deepcs.agents.visited import Visited
from deepcs.curiosity.novelty import Novelty
from deepcs.envs.make import random_frames
from deepcs.envs.pictures import HashPlace, coded_picture
from deepcs.runs.treatment import TREATMENTS

ACTORS, STEPS = 16, 5  # as A2C has them
CELLS = 10  # of 400 frames of random play, at least; Go-Explore aims at 50

pytestmark = pytest.mark.usefixtures("one_thread")


def chosen(**given: float) -> Novelty:
    return Novelty(**given).of_treatment(TREATMENTS["deepcs-hash"].choices, sees=True)  # type: ignore[arg-type]


def learners(
    novelty: Novelty, frame: tuple[int, int], actors: int = ACTORS, shards: int = 1
) -> list[CodeLearner]:
    sizes = CodeLearner.vectors(novelty, frame, shards)
    vectors = {name: torch.zeros(vector.size) for name, vector in sizes.items()}
    edges = [actors * k // shards for k in range(shards + 1)]
    made = [
        CodeLearner(
            novelty,
            Batch(k, shards, range(edges[k], edges[k + 1]), actors, 0, frame, vectors),
        )
        for k in range(shards)
    ]
    made[0].initialise()
    return made


def visits(frames: np.ndarray) -> Visited:
    return Visited(np.ones(frames.shape[:2], np.int64), frames)


def cells(learner: CodeLearner, frames: np.ndarray) -> int:
    place = HashPlace(learner.code, frames.shape[1:], chosen().hash_bits)
    return len({place(frame) for frame in frames})


def loss(learner: CodeLearner, frames: np.ndarray) -> float:
    """Of all these frames, without noise."""
    state, weights = learner.state(), learner.batch.vectors["code.parameters"]
    mean, deviation = mean_and_deviation(state["means"])
    pictures = coded_picture(frames)
    inputs = map(aligned, (pictures, (pictures - mean) / deviation, logits_of(mean)))
    noise = torch.zeros(len(pictures), len(learner.code))
    return loss_gradient(weights, *inputs, noise, len(pictures), torch.zeros_like(weights))


def assert_tells_apart(frames: np.ndarray, moments: tuple[int, ...], least: int) -> None:
    """At each of these numbers of updates on random ones of the frames, with a falling loss."""
    (one,) = learners(chosen(), frames.shape[1:])
    rng, losses = np.random.default_rng(0), []
    for update in range(1, max(moments) + 1):
        some = frames[rng.integers(0, len(frames), (STEPS, ACTORS))]
        run_alone(one.learn(visits(some)))
        if update in (10, *moments):
            losses.append(loss(one, frames))
        if update in moments:
            assert cells(one, frames) >= least, update
    assert losses == sorted(losses, reverse=True)


def test_frames_of_an_atari_game_are_not_one_cell_after_fifty_updates() -> None:
    assert_tells_apart(np.stack(random_frames("Venture", 400, 0)), (20, 50), CELLS)


@pytest.mark.long
@pytest.mark.parametrize("game", ["Frostbite", "MontezumaRevenge", "Freeway", "Pong", "Venture"])
def test_frames_of_atari_games_stay_many_cells_while_the_code_is_trained(game: str) -> None:
    grid = {} if game == "Venture" else {"grid": "none"}
    frames = np.stack(random_frames(game, 400, 0, **grid))
    assert_tells_apart(frames, (50, 200, 1_000), CELLS)


def test_a_bit_differs_among_frames_that_differ() -> None:
    """Its sum is 0 on average, so that one of the frames is above and one is below."""
    frames = np.random.default_rng(0).integers(200, 256, (20, 5, 6), dtype=np.uint8)
    (one,) = learners(chosen(code_bits=8, code_learning_rate=0.1), (5, 6), actors=20)
    for _ in range(30):
        run_alone(one.learn(visits(frames[None])))
    code = one.code
    bits = coded_picture(frames) @ code[:, :-1].T + code[:, -1] > 0
    assert (bits.any(0) & ~bits.all(0)).all()


def test_the_means_of_pictures_are_those_of_all_batches_and_follow_the_latest() -> None:
    (one,) = learners(chosen(code_bits=2), (1, 2), actors=2)
    dark, light = np.uint8([[[[0, 51]], [[0, 153]]]]), np.uint8([[[[255, 51]], [[255, 51]]]])
    for frames in (dark, light):
        run_alone(one.learn(visits(frames)))
    # Per pixel over four pictures: 0 0 1 1, and 0.2 0.6 0.2 0.2.
    assert one.state()["means"] == pytest.approx(np.array([[0.5, 0.3], [0.5, 0.12]]))
    _, deviation = mean_and_deviation(one.state()["means"])
    assert deviation == pytest.approx(((0.25 + 0.03) / 2) ** 0.5)
    one.load({"updates": np.array([5_000]), "means": np.array([[0.5, 0.3], [0.5, 0.12]])})
    run_alone(one.learn(visits(light)))
    assert one.state()["means"][0] == pytest.approx([0.505, 0.299])  # a hundredth of the way
    assert logits_of(np.array([0.5, 0.0])) == pytest.approx([0, np.log(DARKEST / (1 - DARKEST))])


def test_actors_get_the_signs_of_centred_sums() -> None:
    rng = np.random.default_rng(0)
    pictures, weights = rng.random((50, 6)), rng.standard_normal((3, 6))
    means = np.stack((pictures.mean(0), np.square(pictures).mean(0)))
    code = code_in(np.concatenate((weights.ravel(), rng.random(6 * 4))), means, 3)
    assert np.abs(code[:, :-1]).max(1) == pytest.approx(1)  # signs are the same at any scale
    bits = pictures @ code[:, :-1].T + code[:, -1] > 0
    assert (bits == ((pictures - means[0]) @ weights.T > 0)).all()


def test_the_autoencoders_gradient_is_that_of_autograd_in_float64() -> None:
    novelty, rng = chosen(code_bits=5), np.random.default_rng(0)
    size = autoencoder_size(novelty, (3, 4))
    weights = torch.from_numpy(rng.standard_normal(size)).requires_grad_()
    pixels = torch.from_numpy(rng.random((7, 12)))
    noise = torch.from_numpy(rng.uniform(-0.3, 0.3, (7, 5)))
    mean = pixels.mean(0)
    centred, usual = (pixels - mean) / 0.3, (mean / (1 - mean)).log()
    encoder, decoder = weights[: 5 * 12].view(5, 12), weights[5 * 12 :].view(12, 6)
    code = torch.sigmoid(centred @ encoder.T)
    white = torch.sigmoid(usual + (code + noise) @ decoder[:, :-1].T + decoder[:, -1])
    crossed = -(pixels * white.log() + (1 - pixels) * (1 - white).log()).sum(1).mean()
    expected = crossed + 12 * PENALTY * torch.minimum(code**2, (1 - code) ** 2).mean()
    expected.backward()

    gradient = torch.zeros(size, dtype=torch.float64)
    found = loss_gradient(weights.detach(), pixels, centred, usual, noise, 7, gradient)
    assert found == pytest.approx(expected.item(), rel=1e-12)
    assert torch.allclose(gradient, weights.grad, rtol=1e-10, atol=1e-14)


def test_the_code_is_handed_out_on_time() -> None:
    (one,) = learners(chosen(code_every=3, code_learning_rate=0.01), (3, 4), actors=4)
    frames = np.random.default_rng(0).integers(0, 256, (5, 4, 3, 4), dtype=np.uint8)
    handed = [run_alone(one.learn(visits(frames))) for _ in range(7)]
    assert [code is not None for code in handed] == [False, False, True, False, False, True, False]
    assert handed[2].shape == (64, 13)
    assert not (handed[2] == handed[5]).all()


def test_mean_pictures_are_the_same_in_any_number_of_shards_and_after_a_resume() -> None:
    frames = np.random.default_rng(0).integers(0, 256, (3, 5, 4, 3, 4), dtype=np.uint8)
    made = {shards: learners(chosen(), (3, 4), 4, shards) for shards in (1, 2, 4)}
    (restored,) = learners(chosen(), (3, 4), 4)
    for rollout in frames:
        for shards, each in made.items():
            parts = np.split(rollout, shards, axis=1)
            sums = add_up([shade_sums(coded_picture(p.reshape(-1, 3, 4))) for p in parts])
            for one in each:
                one._see(sums / 20)
    states = [one.state()["means"] for each in made.values() for one in each]
    assert all((state == states[0]).all() for state in states)
    restored.load(made[1][0].state())
    assert (restored.state()["means"] == states[0]).all()
