"""A small study with the real trainer, which several tests look at."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from deepcs.runs.train import train
from deepcs.studies.folder import StudyFolder
from deepcs.studies.study import read_study

TRAINED = """
about = "Trained <for> real."
[[experiments]]
worlds = ["KeyHallway"]
treatments = ["deepcs", "plain"]
seeds = 2
steps = 1600
settings = { actors = 4, log_every = 400 }
"""


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    """Small networks are slower on several threads, much slower beside other work."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    """Two runs of DeepCS and one of A2C, whose second is missing."""
    folder = StudyFolder(tmp_path_factory.mktemp("trained") / "study")
    study = read_study("hall", TRAINED)
    folder.path.mkdir()
    folder.take(study)
    for run in study.runs[:-1]:
        train(run.config, folder.run_path(run), workers=1)
    return folder
