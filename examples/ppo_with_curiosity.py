"""Stable-Baselines3's PPO (pip install it) with curiosity: ppo_with_curiosity.py [GAME] [STEPS]"""

import sys

from stable_baselines3 import PPO
from stable_baselines3.common.atari_wrappers import AtariWrapper
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecFrameStack

from deepcs import CuriosityWrapper

game, steps = (*sys.argv[1:], *("MontezumaRevenge", "1_000_000")[len(sys.argv) - 1 :])
games = []  # score and tiles of each whole game, all its lives


def count_games(scope, _):
    ended = [info for info in scope["infos"] if "episode" in info]
    games.extend((info["episode"]["r"], info["tiles"]) for info in ended)
    return True


emulator = {"frameskip": 1, "repeat_action_probability": 0.0}  # AtariWrapper skips frames
curious = {"wrapper_class": lambda env: CuriosityWrapper(AtariWrapper(env))}
envs = make_vec_env(f"ALE/{game}-v5", n_envs=8, seed=0, env_kwargs=emulator, **curious)
settings = {"n_steps": 128, "batch_size": 256, "n_epochs": 4, "ent_coef": 0.01, "clip_range": 0.1}
model = PPO("CnnPolicy", VecFrameStack(envs, 4), **settings, seed=0, verbose=1)
model.learn(int(steps), callback=count_games)
last = games[-100:] or [(float("nan"), float("nan"))]  # few steps may end no game
score, tiles = (sum(column) / len(last) for column in zip(*last, strict=True))
print(f"{game}, {len(games)} games, mean of the last 100: score {score:.1f}, tiles {tiles:.1f}")
