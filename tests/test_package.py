"""The names that stay, and what importing them costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest

import deepcs
from deepcs.agents.table import AGENTS
from deepcs.envs.mazes import MAZES

LAYERS = (
    *("system", "curiosity", "envs", "agents", "runs", "studies", "film", "analysis", "studio"),
    "cli",
)


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


SOURCE = Path(deepcs.__file__).parent
MODULES = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))
TOP = {"_version"}  # of the top level, open to all
OF_THE_PACKAGE = Path("runs/versions.py")  # needs the package's folder


def imported(module: Path) -> set[str]:
    """Names under deepcs that a file imports anywhere, at its top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse((SOURCE / module).read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    ours = {name for name in found if name.split(".")[0] == "deepcs"}
    return {name.partition(".")[2] or "deepcs" for name in ours}


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_module_imports_nothing_of_the_layers_above_it(module: Path) -> None:
    layers = {name.split(".")[0] for name in imported(module)} - TOP
    if module == OF_THE_PACKAGE:
        layers -= {"deepcs"}
    if len(module.parts) == 1:  # the package itself stands on all layers, and is imported by none
        assert layers <= set(LAYERS)
        return
    assert module.parts[0] in LAYERS, f"{module} is in no layer"
    below = LAYERS[: LAYERS.index(module.parts[0]) + 1]
    assert layers <= set(below), f"{module} imports {layers - set(below)}"


def test_the_command_imports_nothing_before_it_can_be_interrupted() -> None:
    assert imported(Path("../deepcs_command.py")) == {"cli.main.main"}


def test_the_agents_names_are_in_their_table_and_nowhere_else() -> None:
    named = {
        module.as_posix()
        for module in MODULES
        for node in ast.walk(ast.parse((SOURCE / module).read_text()))
        if isinstance(node, ast.Compare)
        for each in ast.walk(node)
        if isinstance(each, ast.Constant) and each.value in AGENTS
    }
    assert named == {"runs/saved_config.py"}  # which reads the settings of 0.1


def test_the_curiosity_layer_needs_nothing_but_numpy() -> None:
    heavy = {"torch", "ale_py", "cv2", "scipy", "gymnasium"}
    code = (
        "import sys, types\n"
        "bare = sys.modules['deepcs'] = types.ModuleType('deepcs')\n"
        f"bare.__path__ = [{str(SOURCE)!r}]\n"
        "import pkgutil, importlib, deepcs.curiosity as package\n"
        "for m in pkgutil.iter_modules(package.__path__):\n"
        "    importlib.import_module(package.__name__ + '.' + m.name)\n"
        f"print(*{heavy} & set(sys.modules))"
    )
    assert python(code) == ""
