"""Novelty across training around vector environments."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from stable_baselines3.common.vec_env import DummyVecEnv

import deepcs
from deepcs import VecCuriosity, VecNovelty
from deepcs.agents.vector import NoveltyVectorWrapper

RIGHT, IDLE = 1, 2


def hallway(across: Any, **settings: Any) -> NoveltyVectorWrapper:
    envs = deepcs.make_vec("KeyHallway", num_envs=2, workers=0, mix=False, frames=True)
    wrapped = NoveltyVectorWrapper(envs, across, **settings)
    wrapped.reset(seed=0)
    return wrapped


def test_counts_are_shared_by_all_actors() -> None:
    envs = hallway("counts")
    rewards = [envs.step(np.array(actions))[1] for actions in ((RIGHT, RIGHT), (IDLE, RIGHT))]
    # Both enter the tile at once: N is 2; who stays there makes it 3.
    assert np.array(rewards) == pytest.approx(np.array([[2**-0.5] * 2, [3**-0.5, 1.0]]))


def test_a_product_pays_only_first_touches() -> None:
    envs = hallway("counts", combine="product")
    envs.step(np.array([RIGHT, RIGHT]))
    _, rewards, _, _, infos = envs.step(np.array([IDLE, RIGHT]))
    assert rewards.tolist() == [0.0, 1.0]
    assert infos["across"] == pytest.approx(np.array([3**-0.5, 1.0]))


@pytest.mark.parametrize("across", ["counts", "pseudo-counts", "rnd"])
def test_what_was_saved_pays_on_alike(across: str) -> None:
    one, other = hallway(across), hallway(across)
    actions = np.random.default_rng(0).integers(0, 4, (20, 2))
    for each in actions[:10]:
        one.step(each)
        other.env.step(each)
    other.load(one.state())
    for each in actions[10:]:
        assert (one.step(each)[1] == other.step(each)[1]).all()


class Line(gymnasium.Env[np.ndarray, int]):
    """Every step is one to the right; two of them are a game."""

    observation_space = gymnasium.spaces.Box(0, 9, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, **_: Any) -> Any:  # type: ignore[override]
        self.x = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: int) -> Any:
        self.x += 1
        return np.full(1, self.x, np.float32), 0.0, self.x == 2, False, {}


def cell(env: Any, seen: Any, info: Any) -> tuple[float, int]:
    return seen[0], 0


def curious_line() -> gymnasium.Env[Any, Any]:
    return deepcs.CuriosityWrapper(Line(), locate=cell, grid=False, mix=False)


def test_the_last_step_of_a_game_is_paid_by_where_it_led() -> None:
    same_step = gymnasium.vector.AutoresetMode.SAME_STEP
    envs = NoveltyVectorWrapper(
        gymnasium.vector.SyncVectorEnv([curious_line], autoreset_mode=same_step)
    )
    envs.reset(seed=0)
    paid = [float(envs.step(np.array([0]))[1][0]) for _ in range(4)]
    assert paid == pytest.approx([1, 1, 2**-0.5, 2**-0.5])


@pytest.mark.parametrize("inside", ["each", "all"])
def test_around_stable_baselines3s_own_vec_env_counts_are_shared_too(inside: str) -> None:
    if inside == "each":
        venv: Any = DummyVecEnv([curious_line] * 2)
    else:
        venv = VecCuriosity(DummyVecEnv([Line] * 2), locate=cell, grid=False, mix=False)
    envs = VecNovelty(venv, "counts", combine="sum", weight="sum:0.5")
    envs.reset()
    steps = [envs.step(np.array([0, 0])) for _ in range(4)]
    # Both actors enter 1, then 2, where their games end, then both once more: N is 2, 2, 4, 4.
    # Each tile is a first touch of its game too, which adds 1.
    across = [2**-0.5, 2**-0.5, 0.5, 0.5]
    assert [infos[1]["across"] for *_, infos in steps] == pytest.approx(across)
    assert [infos[1]["intrinsic"] for *_, infos in steps] == pytest.approx([1 + n for n in across])
    for (_, rewards, _, _), n in zip(steps, across, strict=True):
        assert rewards == pytest.approx(np.full(2, 0.5 * (1 + n)))
    assert [bool(ended[0]) for _, _, ended, _ in steps] == [False, True, False, True]


@pytest.mark.parametrize("across", ["counts", "pseudo-counts", "rnd"])
@pytest.mark.parametrize("combine", ["across", "product", "sum"])
def test_a_vec_env_is_paid_what_a_gymnasium_vector_environment_is(
    across: Any, combine: str
) -> None:
    def pool() -> Any:
        return deepcs.make_vec("KeyHallway", num_envs=2, workers=0, mix=False, frames=True)

    gym = NoveltyVectorWrapper(pool(), across, combine=combine, weight="equal", seed=3)
    sb3 = VecNovelty(deepcs.to_sb3(pool()), across, combine=combine, weight="equal", seed=3)
    gym.reset(seed=0)
    sb3.seed(0)
    sb3.reset()
    ends = 0
    for actions in np.random.default_rng(0).integers(0, 4, (170, 2)):  # a game has 160 steps
        _, rewards, terminated, truncated, infos = gym.step(actions)
        _, paid, ended, told = sb3.step(actions)
        assert (paid == rewards.astype(np.float32)).all()
        assert [info["across"] for info in told] == infos["across"].tolist()
        assert [info["intrinsic"] for info in told] == infos["intrinsic"].tolist()
        assert (ended == (terminated | truncated)).all()
        ends += int(ended.sum())
    assert ends == 2
    saved = gym.state()
    assert saved.keys() == sb3.state().keys()
    assert all((saved[name] == array).all() for name, array in sb3.state().items())


def test_a_vec_env_goes_on_from_what_was_saved() -> None:
    one, other = (VecNovelty(DummyVecEnv([curious_line])) for _ in range(2))
    for envs in (one, other):
        envs.reset()
    one.step(np.array([0]))
    other.load(one.state())
    assert other.step(np.array([0]))[1] == pytest.approx([2**-0.5])


def test_what_cannot_be_paid_is_refused() -> None:
    with pytest.raises(ValueError, match="choose one of counts, pseudo-counts, rnd"):
        hallway("none")
    envs = gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync")
    wrapped = NoveltyVectorWrapper(envs, "rnd")
    wrapped.reset(seed=0)
    with pytest.raises(ValueError, match="Got infos without 'frame', which rnd needs"):
        wrapped.step(np.array([0, 1]))
    plain = VecNovelty(DummyVecEnv([Line]), "counts")
    plain.reset()
    with pytest.raises(ValueError, match="Got infos without 'cell', which counts needs"):
        plain.step(np.array([0]))


class Image(gymnasium.Env[np.ndarray, int]):
    """A white column that moves."""

    observation_space = gymnasium.spaces.Box(0, 255, (6, 6), np.uint8)
    action_space = gymnasium.spaces.Discrete(2)

    def _seen(self) -> np.ndarray:
        seen = np.zeros((6, 6), np.uint8)
        seen[:, self.x % 6] = 255
        return seen

    def reset(self, **_: Any) -> Any:  # type: ignore[override]
        self.x = 0
        return self._seen(), {}

    def step(self, action: int) -> Any:
        self.x += 1
        return self._seen(), 0.0, self.x == 10, False, {}


def unlocated(kind: str) -> Any:
    """Actors with frames, of which nothing tells where they are."""
    if kind == "game":
        settings: Any = {"grid": "none", "frames": True, "mix": False}
        return deepcs.make_vec("Frostbite", num_envs=2, workers=0, **settings)

    def make() -> gymnasium.Env[Any, Any]:
        return deepcs.CuriosityWrapper(Image(), grid=False, frames=True, mix=False)

    if kind == "function":
        return deepcs.make_vec(make, num_envs=2, workers=0)
    same_step = gymnasium.vector.AutoresetMode.SAME_STEP
    return gymnasium.vector.SyncVectorEnv([make] * 2, autoreset_mode=same_step)


@pytest.mark.parametrize("kind", ["game", "function", "vector"])
@pytest.mark.parametrize(
    ("settings", "who"),
    [
        ({"across": "counts"}, "counts"),
        ({"across": "rnd", "combine": "product"}, "combine 'product'"),
        ({"across": "pseudo-counts", "combine": "sum"}, "combine 'sum'"),
    ],
)
def test_what_goes_by_places_is_refused_where_nothing_tells_them(
    kind: str, settings: dict[str, Any], who: str
) -> None:
    envs = NoveltyVectorWrapper(unlocated(kind), **settings)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=f"^Got infos without 'cell', which {who} needs, because"):
        envs.step(np.zeros(2, np.int64))
    venv = VecNovelty(deepcs.to_sb3(unlocated(kind)), **settings)
    venv.reset()
    with pytest.raises(ValueError, match=f"^Got infos without 'cell', which {who} needs, because"):
        venv.step(np.zeros(2, np.int64))


@pytest.mark.parametrize("across", ["pseudo-counts", "rnd"])
def test_what_goes_by_frames_alone_is_paid_where_nothing_tells_places(across: Any) -> None:
    envs = NoveltyVectorWrapper(unlocated("vector"), across)
    envs.reset(seed=0)
    assert sum(float(envs.step(np.zeros(2, np.int64))[1].sum()) for _ in range(4)) > 0


def test_a_plane_that_would_stay_black_is_refused() -> None:
    for grid in (True, "beside"):
        with pytest.raises(ValueError, match=r"^Got grid .* for Image, where nothing tells where"):
            deepcs.CuriosityWrapper(Image(), grid=grid, frames=True)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="for AtariEnv, where nothing tells where the player is"):
        deepcs.CuriosityWrapper(gymnasium.make("ALE/Pong-v5"), frames=True)
    _, info = deepcs.CuriosityWrapper(Image(), place="pixels", frames=True).reset()
    assert info["cell"] > 0


def test_each_wrapper_names_the_other_for_the_other_kind_of_vector_environment() -> None:
    venv: Any = DummyVecEnv([curious_line])
    with pytest.raises(ValueError, match=r"^Got DummyVecEnv; .* in deepcs\.VecNovelty\.$"):
        NoveltyVectorWrapper(venv)
    envs: Any = gymnasium.vector.SyncVectorEnv([curious_line])
    with pytest.raises(ValueError, match=r"^Got SyncVectorEnv; .*deepcs\.to_sb3\(\.\.\.\) makes"):
        VecNovelty(envs)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"place": "hash"}, "Got place 'hash', which has no effect on what all actors share"),
        ({"lifetime": "life"}, "Got lifetime 'life', which has no effect on what all"),
        ({"lifetime": "fading", "half_life": 9}, "Got lifetime 'fading', which has no effect"),
        ({"half_life": 9.0}, "Got half_life 9.0, which has no effect .* deepcs.CuriosityWrapper"),
        ({"width": 8}, "Got width 8, which has no effect"),
        ({"graded": True}, "Got setting 'graded'; choose from combine, life_weight"),
        ({"rnd_gamma": 0.9}, "Got novelty.rnd_gamma 0.9, which has no effect without"),
    ],
)
def test_a_setting_without_effect_is_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=rf"^{sentence}.*\.$"):
        hallway("counts", **settings)
    with pytest.raises(ValueError, match=rf"^{sentence}.*\.$"):
        VecNovelty(DummyVecEnv([curious_line]), "counts", **settings)


def test_without_stable_baselines3_its_wrappers_say_what_to_install_and_the_rest_works() -> None:
    code = (
        "import sys; sys.modules['stable_baselines3'] = None\n"
        "import deepcs\n"
        "from deepcs import *\n"
        "print([name for name in dir(deepcs) if name.startswith('Vec')])\n"
        "for name in ('VecCuriosity', 'VecNovelty'):\n"
        "    try: getattr(deepcs, name)\n"
        "    except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "[]",
        *(
            f"deepcs.{name} needs Stable-Baselines3, which is not installed; pip install "
            "'deepcs[examples]' brings it."
            for name in ("VecCuriosity", "VecNovelty")
        ),
    ]


def test_the_wrappers_for_stable_baselines3_are_among_the_packages_names() -> None:
    assert {"VecCuriosity", "VecNovelty"} <= set(dir(deepcs))
