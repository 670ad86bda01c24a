"""Train Stable-Baselines3's PPO with curiosity: ppo_with_curiosity.py [GAME] [STEPS]"""

import sys

import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.atari_wrappers import AtariWrapper
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecFrameStack

from deepcs import CuriosityWrapper

game = sys.argv[1] if len(sys.argv) > 1 else "MontezumaRevenge"
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
scores, tiles = [], []


def count_games(scope, _):
    for info in scope["infos"]:
        if "episode" in info:  # a whole game, all its lives: the raw score
            scores.append(info["episode"]["r"])
            tiles.append(info["tiles"])
    return True


envs = make_vec_env(
    f"ALE/{game}-v5",
    n_envs=8,
    seed=0,
    env_kwargs={"frameskip": 1, "repeat_action_probability": 0.0},
    wrapper_class=lambda env: CuriosityWrapper(AtariWrapper(env)),
)
settings = {"n_steps": 128, "batch_size": 256, "n_epochs": 4, "ent_coef": 0.01, "clip_range": 0.1}
model = PPO("CnnPolicy", VecFrameStack(envs, 4), **settings, seed=0, verbose=1)
model.learn(steps, callback=count_games)
print(f"{game}: {len(scores)} games, in the last 100:")
print(f"mean score {np.mean(scores[-100:]):.1f}, mean tiles {np.mean(tiles[-100:]):.1f}")
