"""A study as a matrix: world × treatment, a cell for each seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deepcs.studies.folder import StudyFolder
from deepcs.studies.status import RunStatus, pace_of, run_statuses, seconds_left
from deepcs.studio.summaries import finite

REPORT = "report.html"


def study_matrix(path: Path, name: str) -> dict[str, Any]:
    """The status of all runs of a study; name: its path below the studio's folder."""
    folder = StudyFolder(path)
    study = folder.read()
    statuses = run_statuses(folder, study.runs)
    inside = "" if name == "." else f"{name}/"
    return {
        "name": name,
        "title": study.name,
        "about": study.about,
        "left": finite(seconds_left(statuses, pace_of(folder, statuses))),
        "report": (folder.report / REPORT).is_file(),
        "runs": [_cell(status, f"{inside}runs/{status.run.name}") for status in statuses],
    }


def _cell(status: RunStatus, run: str) -> dict[str, Any]:
    config = status.run.config
    return {
        "run": run,
        "world": config.world,
        "treatment": config.treatment,
        "learner": config.agent_name,
        "variant": str(status.run.variant or ""),
        "seed": config.seed,
        "state": status.state,
        "step": status.step,
        "steps": config.steps,
        "score": finite(status.score),
        "left": finite(status.seconds_left),
        "reason": status.reason,
    }
