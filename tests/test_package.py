"""The names that stay, and what importing them costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import deepcs

LAYERS = ("curiosity", "envs", "agents", "runs", "studies")


@pytest.mark.parametrize("name", deepcs.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert callable(getattr(deepcs, name))


def test_the_grid_needs_neither_torch_nor_gymnasium_nor_the_emulator() -> None:
    code = "import sys, deepcs; print(*{'torch', 'gymnasium', 'ale_py', 'cv2'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_nothing_of_the_layers_above_it(layer: str) -> None:
    above = LAYERS[LAYERS.index(layer) + 1 :]
    code = (
        "import sys, pkgutil, importlib, deepcs.{} as package\n"
        "for m in pkgutil.iter_modules(package.__path__):\n"
        "    importlib.import_module(package.__name__ + '.' + m.name)\n"
        "print(*(name for name in sys.modules if name.startswith({!r})))"
    ).format(layer, tuple(f"deepcs.{name}." for name in above))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
