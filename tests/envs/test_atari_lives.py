"""What an actor does when lives are lost and games end, and what its grid then keeps."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from playing import Spy, steps, until_life_lost

from deepcs.curiosity.grid import LIFETIMES
from deepcs.envs.atari import AtariActor

FIRE = 1


def test_a_life_lost_is_reported_and_changes_nothing_else(montezuma_game):
    _, played = montezuma_game
    losses = 0
    for (old, *_, was), (new, *_, now) in pairwise(played):
        assert now["life_lost"] == (0 < now["lives"] < was["lives"])
        if now["life_lost"]:
            losses += 1
            assert now["tiles"] >= was["tiles"] > 1
            assert now["score"] >= was["score"]
            np.testing.assert_array_equal(new[:3], old[1:4])
            assert new[4].any()
    assert losses == 5


def test_terminated_means_game_over_only(montezuma_game):
    actor, played = montezuma_game
    assert [terminated for _, _, terminated, _, _ in played].index(True) == len(played) - 1
    assert not any(truncated for _, _, _, truncated, _ in played)
    assert actor.ale.game_over()


def test_nothing_is_visited_on_the_terminal_step(montezuma_game):
    actor, played = montezuma_game
    assert actor.game.locate(actor.ale.getRAM()) is not None
    last, final = played[-2][4], played[-1][4]
    assert final["position"] is None
    assert final["intrinsic"] == 0
    assert final["tiles"] == last["tiles"]


def test_clear_stack_leaves_only_the_newest_frame_after_a_lost_life():
    actor = AtariActor("MontezumaRevenge", clear_stack=True)
    actor.reset(seed=0)
    *_, (observation, *_) = until_life_lost(actor)
    assert not observation[:3].any()
    assert observation[3].any()
    assert observation[4].any()


def test_fire_after_life_presses_fire_for_4_more_frames():
    actor = AtariActor("MontezumaRevenge", fire_after_life=True)
    actor.reset(seed=0)
    spy = Spy(actor)
    for _ in until_life_lost(actor):
        pass
    assert spy.acts[-8:-4] != [FIRE] * 4
    assert spy.acts[-4:] == [FIRE] * 4


def test_lifetime_life_forgets_the_tiles_at_a_lost_life():
    actor = AtariActor("MontezumaRevenge", lifetime="life")
    actor.reset(seed=0)
    *_, (_, *_, before), (observation, *_, info) = until_life_lost(actor)
    assert actor.explorer.grid.tiles == 0
    assert info["tiles"] >= before["tiles"] > 1  # the game's
    assert not observation[4].any()


def test_lifetime_never_keeps_the_tiles_through_games():
    actor = AtariActor("MontezumaRevenge", lifetime="never", max_frames=240)
    actor.reset(seed=0)
    *_, (before, _, _, truncated, last) = steps(actor, 100)
    observation, info = actor.reset()
    assert truncated
    assert actor.explorer.grid.tiles == last["tiles"] > 1
    assert info["tiles"] == 1  # the game's
    np.testing.assert_array_equal(observation[4], before[4])


def test_lifetime_game_starts_each_game_with_its_start_tile_only():
    actor = AtariActor("MontezumaRevenge", max_frames=240)
    actor.reset(seed=0)
    *_, (_, _, _, _, last) = steps(actor, 100)
    assert last["tiles"] > 1
    assert actor.reset()[1]["tiles"] == 1


def test_a_game_has_the_same_tiles_and_rooms_whatever_the_lifetime():
    ends = {}
    for lifetime in LIFETIMES:
        actor = AtariActor("MontezumaRevenge", lifetime=lifetime, tile=4, max_frames=1000)
        actor.reset(seed=0)
        ends[lifetime], lost = [], 0
        for game in range(2):
            played = list(steps(actor, 300, seed=game + 3))
            lost += sum(info["life_lost"] for *_, info in played)
            last = played[-1][4]
            ends[lifetime].append((last["tiles"], last["rooms"], last["rooms_visited"]))
            actor.reset()
        assert lost
    assert ends["life"] == ends["never"] == ends["game"]
    assert all(tiles > 10 and rooms == len(visited) for tiles, rooms, visited in ends["game"])


@pytest.mark.parametrize(
    "game", ["MontezumaRevenge", "Amidar", "WizardOfWor", "Venture", "Gravitar", "Pitfall"]
)
def test_the_intrinsic_sum_of_a_game_is_its_tiles_but_the_start_tile(game):
    actor = AtariActor(game, max_frames=2400)
    _, info = actor.reset(seed=1)
    assert info["intrinsic"] == 0
    played = list(steps(actor, 600, seed=1))
    tiles = played[-1][4]["tiles"]
    assert tiles > 2
    assert sum(info["intrinsic"] for *_, info in played) == tiles - 1


@pytest.mark.parametrize("game", ["Amidar", "WizardOfWor"])
def test_a_player_off_the_board_at_the_start_touches_nothing(game):
    actor = AtariActor(game, protocol="machado")
    observation, info = actor.reset(seed=0)
    assert (info["position"], info["tiles"]) == (None, 0)
    assert not observation[4].any()


def test_finishing_amidars_second_level_is_no_lost_life():
    actor = AtariActor("Amidar")
    actor.reset(seed=0)
    for level_and_lives in (0b1111, 0b0011):  # level 2, then 3, both with three lives
        actor.ale.setRAM(0xD6 - 0x80, level_and_lives)
        before = actor.ale.lives()
        info = actor.step(0)[4]
        assert actor.ale.lives() == level_and_lives
        assert not info["life_lost"]
    assert actor.ale.lives() < before


def test_a_life_lost_in_amidar_is_seen():
    actor = AtariActor("Amidar")
    actor.reset(seed=0)
    actor.step(0)
    actor.ale.setRAM(0xD6 - 0x80, actor.ale.getRAM()[0xD6 - 0x80] - 1)
    assert actor.step(0)[4]["life_lost"]
