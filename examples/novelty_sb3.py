"""RND times this life's curiosity, for Stable-Baselines3's PPO in an Atari game.

python examples/novelty_sb3.py
"""

from stable_baselines3 import PPO

import deepcs


def main(game: str = "Venture", steps: int = 20_000, actors: int = 8, n_steps: int = 128) -> PPO:
    # R and I leave the actors apart (mix=False); RND looks at frames. A game whose positions
    # nobody knows takes place="pixels": cells of what its screen looks like.
    envs = deepcs.make_vec(game, num_envs=actors, mix=False, frames=True)
    novel = deepcs.NoveltyVectorWrapper(envs, "rnd", combine="product", weight="equal")
    model = PPO("CnnPolicy", deepcs.to_sb3(novel), n_steps=n_steps, batch_size=64, verbose=1)
    model.learn(steps)
    envs.close()
    return model


if __name__ == "__main__":
    main()
