from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browsing import CHROMIUM, FLAGS, MARKUP, PATIENCE
from serving import Address, Page, serving
from serving import page as connection

from deepcs.runs.config import RunConfig
from deepcs.runs.train import train
from deepcs.studies.folder import StudyFolder
from deepcs.studies.study import load_study

if TYPE_CHECKING:
    from playwright.sync_api import Page as Tab

HALLWAY = RunConfig("KeyHallway", steps=400, actors=2, log_every=100, checkpoint_every=200)
STUDY = """
about = "Two treatments."
[[experiments]]
worlds = ["KeyHallway"]
treatments = ["deepcs", "plain"]
seeds = 1
steps = 400
settings = { actors = 2, checkpoint_every = 200, log_every = 100 }
"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, at any depth, and a study of two runs, of which one is done."""
    root = tmp_path_factory.mktemp("studio")
    train(HALLWAY, root / "deep" / "hall")
    (root / "study.toml").write_text(STUDY)
    study, begun = load_study(root / "study.toml"), StudyFolder(root / "study")
    begun.path.mkdir()
    begun.take(study)
    train(study.runs[0].config, begun.run_path(study.runs[0]))
    begun.report.mkdir()
    (begun.report / "report.html").write_text("<script>alert(1)</script>A report.")
    return root


@pytest.fixture(scope="session")
def server(folder: Path) -> Iterator[Address]:
    with serving(folder) as address:
        yield address


@pytest.fixture(scope="session")
def theatre(server: Address) -> Iterator[Page]:
    """One page for all who need an agent: its process loads torch once."""
    with connection(server) as opened:
        yield opened


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs long enough to have curves and checkpoints, for the browser."""
    folder = tmp_path_factory.mktemp("runs")
    settings: dict[str, Any] = {"steps": 20_000, "log_every": 1_000, "checkpoint_every": 4_000}
    settings["milestone_every"] = 4_000
    train(RunConfig("KeyHallway", **settings), folder / "hall")
    train(RunConfig("KeyHallway", "plain", **settings), folder / "plain")
    train(RunConfig("Alien", steps=160), folder / "alien")
    shutil.copytree(folder / "hall", folder / MARKUP.replace("/", ""))
    (folder / "study.toml").write_text(STUDY)
    study = StudyFolder(folder / "study")
    study.path.mkdir()
    study.take(load_study(folder / "study.toml"))
    return folder


@pytest.fixture(scope="module")
def studio(root: Path) -> Iterator[Address]:
    with serving(root) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Tab]:
    """A page of its own; whatever its console complains of fails the test."""
    context = browser.new_context(viewport={"width": 1000, "height": 900})
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE)
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on(
        "console",
        lambda said: complaints.append(said.text) if "Content Security" in said.text else None,
    )
    yield opened
    context.close()
    assert not complaints
