"""Shared counts for Gymnasium environments: what is new to all of them, over all of training.

python examples/novelty_gymnasium.py
"""

import gymnasium
import numpy as np

import deepcs


def make() -> gymnasium.Env:
    env = gymnasium.make("CliffWalking-v1")
    # Twelve columns; the grid is not shown, so that observations stay as they are.
    return deepcs.CuriosityWrapper(
        env, locate=lambda env, cell, info: (cell % 12, cell // 12), grid=False, mix=False
    )


def main(steps: int = 2_000) -> float:
    same_step = gymnasium.vector.AutoresetMode.SAME_STEP
    envs = gymnasium.vector.SyncVectorEnv([make] * 8, autoreset_mode=same_step)
    envs = deepcs.NoveltyVectorWrapper(envs, "counts", weight="sum:0.1")
    envs.reset(seed=0)
    rng, paid = np.random.default_rng(0), []
    for _ in range(steps // 8):  # your learner goes here
        *_, infos = envs.step(rng.integers(0, 4, 8))
        paid.append(infos["intrinsic"].mean())
    print(f"first tenth {np.mean(paid[: len(paid) // 10]):.3f}, last {np.mean(paid[-25:]):.3f}")
    return float(np.mean(paid[-25:]))


if __name__ == "__main__":
    main()
