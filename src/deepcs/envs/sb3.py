"""For Stable-Baselines3, which is imported only when this is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gymnasium.vector import AutoresetMode, VectorEnv

if TYPE_CHECKING:
    from deepcs.envs.sb3_vec_env import VectorVecEnv


def to_sb3(envs: VectorEnv[Any, Any, Any]) -> VectorVecEnv:
    """A Gymnasium vector environment, such as deepcs.make_vec gives, as Stable-Baselines3's VecEnv.

    It must start the next game in the step in which one ends, as make_vec's do; make others
    with autoreset_mode=AutoresetMode.SAME_STEP. Infos are those of the actors; where a game ended,
    its last info, with `terminal_observation`, `TimeLimit.truncated` and, as Stable-Baselines3's
    Monitor has it, `episode`: the game's own reward summed (r), steps (l) and seconds (t). So
    `rollout/ep_rew_mean` and evaluate_policy tell the score, not the mixed reward.

    >>> import deepcs
    >>> envs = to_sb3(deepcs.make_vec("MontezumaRevenge", num_envs=2, workers=0))
    >>> envs.reset().shape, envs.observation_space.shape
    ((2, 5, 84, 84), (5, 84, 84))
    """
    if not isinstance(envs, VectorEnv):
        raise ValueError(
            f"Got {type(envs).__name__}; give a Gymnasium vector environment, such as "
            "deepcs.make_vec(...) makes."
        )
    mode = envs.metadata.get("autoreset_mode")
    if mode is not AutoresetMode.SAME_STEP:
        named = mode.name if isinstance(mode, AutoresetMode) else repr(mode)
        raise ValueError(
            f"Got a vector environment of autoreset mode {named}; Stable-Baselines3 needs the next "
            "game in the step in which one ends: make it with "
            "autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP."
        )
    if not getattr(envs.unwrapped, "copy", True):
        raise ValueError(
            "Got a vector environment of copy=False, whose next step would overwrite what "
            "Stable-Baselines3 still needs; leave out copy=False."
        )
    try:
        from deepcs.envs.sb3_vec_env import VectorVecEnv
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("stable_baselines3"):
            raise
        raise ImportError(
            "to_sb3 needs Stable-Baselines3, which is not installed; pip install "
            "'deepcs[examples]' brings it."
        ) from error
    return VectorVecEnv(envs)
