"""Cells of what is on the screen."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import deepcs
from deepcs.curiosity.cells import cell_number
from deepcs.curiosity.novelty import Novelty
from deepcs.envs.atari import AtariActor
from deepcs.envs.make import make_actor, make_vec, random_frames
from deepcs.envs.pictures import (
    CellFinder,
    Hashed,
    HashPlace,
    Pixels,
    choose_cells,
    grey_frame,
    shrink_frame,
)
from deepcs.envs.roms import atari_game


def test_a_picture_is_shrunk_by_area_and_cut_into_levels() -> None:
    frame = np.array([[0, 100, 255, 255], [100, 200, 255, 255]], np.uint8)
    assert shrink_frame(frame, 2, 1, 256).tolist() == [[100, 255]]
    assert shrink_frame(frame, 2, 1, 4).tolist() == [[1, 3]]
    assert shrink_frame(frame, 4, 2, 2).tolist() == [[0, 0, 1, 1], [0, 1, 1, 1]]


def test_grey_is_the_mean_of_the_channels_however_they_lie() -> None:
    image = np.array([[[10, 20, 31]]], np.uint8)
    assert grey_frame(image, "HWC").tolist() == [[20]]
    assert grey_frame(np.moveaxis(image, -1, 0), "CHW").tolist() == [[20]]
    assert grey_frame(image[0], "HW").tolist() == [[10, 20, 31]]


def test_the_picture_of_a_cell_is_chosen_so_that_an_eighth_of_the_frames_differ() -> None:
    # One bright pixel walks over 16x16: 16 cells of 4x4 pixels each have the same share.
    frames = []
    for k in range(128):
        frame = np.zeros((16, 16), np.uint8)
        frame[k * 2 // 16, k * 2 % 16 + (k // 8) % 2] = 255
        frames.append(frame)
    chosen = choose_cells(frames, Novelty())
    cells = {chosen(frame) for frame in frames}
    assert 8 <= len(cells) <= 24
    given = choose_cells(frames, Novelty(width=5, height=3, levels=4))
    assert given == Pixels(5, 3, 4)


def test_random_play_of_a_seed_gives_the_same_cells_each_time() -> None:
    frames = [random_frames("KeyHallway", 50, seed) for seed in (3, 3, 4)]
    assert all((a == b).all() for a, b in zip(frames[0], frames[1], strict=True))
    assert any((a != b).any() for a, b in zip(frames[0], frames[2], strict=True))


def test_a_maze_of_cells_pays_for_what_looks_new() -> None:
    env = make_actor("KeyHallway", place=Pixels(21, 1, 4))
    env.reset(seed=0)
    right, left = [1] * 10, [0] * 10
    paid = [env.step(action)[4] for action in right + left]
    # To the key ten new cells; on the way back ten more, since the key is gone from the picture.
    assert [info["intrinsic"] for info in paid] == [1.0] * 20
    assert paid[-1]["tiles"] == 11


def test_a_frozen_actor_of_cells_goes_on_exactly() -> None:
    for place in (Pixels(), Hashed(16, 8)):
        one, other = (AtariActor("Freeway", place=place, half_life=5.0) for _ in range(2))
        one.reset(seed=1)
        other.reset(seed=2)
        for _ in range(5):
            one.step(1)
        other.restore(one.snapshot())
        for _ in range(5):
            seen, again = one.step(1), other.step(1)
            assert (seen[0] == again[0]).all()
            assert (seen[4]["intrinsic"], seen[4]["cell"]) == (
                again[4]["intrinsic"],
                again[4]["cell"],
            )


def test_a_learned_code_is_used_from_the_next_game_on() -> None:
    finder = CellFinder(Hashed(8, 8), (4, 4))
    frames = np.random.default_rng(0).integers(0, 256, (30, 4, 4), dtype=np.uint8)
    before = [finder.find(frame) for frame in frames]
    code = np.random.default_rng(1).standard_normal((8, 17)).astype(np.float32)
    finder.take_code(code)
    assert [finder.find(frame) for frame in frames] == before
    copy = CellFinder(Hashed(8, 8), (4, 4))
    copy.restore(finder.snapshot())
    finder.start_game()
    copy.start_game()
    after = [finder.find(frame) for frame in frames]
    assert after != before
    assert [copy.find(frame) for frame in frames] == after


def test_a_cells_number_is_that_of_the_signs_of_projections_worked_out_by_hand() -> None:
    projections = np.array([[1.0, 2.0], [-3.0, 1.0], [2.0, -2.0]])
    # Bits: is the left pixel brighter than 0.4, the right one brighter than the left?
    code = np.array([[1, 0, -0.4], [-1, 1, 0]], np.float32)
    find = HashPlace(code, (1, 2), 3)
    find._sums = projections  # instead of random ones
    signs = {
        (204, 51): [0, 0, 1],  # + -: 1 - 2, -3 - 1, 2 + 2
        (51, 204): [1, 1, 0],  # - +: -1 + 2, 3 + 1, -2 - 2
        (204, 255): [1, 0, 1],  # + +: 1 + 2, -3 + 1, 2 - 2, and 0 counts as +
        (51, 0): [0, 1, 1],  # - -: -1 - 2, 3 - 1, -2 + 2
    }
    for shades, expected in signs.items():
        byte = expected[0] << 7 | expected[1] << 6 | expected[2] << 5
        assert find(np.array([shades], np.uint8)) == cell_number(bytes([byte])), shades


def test_frames_and_cells_are_the_same_in_workers() -> None:
    settings: dict[str, Any] = {"place": Pixels(8, 8, 4), "frames": True, "num_envs": 3}
    pools = [make_vec("Freeway", workers=workers, **settings) for workers in (0, 2)]
    for pool in pools:
        pool.reset(seed=0)
    for _ in range(4):
        here, there = (pool.step(np.ones(3, np.int64)) for pool in pools)
        assert (here[0] == there[0]).all()
        for name in ("cell", "frame", "intrinsic"):
            assert (here[4][name] == there[4][name]).all(), name
        assert (here[4]["frame"] == here[0][:, 3]).all()
    for pool in pools:
        pool.close()


class Picture(gymnasium.Env[np.ndarray, int]):
    """A white column that moves by each action."""

    observation_space = gymnasium.spaces.Box(0, 255, (8, 8, 3), np.uint8)
    action_space = gymnasium.spaces.Discrete(2)

    def _observe(self) -> np.ndarray:
        image = np.zeros((8, 8, 3), np.uint8)
        image[:, self.x] = 255
        return image

    def reset(self, **_: Any) -> tuple[np.ndarray, dict[str, Any]]:  # type: ignore[override]
        self.x = 0
        return self._observe(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.x = (self.x + action) % 8
        return self._observe(), 0.0, False, False, {}


def test_any_image_environment_gets_cells_from_the_wrapper() -> None:
    env = deepcs.CuriosityWrapper(Picture(), place=deepcs.Pixels(4, 1, 2))
    env.reset()
    steps = [env.step(1) for _ in range(8)]
    # Columns 2, 4 and 6 begin a new pair of columns; the last step is back at the start.
    assert [step[4]["intrinsic"] for step in steps] == [0, 1, 0, 1, 0, 1, 0, 0]
    assert steps[0][0].shape == (8, 8, 4)


def test_a_function_of_ones_own_tells_places() -> None:
    env = deepcs.CuriosityWrapper(Picture(), place=lambda frame: int(frame[0].argmax()) // 4)
    env.reset()
    assert [env.step(1)[4]["intrinsic"] for _ in range(5)] == [0, 0, 0, 1, 0]


def test_cells_without_pixels_are_refused() -> None:
    with pytest.raises(ValueError, match="which have no pixels"):
        deepcs.CuriosityWrapper(gymnasium.make("CartPole-v1"), place="pixels")


def test_a_cell_picture_larger_than_the_frame_is_refused() -> None:
    with pytest.raises(ValueError, match="give a smaller picture"):
        make_actor("KeyHallway", place=Pixels(11, 8, 8))


@pytest.mark.parametrize("sides", [(43, 8), (8, 43), (43, 43)])
def test_neither_side_of_a_cell_picture_may_be_larger_than_the_frames(
    sides: tuple[int, int],
) -> None:
    with pytest.raises(ValueError, match="for frames of 42x42 pixels; give a smaller picture"):
        CellFinder(Pixels(*sides), (42, 42))
    assert CellFinder(Pixels(42, 42), (42, 42)).find(np.zeros((42, 42), np.uint8))


def test_every_game_of_the_emulator_is_a_world_without_positions() -> None:
    game = atari_game("frostbite")
    assert game is not None
    assert (game.name, game.is_located, game.locate(bytes(128))) == ("Frostbite", False, None)
    known = atari_game("Freeway")
    assert known is not None
    assert known.is_located
