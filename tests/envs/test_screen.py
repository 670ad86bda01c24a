"""The frame that only changed rows are worked out for equals the one of the whole screen."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from ale_py import ALEInterface, LoggerMode, roms
from hypothesis import given
from hypothesis import strategies as st

import deepcs
from deepcs.envs.screen import GREY, NOTHING, PAIR, shrink

ALEInterface.setLoggerMode(LoggerMode.Error)


def blank() -> tuple[np.ndarray, np.ndarray]:
    """Screens of which nothing is known, and a black frame."""
    return np.full(PAIR, NOTHING, np.uint8), np.zeros((84, 84), np.uint8)


def whole(screens: np.ndarray) -> np.ndarray:
    return cv2.resize(screens.max(axis=0), (84, 84), interpolation=cv2.INTER_AREA)


@pytest.mark.parametrize("name", deepcs.games())
def test_frames_of_play_equal_those_of_the_emulators_own_grey_screens(name):
    ale = ALEInterface()
    ale.loadROM(roms.get_rom_path(deepcs.game(name).rom))
    ale.reset_game()
    rng = np.random.default_rng(0)
    actions = ale.getLegalActionSet()
    shown, frame = blank()
    colours, greys = np.zeros((2, 2, 210, 160), np.uint8)
    for _ in range(300):
        action = actions[rng.integers(len(actions))]
        for last in range(2):
            ale.act(action)
            ale.getScreen(colours[last])
            ale.getScreenGrayscale(greys[last])
        if ale.game_over():
            ale.reset_game()
        shrink(colours, shown, frame)
        np.testing.assert_array_equal(frame, whole(greys))


@given(st.lists(st.tuples(st.integers(0, 209), st.integers(0, 159)), max_size=8), st.data())
def test_any_few_pixels_that_change_are_seen(pixels, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 100)))
    screens = 2 * rng.integers(128, size=(2, 210, 160)).astype(np.uint8)
    shown, frame = blank()
    shrink(screens, shown, frame)
    for row, column in pixels:
        screens[data.draw(st.integers(0, 1)), row, column] ^= 0xFE
    shrink(screens, shown, frame)
    np.testing.assert_array_equal(shown, screens)
    np.testing.assert_array_equal(frame, whole(GREY[screens]))


def test_a_forgotten_frame_is_made_whole():
    screens = np.zeros((2, 210, 160), np.uint8) + np.uint8(14)
    shown, frame = blank()
    shrink(screens, shown, frame)
    frame[:] = 0
    shrink(screens, shown, frame)
    assert not frame.any()
    shown[:] = NOTHING
    shrink(screens, shown, frame)
    assert (frame == 0xEC).all()


def test_rows_outside_those_that_changed_are_left_alone():
    screens = np.zeros((2, 210, 160), np.uint8)
    shown, frame = blank()
    shrink(screens, shown, frame)
    frame[:] = 1
    screens[0, 50, 7] = screens[1, 69, 150] = 14
    shrink(screens, shown, frame)
    assert (frame[:20] == 1).all()
    assert not (frame[20:28] == 1).all(axis=1).any()
    assert (frame[28:] == 1).all()
