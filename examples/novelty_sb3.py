"""RND times novelty in this game, for Stable-Baselines3's PPO in an Atari game.

python examples/novelty_sb3.py
"""

from stable_baselines3 import PPO

import deepcs


def main(game: str = "Venture", steps: int = 20_000, actors: int = 8, n_steps: int = 128) -> PPO:
    # Actors return R and I separately (mix=False); RND needs frames. A game without known
    # positions takes place="pixels": cells of frames that look alike.
    envs = deepcs.to_sb3(deepcs.make_vec(game, num_envs=actors, mix=False, frames=True))
    envs = deepcs.VecNovelty(envs, "rnd", combine="product", weight="equal")
    model = PPO("CnnPolicy", envs, n_steps=n_steps, batch_size=64, verbose=1)
    model.learn(steps)
    envs.close()
    return model


if __name__ == "__main__":
    main()
