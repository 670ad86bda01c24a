"""What stands beside the code and has to agree with it; every block of the pages is run."""

from __future__ import annotations

import ast
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from deepcs import __version__
from deepcs.cli.main import main, read_command

ROOT = Path(__file__).parents[1]
RUN_PAGES = ("README.md", "docs/your-environment.md")  # whose Python blocks are run
PAGES = ("README.md", "CONTRIBUTING.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md")))
FEW = "300"  # steps instead of those on a page
LOGS = sorted(path.name for path in (ROOT / "docs" / "data").iterdir() if path.is_dir())


def test_the_citation_is_of_this_version_and_of_the_paper() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (cited["cff-version"], cited["version"]) == ("1.2.0", __version__)
    (paper,) = cited["references"]
    assert [author["family-names"] for author in paper["authors"]] == ["Stanton", "Clune"]
    assert paper["identifiers"][0]["value"] == "arXiv:1806.00553"


def test_the_changelog_has_a_chapter_on_this_version() -> None:
    headings = [
        line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")
    ]
    assert any(__version__ in heading for heading in headings)


@pytest.mark.parametrize("folder", LOGS)
def test_the_origin_of_every_log_is_told(folder: str) -> None:
    assert f"`{folder}`" in (ROOT / "docs" / "data" / "README.md").read_text()


def test_the_way_of_a_step_is_through_ten_files_that_do_what_is_said() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| `(\w+/\w+\.py)` \| (.+?) \|", page, re.MULTILINE)
    assert len(rows) == len({file for file, _ in rows}) == 10
    for file, functions in rows:
        tree = ast.parse((ROOT / "src" / "deepcs" / file).read_text())
        known = {node.name: node for node in tree.body if hasattr(node, "name")}
        for kind, _, method in (name.partition(".") for name in re.findall(r"`(.+?)`", functions)):
            inside = {node.name for node in known[kind].body if hasattr(node, "name")}
            inherited = kind == "CuriosityGrid" and method == "bonus"  # from lives.py, as it says
            assert not method or method in inside or inherited, f"{file} has no {kind}.{method}"


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str
    line: int

    @property
    def module(self) -> str | None:
        """The file that the block is to be saved as, if it says so in its first line."""
        found = re.match(r"# (\w+\.py)\b", self.text)
        return found and found[1]

    def commands(self, program: str) -> list[list[str]]:
        """The lines that call a program, without comments."""
        if self.language:
            return []
        lines = (line for line in self.text.splitlines() if line.split()[:1] == [program])
        return [shlex.split(line, comments=True)[1:] for line in lines]


def blocks(page: str) -> list[Block]:
    fences = re.finditer(r"^```(\w*)\n(.*?)^```$", (ROOT / page).read_text(), re.S | re.M)
    return [
        Block(found[1], found[2], found.string[: found.start()].count("\n") + 2) for found in fences
    ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, in which modules may be written and imported and games registered."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("deepcs.curiosity.games._registered", {})
    monkeypatch.setattr("deepcs.system.first._calls", {})
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) in map(str, tmp_path.glob("*.py")):
            del sys.modules[name]


def save_modules(page: str, folder: Path) -> None:
    for block in blocks(page):
        if block.module is not None:
            (folder / block.module).write_text(block.text)


@pytest.mark.parametrize("page", RUN_PAGES)
def test_every_python_block_of_a_page_runs_in_its_order(page: str, folder: Path) -> None:
    names: dict[str, Any] = {"__name__": "page"}
    python = [block for block in blocks(page) if block.language == "python"]
    assert python
    for block in python:
        if block.module is not None:
            (folder / block.module).write_text(block.text)
        else:
            code = "\n" * (block.line - 1) + block.text
            exec(compile(code, page, "exec"), names)


@pytest.mark.parametrize("page", sorted(PAGES))
def test_every_command_on_a_page_is_understood(page: str, folder: Path) -> None:
    save_modules("docs/architecture.md", folder)
    save_modules(page, folder)
    for block in blocks(page):
        for command in block.commands("deepcs"):
            read_command([word for word in command if word != "..."])
        for target, *_ in block.commands("make"):
            assert f"\n{target}: " in (ROOT / "Makefile").read_text()


def fewer(command: list[str]) -> list[str]:
    """The command, made short."""
    before = ["", *command[:-1]]
    short = [FEW if b == "--steps" else w for b, w in zip(before, command, strict=True)]
    if command[0] == "resume":
        short[-1] = str(20 * int(FEW))
    return [*short, "--games", "2"] if command[0] == "evaluate" else short


@pytest.mark.long
def test_the_commands_for_an_environment_of_ones_own_do_what_they_say(folder: Path) -> None:
    page = "docs/your-environment.md"
    save_modules(page, folder)
    commands = [command for block in blocks(page) for command in block.commands("deepcs")]
    assert len(commands) > 8
    for command in commands:
        main(fewer(command))
