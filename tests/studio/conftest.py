from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import Address, Page, page, serving

from deepcs.runs.config import RunConfig
from deepcs.runs.train import train
from deepcs.studies.folder import StudyFolder
from deepcs.studies.study import load_study

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
    with page(server) as opened:
        yield opened
