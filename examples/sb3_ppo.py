"""Stable-Baselines3's PPO in a hallway, plain and curious: python sb3_ppo.py [STEPS] [SEED]

The key lies at the right end, the door at the left, and only the door pays: the player must find
the key, come back through visited cells, and go on to the door. Curiosity pays for each cell that
is new in a game, and shows which were visited. Needs `pip install 'deepcs[examples]'`.
"""

import sys
import warnings

import torch
from stable_baselines3 import PPO

from deepcs import make_vec, to_sb3

ACTORS = 16
SETTINGS = {
    "n_steps": 64,
    "batch_size": 256,
    "n_epochs": 4,
    "learning_rate": 1e-3,
    "ent_coef": 0.01,
    "policy_kwargs": {"net_arch": [64]},
}


def train(curious, steps, seed):
    """Train; returns the last info of every game."""
    games = []

    def note_games(scope, _):
        games.extend(info for info in scope["infos"] if "episode" in info)
        return True

    # Without curiosity the reward is R alone, and no grid is seen.
    chosen = {"mix": curious, "grid": "plane" if curious else "none"}
    envs = to_sb3(make_vec("KeyHallway", num_envs=ACTORS, seed=seed, workers=0, **chosen))
    PPO("MlpPolicy", envs, **SETTINGS, seed=seed, device="cpu").learn(steps, note_games)
    return games


def main():
    torch.set_num_threads(1)
    # The layout of an image one cell high is ambiguous; MlpPolicy takes either.
    warnings.filterwarnings("ignore", message="Treating image space")
    steps, seed = map(int, (*sys.argv[1:], *("130_000", "0")[len(sys.argv) - 1 :]))
    for curious in (False, True):
        games = train(curious, steps, seed)
        last = games[-100:]
        score = sum(info["episode"]["r"] for info in last) / max(len(last), 1)
        tiles = sum(info["tiles"] for info in last) / max(len(last), 1)
        print(
            f"{'curious' if curious else 'plain':8}{len(games):5} games; of the last {len(last)}: "
            f"mean score {score:.2f}, {tiles:.1f} tiles",
            flush=True,
        )


if __name__ == "__main__":
    main()
