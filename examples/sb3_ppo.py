"""Stable-Baselines3's PPO in MountainCar, plain and curious: python sb3_ppo.py [STEPS]

The car must swing to get up the hill, and is paid −1 a step until it is there: nothing says that
swinging is good. Curiosity pays for each new pair of place and speed in a game.
Needs `pip install 'deepcs[examples]'`.
"""

import sys

import gymnasium
import torch
from stable_baselines3 import PPO

from deepcs import Bounds, CuriosityWrapper, make_vec, to_sb3

ACTORS = 16
SETTINGS = {"n_steps": 128, "batch_size": 256, "n_epochs": 4, "ent_coef": 0.01}


def make_car(curious):
    """MountainCar; a curious one is paid R + I, one that is not R alone."""
    return CuriosityWrapper(
        gymnasium.make("MountainCar-v0"),
        locate=lambda env, observation, info: observation,  # position and velocity
        bounds=Bounds(-1.2, -0.07, 1.8, 0.14),
        tile=(0.1, 0.01),
        grid=False,  # what it sees of itself is enough
        mix=curious,
    )


def train(curious, steps, seed=0):
    """Train; returns the last info of every game."""
    games = []

    def note_games(scope, _):
        games.extend(info for info in scope["infos"] if "episode" in info)
        return True

    envs = to_sb3(make_vec(lambda: make_car(curious), num_envs=ACTORS, seed=seed, workers=0))
    PPO("MlpPolicy", envs, **SETTINGS, seed=seed, device="cpu").learn(steps, note_games)
    return games


def main():
    torch.set_num_threads(1)
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    for curious in (False, True):
        games = train(curious, steps)
        last = games[-100:]
        flags = sum(not info["TimeLimit.truncated"] for info in last)
        tiles = sum(info["tiles"] for info in last) / max(len(last), 1)
        print(
            f"{'curious' if curious else 'plain':8}{len(games):5} games; of the last {len(last)}, "
            f"{flags} reached the flag; {tiles:.0f} tiles a game",
            flush=True,
        )


if __name__ == "__main__":
    main()
