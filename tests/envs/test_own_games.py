"""A game of one's own wherever a world is expected, in worker processes too."""

from __future__ import annotations

import gymnasium
import numpy as np
import own_games
import pytest
from own_games import HERO

import deepcs
from deepcs import Bounds, CuriosityWrapper, Game, Screen
from deepcs.envs.atari import AtariActor
from deepcs.envs.make import make_actor
from deepcs.envs.roms import rom_names


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Game:
    monkeypatch.setattr("deepcs.curiosity.games._registered", {})
    monkeypatch.setattr("deepcs.system.first._calls", {})
    return deepcs.register_game(HERO)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_registered_game_is_played_by_name_here_and_in_workers(
    registered: Game, workers: int
) -> None:
    envs = deepcs.make_vec("hero", num_envs=2, workers=workers)
    observations, infos = envs.reset(seed=0)
    for _ in range(20):
        observations, _, _, _, infos = envs.step(np.array([0, 3]))
    envs.close()
    assert observations.shape == (2, 5, 84, 84)
    assert infos["tiles"].min() >= 1


def test_a_wrapper_in_a_worker_knows_a_game_that_only_the_parent_registered(
    registered: Game,
) -> None:
    def make() -> gymnasium.Env[object, object]:
        return CuriosityWrapper(gymnasium.make("ALE/Hero-v5", obs_type="grayscale"))

    envs = deepcs.make_vec(make, num_envs=1, workers=1)
    _, infos = envs.reset(seed=0)
    envs.close()
    assert infos["tiles"].tolist() == [1]


def test_the_game_itself_does_for_its_name() -> None:
    position = AtariActor(HERO).reset(seed=3)[1]["position"]
    assert make_actor(HERO).reset(seed=3)[1]["position"] == position
    assert make_actor("own_games:HERO").reset(seed=3)[1]["position"] == position
    envs = deepcs.make_vec(HERO, num_envs=1, workers=0)
    assert envs.single_action_space.n == 18
    envs.close()


def test_what_is_neither_game_nor_factory_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^Got 'own_games:NO_GAME', which is 'Hero'; give "):
        make_actor("own_games:NO_GAME")
    with pytest.raises(ValueError, match=r"^Got 'own_games:ZERO', but module 'own_games' has no "):
        make_actor("own_games:ZERO")
    assert own_games.NO_GAME == "Hero"


def test_a_game_of_ale_py_that_nobody_added_says_how_to_add_it() -> None:
    with pytest.raises(ValueError, match=r"^Got 'Hero', .*`deepcs find-position Hero` helps"):
        make_actor("hero")


def game_of(name: str) -> Game:
    return Game(name, 0x80, 0x81, Bounds(0, 0, 160, 210), Screen(1, 0, 1, 0))


def test_every_game_of_ale_py_is_found_under_gymnasiums_name() -> None:
    assert len(rom_names()) == 104
    assert {game_of(name).rom for name in rom_names()} == set(rom_names().values())


@pytest.mark.parametrize("name", ["Hiro", "Combat"])
def test_a_game_without_a_rom_for_one_player_is_refused_in_one_sentence(name: str) -> None:
    with pytest.raises(ValueError, match=f"^Got game '{name}', which ale-py cannot play alone;"):
        AtariActor(game_of(name))


def test_a_screen_that_frames_are_not_made_of_is_refused_in_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"^Got Pooyan, whose screen is 220 rows high where "):
        AtariActor(game_of("Pooyan"))
