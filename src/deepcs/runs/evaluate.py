"""How good a policy is: many games with different seeds, the run itself untouched."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepcs.envs.seats import GameRecord
from deepcs.runs.folder import room_text
from deepcs.runs.trained import TrainedAgent
from deepcs.system.files import write_whole

EVALUATION_SEED = 1_000_003  # apart from the seeds that people train with
ACTORS = 16


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
    """Play that many games, each from its own seed and no-ops.

    Which games count is settled before the first step (game k is a given actor's), so that short
    games are not favoured.
    """
    if games < 1:
        raise ValueError(f"Got {games} games; give a whole number from 1 up.")
    actors = min(ACTORS, games)
    envs = agent.make_envs(actors, seed=seed, workers=workers)
    rng = np.random.default_rng(seed)
    wanted = [len(range(actor, games, actors)) for actor in range(actors)]
    done: list[list[GameRecord]] = [[] for _ in range(actors)]
    try:
        observations, _ = envs.reset()
        while any(len(mine) < n for mine, n in zip(done, wanted, strict=True)):
            actions = agent.act(observations, None if greedy else rng)
            observations, _, _, _, infos = envs.step(actions)
            for actor in np.flatnonzero(infos["_game"]) if "game" in infos else ():
                done[actor].append(infos["game"][actor])
    finally:
        envs.close()
    return Evaluation(tuple(done[k % actors][k // actors] for k in range(games)))


def save_evaluation(path: Path, evaluation: Evaluation) -> None:
    """One row per game."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["game", "score", "intrinsic", "tiles", "steps", "rooms"])
    for k, game in enumerate(evaluation.games):
        rooms = ";".join(map(room_text, game.rooms))
        writer.writerow([k, game.score, game.intrinsic, game.tiles, game.steps, rooms])
    write_whole(path, text.getvalue().encode())
