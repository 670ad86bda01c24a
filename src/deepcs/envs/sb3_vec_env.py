"""For Stable-Baselines3: our vector environments as its VecEnv, and curiosity around any VecEnv.

Importing this needs Stable-Baselines3, the extra `examples`.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import SyncVectorEnv, VectorEnv
from stable_baselines3.common.env_util import is_wrapped
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.preprocessing import is_image_space, is_image_space_channels_first
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvObs, VecEnvStepReturn

from deepcs.curiosity.explorer import Explorer
from deepcs.envs.locating import Locate
from deepcs.envs.parts import CuriousParts, Info, final_infos, split_infos
from deepcs.system.warning import DeepcsWarning


class VectorVecEnv(VecEnv):
    """A Gymnasium vector environment as a VecEnv; made by deepcs.to_sb3, which says more."""

    def __init__(self, envs: VectorEnv[Any, Any, Any]) -> None:
        check_images(envs.single_observation_space)
        self.envs = envs
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)
        self._seed: int | None = None  # of the next reset
        self._actions: Any = None
        self._began = np.zeros(self.num_envs)  # seconds, when each game did
        self._scores = np.zeros(self.num_envs)
        self._steps = np.zeros(self.num_envs, np.int64)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seed the next reset; actors' seeds are derived from it as by envs.reset(seed=...)."""
        self._seed = int(np.random.randint(2**32, dtype=np.uint32)) if seed is None else seed
        return [None] * self.num_envs

    def reset(self) -> VecEnvObs:
        """Start a game in every actor."""
        options = self._options[0]
        if any(other != options for other in self._options):
            raise NotImplementedError(
                "Got different options for the actors; a Gymnasium vector environment takes the "
                "same for all."
            )
        observations, infos = self.envs.reset(seed=self._seed, options=options or None)
        self._seed = None
        self._reset_options()
        self.reset_infos = list(split_infos(infos, self.num_envs))
        self._forget(np.ones(self.num_envs, np.bool_))
        return _own(observations)

    def _forget(self, ended: np.ndarray) -> None:
        self._began[ended] = time.perf_counter()
        self._scores[ended], self._steps[ended] = 0.0, 0

    def step_async(self, actions: np.ndarray) -> None:
        """Keep the actions for step_wait."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Step all actors."""
        observations, rewards, terminated, truncated, infos = self.envs.step(self._actions)
        ended = np.logical_or(terminated, truncated)
        told = list(split_infos(infos, self.num_envs))
        for index, (observation, last) in final_infos(infos, ended).items():
            self.reset_infos[index] = told[index]
            episode = {k: told[index][k] for k in ("episode",) if k in told[index]}
            told[index] = {**episode, **last, "terminal_observation": observation}
        for index, info in enumerate(told):
            info["TimeLimit.truncated"] = bool(truncated[index] and not terminated[index])
            self._scores[index] += info.get("game_reward", rewards[index])
        self._steps += 1
        for each in np.flatnonzero(ended):
            told[each].setdefault("episode", self._episode(int(each)))
        self._forget(ended)
        return _own(observations), np.asarray(rewards, np.float32), ended, told

    def _episode(self, index: int) -> Info:
        """A game's score, length and time, as Stable-Baselines3's Monitor tells them."""
        seconds = round(time.perf_counter() - self._began[index], 6)
        return {"r": float(self._scores[index]), "l": int(self._steps[index]), "t": seconds}

    def close(self) -> None:
        """Close all actors."""
        self.envs.close()

    def get_images(self) -> Sequence[np.ndarray | None]:
        """The picture of each actor."""
        images: Any = self.envs.render()
        return list(images)

    def has_attr(self, attr_name: str) -> bool:
        """Whether get_attr finds it."""
        try:
            self.get_attr(attr_name)
        except (AttributeError, NotImplementedError):
            return False
        return True

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """An attribute of the actors, where the vector environment can ask them."""
        if attr_name in ("render_mode", "spec"):  # of all the same
            return [getattr(self.envs, attr_name) for _ in self._get_indices(indices)]
        values = self._inside("get_attr", attr_name).get_attr(attr_name)
        return [values[index] for index in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set an attribute in all actors, where the vector environment can ask them."""
        inside = self._inside("set_attr", attr_name)
        self._refuse_some(indices, "set_attr")
        inside.set_attr(attr_name, value)

    def env_method(
        self,
        method_name: str,
        *method_args: Any,
        indices: VecEnvIndices = None,
        **method_kwargs: Any,
    ) -> list[Any]:
        """Call a method of all actors, where the vector environment can ask them."""
        inside = self._inside("env_method", method_name)
        self._refuse_some(indices, "env_method")
        return list(inside.call(method_name, *method_args, **method_kwargs))

    def env_is_wrapped(
        self,
        wrapper_class: type[gymnasium.Wrapper[Any, Any, Any, Any]],
        indices: VecEnvIndices = None,
    ) -> list[bool]:
        """Whether the actors have such a wrapper, as far as is known; Monitor always counts.

        Infos have what Monitor puts there, so evaluate_policy may take it from them.
        """
        chosen = list(self._get_indices(indices))
        if issubclass(wrapper_class, Monitor):
            return [True] * len(chosen)
        inner = self.envs.unwrapped
        if not isinstance(inner, SyncVectorEnv):
            return [False] * len(chosen)
        return [is_wrapped(inner.envs[index], wrapper_class) for index in chosen]

    def _inside(self, verb: str, name: str) -> Any:
        """The vector environment, if it can reach its actors."""
        inner: Any = self.envs.unwrapped
        if not hasattr(inner, "call"):
            raise NotImplementedError(
                f"Got {verb}({name!r}), but a {type(inner).__name__} cannot ask its actors, which "
                "may live in other processes; take what their infos say, or make the environments "
                "with Stable-Baselines3's DummyVecEnv."
            )
        return inner

    def _refuse_some(self, indices: VecEnvIndices, verb: str) -> None:
        if list(self._get_indices(indices)) != list(range(self.num_envs)):
            raise NotImplementedError(
                f"Got {verb} of some actors; a Gymnasium vector environment asks all: leave out "
                "indices."
            )


def check_images(space: gymnasium.Space[Any]) -> None:
    """Refuse images in a Dict that Stable-Baselines3 cannot take together; warn of small ones."""
    if not isinstance(space, gymnasium.spaces.Dict):
        return
    images = {
        name: part
        for name, part in space.spaces.items()
        if isinstance(part, gymnasium.spaces.Box) and is_image_space(part)
    }
    first = [name for name, part in images.items() if is_image_space_channels_first(part)]
    last = [name for name in images if name not in first]
    if first and last:
        raise ValueError(
            f"Got images with channels first ({', '.join(first)}) beside images with channels last "
            f"({', '.join(last)}), which Stable-Baselines3 cannot take together; wrap the "
            "environment in deepcs.ChannelsFirst."
        )
    sides = {name: part.shape[1:] if first else part.shape[:2] for name, part in images.items()}
    small = [
        f"{name} {high}x{wide}" for name, (high, wide) in sides.items() if min(high, wide) < 36
    ]
    if small:
        warnings.warn(
            f"Got images smaller than 36x36 ({', '.join(small)}), which Stable-Baselines3's "
            "MultiInputPolicy cannot take without a features extractor of your own; give a larger "
            "shape, or flatten them with gymnasium.wrappers.FlattenObservation.",
            DeepcsWarning,
            stacklevel=4,
        )


def _own(observations: Any) -> VecEnvObs:
    """Observations as Stable-Baselines3 has them: those of a Dict as a plain dict."""
    own: VecEnvObs = dict(observations) if isinstance(observations, dict) else observations
    return own


class VecCuriosity(VecEnvWrapper):
    """CuriosityWrapper for a VecEnv of Stable-Baselines3: a grid for each actor, the same rules.

    Where actors are made one by one, wrap each with deepcs.CuriosityWrapper instead: its `locate`
    then sees the actor itself. Here `locate(env, observation, info)` is given the actor's
    observation and info; `env.envs` is the VecEnv and `env.index` the actor's number.
    """

    def __init__(self, venv: VecEnv, *, locate: Locate | None = None, **settings: Any) -> None:
        """`locate`: where an actor is. `settings`: the other settings of CuriosityWrapper."""
        spaces = venv.observation_space, venv.action_space
        self._parts = CuriousParts(venv, venv.num_envs, spaces, locate, settings)
        super().__init__(venv, self._parts.observation_space)

    @property
    def explorers(self) -> tuple[Explorer, ...]:
        """Each actor's curiosity: its grid, tiles and rooms."""
        return self._parts.explorers

    def reset(self) -> VecEnvObs:
        """Start a game in every actor."""
        seen = self._parts.split(self.venv.reset())
        begun = [self._begin(index, each) for index, each in enumerate(seen)]
        return _own(self._parts.join(begun))

    def _begin(self, index: int, observation: Any) -> Any:
        """An actor's game began; returns what it is shown."""
        info = self.venv.reset_infos[index]
        shown, self.reset_infos[index] = self._parts.begin(index, observation, info)
        return shown

    def step_wait(self) -> VecEnvStepReturn:
        """Wait for the step, and locate the actors."""
        observations, rewards, ended, infos = self.venv.step_wait()
        paid = np.array(rewards, np.float32)
        shown = self._parts.split(observations)
        for index, info in enumerate(infos):
            last = info.get("terminal_observation", shown[index])
            cut = bool(info.get("TimeLimit.truncated", False))
            step = last, rewards[index], bool(ended[index]) and not cut, cut, info
            seen, paid[index], _, _, infos[index] = self._parts.step(index, step)
            if ended[index]:
                infos[index]["terminal_observation"] = seen
                seen = self._begin(index, shown[index])
            shown[index] = seen
        return _own(self._parts.join(shown)), paid, ended, infos
