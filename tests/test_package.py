"""The names that stay, and what importing them costs."""

from __future__ import annotations

import subprocess
import sys

import gymnasium
import pytest

import deepcs
from deepcs.envs.mazes import MAZES

LAYERS = ("curiosity", "envs", "agents", "runs", "studies")


@pytest.mark.parametrize("name", deepcs.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert callable(getattr(deepcs, name))


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_grid_waits_for_nothing_heavy() -> None:
    heavy = {"torch", "ale_py", "cv2", "matplotlib", "scipy"}
    assert python(f"import sys, deepcs; print(*{heavy} & set(sys.modules))") == ""


@pytest.mark.parametrize("imports", ["deepcs, gymnasium", "gymnasium, deepcs"])
@pytest.mark.parametrize("maze", ["KeyHallway", "CrossMaze"])
def test_importing_the_package_makes_the_mazes_known_to_gymnasium(imports: str, maze: str) -> None:
    code = f"import {imports}; print(gymnasium.make('deepcs/{maze}-v0').unwrapped.kind)"
    assert python(code) in ("key hallway", "cross maze")


def test_every_maze_is_known_to_gymnasium() -> None:
    known = {name for name in gymnasium.registry if name.startswith("deepcs/")}
    assert known == {f"deepcs/{name}-v0" for name in MAZES}


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_nothing_of_the_layers_above_it(layer: str) -> None:
    above = LAYERS[LAYERS.index(layer) + 1 :]
    code = (
        "import sys, pkgutil, importlib, deepcs.{} as package\n"
        "for m in pkgutil.iter_modules(package.__path__):\n"
        "    importlib.import_module(package.__name__ + '.' + m.name)\n"
        "print(*(name for name in sys.modules if name.startswith({!r})))"
    ).format(layer, tuple(f"deepcs.{name}." for name in above))
    assert python(code) == ""
