"""What an actor does when lives are lost and games end, and what its grid then keeps."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from playing import LEFT, Spy, steps, until_life_lost

from deepcs.curiosity.grid import LIFETIMES
from deepcs.envs.atari import AtariActor

NOOP, FIRE, UP = 0, 1, 2
LIVES_OF_ALIEN = 0xC0


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


def baselines_player(game, *, meddle=None, **settings):
    """An actor under Baselines' protocol, its game begun, and what its emulator is told."""
    actor = AtariActor(game, protocol="baselines", **settings)
    actor.reset(seed=0)
    return actor, Spy(actor, meddle)


def test_baselines_starts_a_game_as_paper_does():
    acts = []
    for protocol in ("paper", "baselines"):
        actor = AtariActor("MontezumaRevenge", protocol=protocol)
        spy = Spy(actor)
        actor.reset(seed=4)
        acts.append(spy.acts)
    assert acts[0] == acts[1]


def test_baselines_goes_on_after_a_lost_life_with_no_action_fire_and_action_2():
    actor, spy = baselines_player("MontezumaRevenge")
    for _ in until_life_lost(actor):
        pass
    assert spy.acts[-16:] == [LEFT] * 4 + [NOOP] * 4 + [FIRE] * 4 + [UP] * 4
    assert set(spy.acts[:-12]) == {LEFT}
    actor.step(0)
    assert spy.acts[-8:] == [UP] * 4 + [NOOP] * 4


def test_baselines_only_waits_after_a_lost_life_in_a_game_without_fire():
    actor, spy = baselines_player("Tutankham")
    actor.ale.setRAM(0x9E - 0x80, actor.ale.getRAM()[0x9E - 0x80] - 1)
    assert actor.step(2)[4]["life_lost"]
    assert spy.acts == [actor.actions[2]] * 4 + [NOOP] * 4


@pytest.mark.parametrize("grid", ["plane", "stacked"])
def test_baselines_leaves_only_the_newest_frame_after_a_lost_life(grid):
    actor, _ = baselines_player("MontezumaRevenge", grid=grid)
    *_, (observation, *_) = until_life_lost(actor)
    assert not observation[:3].any()
    assert not observation[4:-1].any()
    np.testing.assert_array_equal(observation[-1], actor.explorer.plane)
    assert observation[3].any()


def test_baselines_points_after_a_lost_life_count_for_the_score_and_not_for_the_learner():
    # As it presses FIRE, the game's score becomes 100.
    actor, _ = baselines_player("MontezumaRevenge", meddle=(FIRE, 0x94, 0x01))
    *_, (_, reward, _, _, info) = until_life_lost(actor)
    assert (reward, info["game_reward"], info["score"]) == (0, 100, 100)
    _, reward, _, _, info = actor.step(0)
    assert (reward, info["game_reward"], info["score"]) == (0, 0, 100)


def test_a_game_may_end_in_what_baselines_does_after_a_lost_life():
    actor, spy = baselines_player("Alien", meddle=(FIRE, LIVES_OF_ALIEN, 0))
    actor.ale.setRAM(LIVES_OF_ALIEN - 0x80, 2)
    _, _, terminated, truncated, info = actor.step(UP)
    assert spy.acts == [UP] * 4 + [NOOP] * 4 + [FIRE]
    assert (terminated, truncated, info["life_lost"], info["lives"]) == (True, False, True, 0)
    assert info["rooms_visited"] == ((0, 0),)
    actor.ale.meddle = None
    assert actor.reset()[1]["lives"] == 3


def test_baselines_visits_nothing_between_a_lost_life_and_the_next_action():
    actor, _ = baselines_player("Alien", tile=1)
    for _ in range(40):
        info = actor.step(NOOP)[4]
    start, tiles = info["position"], info["tiles"]
    actor.ale.setRAM(LIVES_OF_ALIEN - 0x80, 2)
    info = actor.step(LEFT)[4]
    lost, stands = info["position"], actor.game.locate(actor.ale.getRAM().tobytes())
    assert start.x > lost.x > stands.x, "three more steps, in which the player walks on"
    assert (info["life_lost"], info["tiles"], info["intrinsic"]) == (True, tiles + 1, 1)
    info = actor.step(NOOP)[4]
    assert (info["tiles"], info["intrinsic"]) == (tiles + 2, 1)


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
