"""The picture of docs/novelty.md: what each kind of novelty pays over games of the hallway.

    python docs/images/novelty.py docs/images/novelty.png

One actor walks the same game over and over: from the middle to the key at the right, all the way to
the left, and idly about until the time is over. The first game is drawn, and the hundredth. The
picture's metadata have its numbers, so that a test can tell whether they are current.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import torch

from deepcs.agents.across import BatchNovelty, novelty_vectors
from deepcs.agents.bonus import Batch, run_alone
from deepcs.agents.visited import Visited
from deepcs.analysis.style import DPI, legend_above, new_figure, styled
from deepcs.envs.make import make_actor
from deepcs.runs.config import RunConfig
from deepcs.runs.novel import with_cells

GAMES = 100
TREATMENTS = (
    *("deepcs", "deepcs-pixels", "deepcs-hash", "fading"),
    *("counts", "pseudo-counts", "rnd", "hybrid"),
)
LEFT, RIGHT, IDLE = 0, 1, 2
GAME = [RIGHT] * 10 + [LEFT] * 19 + [RIGHT] * 10 + [LEFT] * 10 + [IDLE] * 10  # never at the door
STYLES = (  # thick and pale beneath thin and dark: told apart in grey, also where both are equal
    {"color": "#7FC4EE", "linewidth": 2.8, "solid_joinstyle": "miter"},
    {"color": "#7A2E00", "linewidth": 0.9},
)


def paid(treatment: str, games: int = GAMES) -> tuple[np.ndarray, np.ndarray]:
    """I of each step of the first game and of the last."""
    config = RunConfig("KeyHallway", treatment=treatment).resolved()
    settings = config.actor_settings()
    novelty = with_cells(config.novelty, config.world, 0, settings)
    env: Any = make_actor(
        "KeyHallway",
        **RunConfig("KeyHallway", treatment=treatment, novelty=novelty).actor_settings(),
        max_steps=len(GAME),
    )
    across = None
    if (batch := config.training().novelty) is not None:
        sizes = novelty_vectors(batch, env.frame_shape, 1)
        vectors = {name: torch.zeros(vector.size) for name, vector in sizes.items()}
        across = BatchNovelty(batch, Batch(0, 1, range(1), 1, 0, env.frame_shape, vectors))
        across.initialise()
    played = []
    for game in range(games):
        env.reset(seed=game)
        infos = [env.step(action)[4] for action in GAME]
        life = np.array([[info["intrinsic"]] for info in infos])
        if across is not None:
            cells = np.array([[info["cell"]] for info in infos], np.int64)
            frames = None
            if env.frame_shape is not None:
                frames = np.stack([info["frame"] for info in infos])[:, None]
            for t in range(0, len(GAME), 5):  # in rollouts of five steps, as A2C has them
                part = slice(t, t + 5)
                seen = Visited(cells[part], None if frames is None else frames[part])
                life[part], code = run_alone(across.pay(seen, life[part]))
                if code is not None:
                    env.take_code(code)
        played.append(life.ravel())
    return played[0], played[-1]


@styled
def main(out: str) -> None:
    figure = new_figure(height=5.4)
    grid = figure.subplots(len(TREATMENTS) // 2, 2, sharex=True, sharey=True)
    numbers = {}
    for axes, treatment in zip(grid.T.flat, TREATMENTS, strict=True):
        both = paid(treatment)
        numbers[treatment] = [rewards.round(3).tolist() for rewards in both]
        for rewards, style, label in zip(
            both, STYLES, ("first game", f"game {GAMES}"), strict=True
        ):
            steps = np.arange(1, len(rewards) + 1)
            axes.step(steps, rewards, where="mid", label=label, **style)
        axes.set_title(treatment, loc="left", fontsize=9)
        axes.set_ylim(-0.06, 1.08)
        for turn in (10, 29, 39, 49):
            axes.axvline(turn + 0.5, color="#cccccc", linewidth=0.6, zorder=0)
    for axes in grid[-1]:
        axes.set_xlabel("step: to the key | to the left | right | left | idle")
    for axes in grid[:, 0]:
        axes.set_ylabel("I", rotation=0, labelpad=8)
    legend_above(figure, grid[0, 0].get_lines()[:2])
    figure.savefig(out, dpi=DPI, metadata={"numbers": json.dumps(numbers)})


if __name__ == "__main__":
    main(*sys.argv[1:])
