"""`deepcs study report`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from deepcs.analysis.report import GAMES, make_report
from deepcs.cli.studies import StudyName, study_folder


@dataclass(frozen=True)
class Report:
    """Make a study's figures and tables, and one page of them all, from its runs so far."""

    study: StudyName
    """demo, laptop, claims, novelty, novelty-atari, tuning, paper, or the path of a .toml file"""
    out: Path | None = None
    """folder of the study; by default studies/ and its name"""
    games: int = GAMES
    """games to play with each group's best policy (paper: 100); 0: none"""
    videos: bool = True
    """film a game of each group's best policy"""
    allow_code: bool = False
    """also play runs that name code as module:name and that you did not train here"""

    def run(self) -> None:
        folder = study_folder(self.study, self.out)
        page = make_report(
            folder.path,
            games=self.games,
            videos=self.videos,
            allow_code=self.allow_code,
            say=_say,
        )
        print(f"Done: {page}")


def _say(text: str) -> None:
    print(text, flush=True)
