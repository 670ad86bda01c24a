"""What the vector wrappers have learned is saved, and loaded only where it belongs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deepcs
from deepcs import VecNovelty
from deepcs.agents.shared_novelty import SharedNovelty

KINDS = ("counts", "pseudo-counts", "rnd")


pytestmark = pytest.mark.usefixtures("one_thread")


def shared(across: Any, actors: int = 2, seed: int = 0, **settings: Any) -> SharedNovelty:
    return SharedNovelty(actors, across, "sum:1", seed, settings)


def paid(one: SharedNovelty, steps: int = 1, actors: int = 2, side: int = 4) -> np.ndarray:
    """What random steps pay, (steps, actors)."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(steps):
        seen = rng.integers(1, 200, (actors, side, side), np.uint8)
        if one.needed == "cell":
            seen = seen[:, 0, 0].astype(np.int64)
        rows.append(one.pay(seen, np.ones(actors), np.zeros(actors)).across)
    return np.array(rows)


def learned(across: Any, **settings: Any) -> SharedNovelty:
    one = shared(across, **settings)
    paid(one, 5)
    return one


@pytest.mark.parametrize("across", KINDS)
def test_a_file_of_arrays_keeps_all_that_was_learned(across: str, tmp_path: Path) -> None:
    one, other = learned(across), shared(across)
    np.savez(tmp_path / "novelty.npz", **one.state())
    with np.load(tmp_path / "novelty.npz", allow_pickle=False) as saved:
        other.load(saved)
    assert (paid(one, 5) == paid(other, 5)).all()


@pytest.mark.parametrize("across", KINDS)
def test_a_saved_state_stays_as_it_was_saved(across: str) -> None:
    one = learned(across)
    saved = one.state()
    before = {name: array.copy() for name, array in saved.items()}
    paid(one, 5)
    assert all((saved[name] == array).all() for name, array in before.items())


@pytest.mark.parametrize("across", KINDS)
def test_what_was_saved_before_the_first_step_is_as_new(across: str) -> None:
    one = learned(across)
    one.load(shared(across).state())
    assert (paid(one, 5) == paid(shared(across), 5)).all()


@pytest.mark.parametrize(
    ("state", "here", "sentence"),
    [
        ({"across": "counts"}, {"across": "pseudo-counts"}, "with across 'counts', but this .* '"),
        ({"across": "rnd"}, {"across": "counts"}, "with across 'rnd', but this .* 'counts'; load"),
        (
            {"across": "rnd", "rnd_features": 64},
            {"across": "rnd"},
            "with rnd_features 64, but this wrapper has 128; load it where rnd_features is 64",
        ),
        (
            {"across": "pseudo-counts", "density_side": 2},
            {"across": "pseudo-counts"},
            "with density_side 2, but this wrapper has 42",
        ),
        ({"across": "rnd", "seed": 1}, {"across": "rnd"}, "with seed 1, but this wrapper has 0"),
        (
            {"across": "rnd"},
            {"across": "rnd", "actors": 3},
            "with num_envs 2, but this wrapper has 3; load it where num_envs is 2",
        ),
    ],
)
def test_a_state_of_something_else_is_refused(
    state: dict[str, Any], here: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=rf"^Got a state that was learned {sentence}.*\.$"):
        shared(**here).load(learned(**state).state())


@pytest.mark.parametrize("across", ["pseudo-counts", "rnd"])
def test_frames_of_another_size_than_was_learned_from_are_refused(across: str) -> None:
    saved = learned(across).state()
    begun, new = shared(across), shared(across)
    paid(begun, side=5)
    with pytest.raises(ValueError, match=r"^Got a state .* frames of 4x4 pixels, .* have 5x5; .*"):
        begun.load(saved)
    new.load(saved)
    with pytest.raises(ValueError, match=r"^Got frames of 5x5 pixels, .* those of 4x4; .*\.$"):
        paid(new, side=5)


@pytest.mark.parametrize("across", KINDS)
def test_a_refused_state_changes_nothing(across: str) -> None:
    one, other = learned(across), learned(across)
    *_, last = saved = one.state()
    del saved[last]
    with pytest.raises(ValueError, match=f"^Got a state without '{last}'; give all"):
        other.load(saved)
    with pytest.raises(ValueError, match=r"^Got a state without 'learned with', .* state"):
        other.load({"cells": np.ones(1)})
    assert (paid(one, 5) == paid(other, 5)).all()


def test_counts_go_on_with_any_number_of_actors_and_other_weights() -> None:
    one = shared("counts", actors=1, combine="sum", across_weight=2.0)
    one.load(learned("counts").state())
    cell = np.array([int(learned("counts").state()["cells"][0])])
    visits = int(learned("counts").state()["visits"][0])
    assert one.pay(cell, np.ones(1), np.zeros(1)).across == pytest.approx([(visits + 1) ** -0.5])


def test_the_wrappers_of_both_libraries_share_their_states() -> None:
    def pool() -> Any:
        return deepcs.make_vec("KeyHallway", num_envs=2, workers=0, mix=False, frames=True)

    gym = deepcs.NoveltyVectorWrapper(pool(), "rnd")
    gym.reset(seed=0)
    gym.step(np.array([1, 1]))
    venv = VecNovelty(deepcs.to_sb3(pool()), "rnd")
    venv.load(gym.state())
    assert all((venv.state()[name] == array).all() for name, array in gym.state().items())
