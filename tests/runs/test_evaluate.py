"""Each game of an evaluation is its own: the same whoever plays it, beside which others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepcs.agents.a2c import A2CSettings
from deepcs.envs.atari import AtariActor
from deepcs.envs.make import make_actor
from deepcs.runs.config import RunConfig
from deepcs.runs.evaluate import BATCH, evaluate, new_game, play_games
from deepcs.runs.train import train
from deepcs.runs.trained import TrainedAgent, load_agent

GAMES = 20


def untrained(folder: Path, world: str, **settings: Any) -> TrainedAgent:
    """Plays nearly at random."""
    one = A2CSettings(n_steps=1)
    train(RunConfig(world, steps=1, actors=1, shards=1, learner=one, **settings), folder, workers=0)
    return load_agent(folder)


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> TrainedAgent:
    return untrained(tmp_path_factory.mktemp("cart"), "own_envs:cart_pole", treatment="plain")


@pytest.fixture(scope="module")
def freeway(tmp_path_factory: pytest.TempPathFactory) -> TrainedAgent:
    """Its games end after 60 raw frames."""
    folder = tmp_path_factory.mktemp("freeway")
    return untrained(folder, "Freeway", protocol="machado", max_frames=60)


def test_games_are_the_same_however_many_actors_and_processes_play_them(
    agent: TrainedAgent,
) -> None:
    games = play_games(agent, range(GAMES), seed=5, actors=16, workers=0)
    assert [game.number for game in games] == [*range(GAMES)]
    assert len({len(game.actions) for game in games}) > 9, "they end in another order"
    for actors, workers in ((1, 0), (4, 0), (16, 2)):
        assert games == play_games(agent, range(GAMES), seed=5, actors=actors, workers=workers)


def test_so_are_games_of_the_emulator_with_its_sticky_actions(freeway: TrainedAgent) -> None:
    games = play_games(freeway, range(5), seed=5, actors=5, workers=2)
    assert games == play_games(freeway, range(5), seed=5, actors=2, workers=0)


def test_a_game_is_known_by_its_number_alone(agent: TrainedAgent) -> None:
    games = play_games(agent, range(GAMES), seed=5, workers=0)
    assert play_games(agent, [17, 3], seed=5, workers=0) == [games[17], games[3]]
    assert evaluate(agent, games=6, seed=5, workers=0).games == tuple(
        game.record for game in games[:6]
    )
    assert play_games(agent, range(GAMES), seed=6, workers=0) != games


def test_a_game_is_what_its_seeds_say(freeway: TrainedAgent) -> None:
    """Sticky actions and the policy's draws, each from a seed of its own."""
    for game in play_games(freeway, range(2), seed=9, workers=0):
        world, policy = np.random.SeedSequence((9, game.number)).generate_state(2)
        env = make_actor("Freeway", **freeway.config.actor_settings())
        uniforms = np.random.default_rng(policy)
        observation, _ = env.reset(seed=int(world))
        batch = np.zeros((BATCH, *observation.shape), np.uint8)
        taken, over = [], False
        while not over:
            batch[7] = observation
            action = freeway.act_with(batch, np.full(BATCH, uniforms.random()))[7]
            observation, _, terminated, truncated, info = env.step(action)
            taken.append(int(action))
            over = terminated or truncated
        assert (taken, info["tiles"]) == (game.actions, game.tiles)
        assert game.record is not None
        assert (game.record.steps, game.record.tiles) == (len(taken), info["tiles"])


def test_a_hundred_games_have_a_hundred_seeds() -> None:
    games = [new_game(seed, number) for seed in (0, 1) for number in range(100)]
    assert len({game.world_seed for game in games}) == 200
    assert len({game.noise.random() for game in games}) == 200
    for game in games:  # the world's chance is not the policy's
        assert np.random.default_rng(game.world_seed).random() != game.noise.random()


def test_no_ops_of_a_hundred_games_take_nearly_all_their_values() -> None:
    actor = AtariActor("Freeway")
    frames = set()
    for number in range(100):
        actor.reset(seed=new_game(0, number).world_seed)
        frames.add(actor.ale.getEpisodeFrameNumber())
    assert len(frames) > 25
    assert frames <= set(range(1, 31))


def test_a_game_that_is_cut_off_makes_room_for_the_next(agent: TrainedAgent) -> None:
    games = play_games(agent, range(5), seed=5, max_steps=6, actors=2, workers=0)
    whole = play_games(agent, range(5), seed=5, workers=0)
    for cut, game in zip(games, whole, strict=True):
        assert cut.record is None
        assert cut.actions == game.actions[:6]


def test_greedy_games_differ_by_their_worlds_alone(agent: TrainedAgent) -> None:
    games = play_games(agent, range(4), seed=5, greedy=True, workers=0)
    assert games == play_games(agent, range(4), seed=5, greedy=True, actors=1, workers=0)
    for game in games:
        env = make_actor("own_envs:cart_pole")
        observation, _ = env.reset(seed=game.world_seed)
        assert agent.act(observation[None])[0] == game.actions[0]


@pytest.mark.parametrize("actors", [0, 17])
def test_actors_beyond_a_batch_are_refused(actors: int, agent: TrainedAgent) -> None:
    with pytest.raises(ValueError, match=f"Got {actors} actors; choose a number from 1 to 16"):
        play_games(agent, range(2), actors=actors)
