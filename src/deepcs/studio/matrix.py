"""A study as a matrix: world × treatment, a cell for each seed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepcs.agents.table import PAPERS_AGENT
from deepcs.runs.errors import RunError
from deepcs.studies.experiment import StudyError
from deepcs.studies.folder import StudyFolder
from deepcs.studies.status import RunStatus, Watch, pace_of, seconds_left
from deepcs.studies.study import Study
from deepcs.studio.catalog import Catalog, NotHereError
from deepcs.studio.summaries import finite

REPORT = "report.html"


@dataclass(frozen=True)
class Known:
    """A study as its study.json had it, and what was read of its runs since."""

    stamp: tuple[int, int, int]
    study: Study
    watch: Watch


class Matrices:
    """The status of studies; what cannot have changed since the last time is not read again."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._known: dict[Path, Known] = {}

    def read(self, name: str) -> dict[str, Any]:
        """The status of all runs of a study; name: its path below the studio's folder."""
        folder = StudyFolder(self._catalog.study(name))
        known = self._look(folder)
        begun = folder.begun() & {run.name for run in known.study.runs}
        self._catalog.glance_at_runs(folder.path, begun)
        statuses = known.watch.look()
        inside = "" if name == "." else f"{name}/"
        return {
            "name": name,
            "title": known.study.name,
            "about": known.study.about,
            "left": finite(seconds_left(statuses, pace_of(folder, statuses))),
            "report": (folder.report / REPORT).is_file(),
            "runs": [
                _cell(status, f"{inside}runs/{status.run.name}", status.run.name in begun)
                for status in statuses
            ],
        }

    def size(self, name: str) -> int | None:
        """How many runs a study is to have; None: its page says why it cannot be read."""
        try:
            return len(self._look(StudyFolder(self._catalog.study(name))).study.runs)
        except (NotHereError, RunError, StudyError, OSError):
            return None

    def _look(self, folder: StudyFolder) -> Known:
        """Whoever runs or extends a study writes its study.json anew, and is watched anew."""
        stat = (folder.path / "study.json").stat()
        stamp = stat.st_ino, stat.st_mtime_ns, stat.st_size
        known = self._known.get(folder.path)
        if known is None or known.stamp != stamp:
            study = folder.read()
            known = self._known[folder.path] = Known(stamp, study, Watch(folder, study.runs))
        return known


def _cell(status: RunStatus, run: str, begun: bool) -> dict[str, Any]:
    config = status.run.config
    return {
        "run": run,
        "world": config.world,
        "treatment": config.treatment,
        "learner": "" if config.agent == PAPERS_AGENT else config.agent_name,
        "variant": str(status.run.variant or ""),
        "seed": config.seed,
        "begun": begun,
        "state": status.state,
        "step": status.step,
        "steps": config.steps,
        "score": finite(status.score),
        "left": finite(status.seconds_left),
        "reason": status.reason,
    }
