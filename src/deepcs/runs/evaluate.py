"""Evaluation of a policy: many games, each with its own seed, without changing the run.

Game k of a seed is always the same game, whichever others are played beside it: its world and its
action noise are seeded by (seed, k), and the network's batch always has the same size, because the
rounding of its results depends on it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deepcs.envs.seats import GameRecord
from deepcs.runs.logs import room_text
from deepcs.runs.numbering import EVALUATION_SEED, game_seeds
from deepcs.runs.trained import TrainedAgent
from deepcs.system import limits
from deepcs.system.files import write_whole
from deepcs.system.limits import check_whole

EVALUATION_FORMAT = 2  # how games are numbered and seeded; 1: sixteen streams (deepcs 0.1)
BATCH = 16  # observations in the network's batch; the most actors


@dataclass
class PlayedGame:
    """A game of an agent, under way or over."""

    number: int
    """k: which of its seed's games"""
    world_seed: int
    """of the world's randomness: no-ops, sticky actions"""
    noise: np.random.Generator = field(repr=False, compare=False)
    """one number for each action drawn"""
    actions: list[Any] = field(default_factory=list)
    """all that were sent; with `world_seed` they give the game again"""
    score: float = 0.0
    tiles: int = 0
    record: GameRecord | None = None
    """None: truncated before its end"""


def new_game(seed: int, number: int) -> PlayedGame:
    """Game k of a seed, not yet begun; no two share a seed, nor a world and its policy."""
    return PlayedGame(number, *game_seeds(seed, number))


def play_games(
    agent: TrainedAgent,
    numbers: Sequence[int],
    *,
    seed: int = EVALUATION_SEED,
    greedy: bool = False,
    max_steps: int | None = None,
    actors: int = BATCH,
    workers: int | None = None,
    tell: Callable[[int], None] | None = None,
) -> list[PlayedGame]:
    """Play these games of a seed; an actor whose game is over takes the next.

    All of them are played to their end, so that short games are not favoured. greedy: take the
    likeliest action instead of drawing from the policy. max_steps: after which a game is truncated;
    None: never. actors, workers: how many play side by side, in how many processes; the games are
    the same. tell: called after each step with the number of steps played so far, of all games.
    """
    if not 1 <= actors <= BATCH:
        raise ValueError(f"Got {actors} actors; choose a number from 1 to {BATCH}.")
    check_whole("seed {}", seed, 0, limits.SEED)
    envs = agent.make_envs(min(actors, len(numbers)), seed=seed, workers=workers)
    try:
        games = [new_game(seed, number) for number in numbers]
        seats: list[PlayedGame | None] = [*games[: envs.num_envs]]
        waiting = iter(games[envs.num_envs :])
        observations, _ = envs.reset(seed=[game.world_seed for game in games[: envs.num_envs]])
        agent.forget()
        while any(seats):
            actions = _choose(agent, observations, seats, greedy)
            observations, _, _, _, infos = envs.step(actions)
            begins: list[int | None] = [None] * len(seats)
            ended = np.zeros(BATCH, np.bool_)
            for seat, game in enumerate(seats):
                if game is None:
                    continue
                game.actions.append(actions[seat].copy())
                if _is_over(game, seat, infos) or len(game.actions) == max_steps:
                    ended[seat] = True
                    following = seats[seat] = next(waiting, None)
                    begins[seat] = None if following is None else following.world_seed
            if tell is not None:
                tell(sum(len(game.actions) for game in games))
            agent.forget(ended)
            mask = np.array([begin is not None for begin in begins])
            if mask.any():
                observations, _ = envs.reset(seed=begins, options={"reset_mask": mask})
    finally:
        envs.close()
    return games


def _choose(
    agent: TrainedAgent, observations: Any, seats: Sequence[PlayedGame | None], greedy: bool
) -> np.ndarray:
    """An action for each actor: the likeliest, or drawn with its game's noise."""
    shown = _padded(observations)
    if greedy:
        likeliest: np.ndarray = agent.act(shown)
        return likeliest[: len(seats)]
    uniforms = np.zeros((BATCH, *agent.noise_shape))
    for seat, game in enumerate(seats):
        if game is not None:
            uniforms[seat] = game.noise.random(agent.noise_shape)
    return agent.act_with(shown, uniforms)[: len(seats)]


def _padded(observations: Any) -> Any:
    """Padded to a whole batch."""
    if isinstance(observations, dict):
        return {name: _padded(part) for name, part in observations.items()}
    if len(observations) == BATCH:
        return observations
    whole = np.zeros((BATCH, *observations.shape[1:]), observations.dtype)
    whole[: len(observations)] = observations
    return whole


def _is_over(game: PlayedGame, seat: int, infos: dict[str, Any]) -> bool:
    """Record the game's state after a step; returns whether that was its last."""
    if "game" in infos and infos["_game"][seat]:
        record: GameRecord = infos["game"][seat]
        game.record, game.score, game.tiles = record, record.score, record.tiles
        return True
    game.score, game.tiles = float(infos["score"][seat]), int(infos["tiles"][seat])
    return False


@dataclass(frozen=True)
class Evaluation:
    """Games of one policy, in order of their number."""

    games: tuple[GameRecord, ...]

    @property
    def scores(self) -> np.ndarray:
        return np.array([game.score for game in self.games])

    @property
    def tiles(self) -> np.ndarray:
        return np.array([game.tiles for game in self.games])

    @property
    def rooms(self) -> np.ndarray:
        return np.array([len(game.rooms) for game in self.games])


def evaluate(
    agent: TrainedAgent,
    *,
    games: int = 100,
    seed: int = EVALUATION_SEED,
    greedy: bool = False,
    workers: int | None = None,
) -> Evaluation:
    """Play that many games, numbers 0, 1, 2 and so on, each from its own seed and no-ops."""
    check_whole("{} games", games, 1, limits.GAMES)
    played = play_games(agent, range(games), seed=seed, greedy=greedy, workers=workers)
    return Evaluation(tuple(game.record for game in played if game.record is not None))


def save_evaluation(path: Path, evaluation: Evaluation) -> None:
    """One row per game."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["game", "score", "intrinsic", "tiles", "steps", "rooms"])
    for k, game in enumerate(evaluation.games):
        rooms = ";".join(map(room_text, game.rooms))
        writer.writerow([k, game.score, game.intrinsic, game.tiles, game.steps, rooms])
    write_whole(path, text.getvalue().encode())
