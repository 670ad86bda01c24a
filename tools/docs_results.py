"""Make every table and figure of docs/results.md, and the ledger's lines in README.md, from the
logs in docs/data:

    python tools/docs_results.py                  # or: make docs-results
    python tools/docs_results.py --add RUN ...    # first copy the logs of runs to docs/data/claims
    python tools/docs_results.py --to tuning --add RUN ...  # or to another of its folders
    python tools/docs_results.py --novelty STUDY  # first sum up the runs of a study in the mazes

What it makes stands between `<!-- made: NAME -->` and `<!-- end -->`; all else there is written by
hand. Figures go to docs/images/results, with a digest of the numbers behind each, so that a test
can tell whether they are current without comparing pictures.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import tyro

from deepcs.analysis.curve_figures import curve_figures
from deepcs.analysis.drawing import Drawing
from deepcs.analysis.games_figure import games_figure
from deepcs.analysis.groups import Results, gather
from deepcs.analysis.kinds_figure import kinds_figure
from deepcs.analysis.learning import (
    POINT,
    ROW,
    evaluation_table,
    first_steps,
    learning_figure,
    learning_table,
    tuning_table,
    varied_settings,
)
from deepcs.analysis.ledger import ledger, ledger_table
from deepcs.analysis.ledger_summary import summarise
from deepcs.analysis.milestone_figures import milestone_figures, milestone_table
from deepcs.analysis.result_tables import differences_table, scores_table
from deepcs.analysis.room_figures import draw_rooms, draw_ways_out
from deepcs.analysis.style import save_figure, spaced
from deepcs.analysis.success import (
    Success,
    newest,
    read_successes,
    success_figure,
    success_of,
    success_table,
    write_successes,
)
from deepcs.analysis.tables import Table, to_csv, to_markdown
from deepcs.curiosity.games import games
from deepcs.envs.mazes import MAZES
from deepcs.runs.load import load_run
from kept_logs import FOLDERS, add, add_evaluation, check_size
from origins import origins, read_commits, update

ROOT = Path(__file__).parents[1]
NOVELTY = "novelty.csv"  # a row for each run of the study of novelty
DRAWN = 2_000_000  # steps: shorter runs are in the tables only
EARLIER = "earlier-"  # begins the names of figures of runs of 0.1
BLOCK = re.compile(r"(<!-- made: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Settings:
    """Make docs/results.md anew."""

    add: tuple[Path, ...] = ()
    """runs, finished or not, whose logs to copy to docs/data first"""
    to: Literal[FOLDERS] = "claims"
    """the folder in docs/data that they are copied to"""
    evaluations: tuple[Path, ...] = ()
    """games of deepcs evaluate to copy beside these logs, as RUN-STEP.csv or RUN-greedy-STEP.csv"""
    novelty: Path | None = None
    """folder of a study in the mazes, whose finished runs to sum up first"""


class Pages:
    """The blocks of the documents, and the figures that they show."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.data = root / "docs" / "data"
        self.claims = gather(_runs(self.data / "claims"), "What stands in docs/data/claims.")
        self.gymnasium = gather(_runs(self.data / "gymnasium"), "Worlds that are not ours.")
        self.precision = gather(_runs(self.data / "precision"), "Half precision.")
        self.ending = gather(_runs(self.data / "ending"), "The end of training.")
        self.atari = gather(_runs(self.data / "novelty-atari"), "Kinds of novelty in Atari.")
        self.earlier = gather(_runs(self.data), "Runs of deepcs 0.1.")
        self.figures: dict[str, Drawing] = {}
        blocks: dict[str, Callable[[], str]] = {
            "ledger": self._ledger,
            "ledger-summary": self._summary,
            "novelty": self._novelty,
            "mazes": lambda: self._worlds([*MAZES]),
            "montezuma": lambda: self._worlds(["MontezumaRevenge"]),
            "seaquest": lambda: self._worlds(["Seaquest"]),
            "games": self._games,
            "gymnasium": self._gymnasium,
            "learning": self._learning,
            "evaluations": self._evaluations,
            "tuning": self._tuning,
            "tuning-others": self._tuning_others,
            "precision": lambda: self._compared(self.precision),
            "ending": lambda: self._compared(self.ending),
            "novelty-atari": self._atari,
            "learners": self._earlier,
        }
        for name in FOLDERS:
            blocks[f"runs-{name}"] = partial(self._origins, name)
        self.blocks = {name: make() for name, make in blocks.items()}

    def texts(self) -> dict[Path, str]:
        """Each document as it should be."""
        paths = [
            self.root / "README.md",
            self.root / "docs" / "results.md",
            self.data / "README.md",
            self.data / "claims" / "README.md",
        ]
        return {path: self._filled(path.read_text()) for path in paths}

    def digests(self) -> str:
        """What figures draw, by their names: a digest of all numbers and words of each."""
        found = {}
        for name, drawing in sorted(self.figures.items()):
            content = drawing.caption + "".join(map(to_csv, drawing.data))
            found[name] = hashlib.sha256(content.encode()).hexdigest()
        return json.dumps(found, indent=1) + "\n"

    def _filled(self, text: str) -> str:
        return BLOCK.sub(lambda found: found[1] + self.blocks[found[2]] + found[3], text)

    def _ledger(self) -> str:
        tables = [*ledger_table(self.claims, whole=True)]
        return "".join(map(_markdown, tables))

    def _summary(self) -> str:
        """Five lines at most."""
        return _wrapped(f"{summarise(ledger(self.claims))} [The ledger](docs/results.md).")

    def _worlds(self, worlds: Sequence[str]) -> str:
        """Scores, their differences, curves and milestones of some worlds."""
        if not any(self.claims.of(world) for world in worlds):
            return "No runs yet.\n\n"
        text = self._tested(self.claims, worlds)
        for world in worlds:
            groups = self.claims.of(world)
            if not groups:
                continue
            drawings = [*curve_figures(groups), *milestone_figures(groups)]
            if world == "MontezumaRevenge":
                drawings += [draw_rooms(groups), draw_ways_out(groups)]
            text += "".join(map(self._figure, drawings))
            text += _markdown(milestone_table(groups, "milestones", f"{spaced(world)}: milestones"))
        return text

    def _games(self) -> str:
        rest = [game for game in games() if game not in ("MontezumaRevenge", "Seaquest")]
        if not any(self.claims.of(game) for game in rest):
            return "No runs yet.\n\n"
        figures = "".join(self._figure(drawing) for drawing in games_figure(self.claims))
        return self._tested(self.claims, rest) + figures

    def _gymnasium(self) -> str:
        """Worlds of Gymnasium and MiniGrid."""
        worlds = [*self.gymnasium.worlds]
        if not worlds:
            return "No runs yet.\n\n"
        drawings = [each for world in worlds for each in curve_figures(self.gymnasium.of(world))]
        return self._scores(self.gymnasium, worlds) + "".join(map(self._figure, drawings))

    def _learning(self) -> str:
        """Games of each stretch of steps, run by run."""
        runs = _runs(self.data / "learning")
        if not runs:
            return "No runs yet.\n\n"
        montezuma = [run for run in runs if run.name.startswith("montezuma")]
        tables = varied_settings(runs), first_steps(montezuma), learning_table(runs)
        long = [run for run in montezuma if load_run(run).curve["step"][-1] >= DRAWN]
        return "".join(map(_markdown, tables)) + self._figure(learning_figure(long))

    def _evaluations(self) -> str:
        """Games that checkpoints of these runs played."""
        folders = "learning", "tuning-others"
        table = evaluation_table([run for name in folders for run in _runs(self.data / name)])
        return _markdown(table) if table.rows else "No evaluations yet.\n\n"

    def _tuning(self) -> str:
        """Runs in which single settings of preset fast were changed."""
        runs = _runs(self.data / "tuning")
        return _markdown(tuning_table(runs)) if runs else "No runs yet.\n\n"

    def _tuning_others(self) -> str:
        """Single runs of other games, in which several settings of the preset were changed."""
        runs = _runs(self.data / "tuning-others")
        if not runs:
            return "No runs yet.\n\n"
        text = _markdown(varied_settings(runs)) + _markdown(learning_table(runs, POINT, ROW))
        worlds = dict.fromkeys(load_run(run).config.world for run in runs)
        for world in worlds:
            own = [run for run in runs if load_run(run).config.world == world]
            text += self._figure(learning_figure(own))
        return text

    def _compared(self, results: Results) -> str:
        """Scores at the end, and tests of their differences."""
        if not results.worlds:
            return "No runs yet.\n\n"
        return self._tested(results, results.worlds)

    def _atari(self) -> str:
        """Kinds of novelty in Atari games."""
        drawings = [each for w in self.atari.worlds for each in kinds_figure(self.atari.of(w))]
        return self._compared(self.atari) + "".join(map(self._figure, drawings))

    def _earlier(self) -> str:
        """Runs of one seed or three, made by an earlier version."""
        text = self._scores(self.earlier, [*self.earlier.worlds])
        for world in ("MontezumaRevenge", "Seaquest"):
            for drawing in curve_figures(self.earlier.of(world)):
                text += self._figure(replace(drawing, name=EARLIER + drawing.name))
        montezuma = self.earlier.of("MontezumaRevenge")
        title = "Montezuma's Revenge, one seed each: milestones"
        return text + _markdown(milestone_table(montezuma, "milestones", title))

    def _scores(self, results: Results, worlds: Sequence[str]) -> str:
        return _markdown(scores_table(_part(results, worlds)))

    def _tested(self, results: Results, worlds: Sequence[str]) -> str:
        """Scores, and tests of their differences where there are any."""
        differences = differences_table(_part(results, worlds))
        return self._scores(results, worlds) + "".join(map(_markdown, differences))

    def _novelty(self) -> str:
        """Kinds of novelty in the mazes."""
        path = self.data / NOVELTY
        if not path.is_file():
            return "No runs yet.\n\n"
        successes = read_successes(path)
        return _markdown(success_table(successes)) + self._figure(success_figure(successes))

    def _origins(self, folder: str) -> str:
        table = origins(_runs(self.data / folder), read_commits(self.data))
        return _markdown(table) if table.rows else "No runs yet.\n"

    def _figure(self, drawing: Drawing) -> str:
        if drawing.name in self.figures:
            raise ValueError(f"Two figures are named {drawing.name}; give one of them a prefix.")
        self.figures[drawing.name] = drawing
        about = _wrapped(f"{drawing.caption} {drawing.paper}")
        return f"![{drawing.title}](images/results/{drawing.name}.png)\n\n{about}\n"


def _part(results: Results, worlds: Sequence[str]) -> Results:
    """Of some worlds only."""
    groups = tuple(group for group in results.groups if group.world in worlds)
    return replace(results, groups=groups, problems=())


def _runs(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.glob("*/config.json"))


def _wrapped(text: str) -> str:
    return "\n".join(textwrap.wrap(text, 100, break_on_hyphens=False)) + "\n"


def _markdown(table: Table) -> str:
    """The table with its notes wrapped, and a line after it."""
    lines = to_markdown(table).splitlines()
    is_row = [line.startswith(("|", "**")) or not line for line in lines]
    told = [line if row else _wrapped(line)[:-1] for line, row in zip(lines, is_row, strict=True)]
    return "\n".join(told) + "\n\n"


def _successes(marks: Sequence[Path]) -> Iterator[Success]:
    for mark in marks:
        with suppress(ValueError):  # not finished yet
            yield success_of(mark.parent)


def changes(pages: Pages) -> Iterator[Path]:
    """Documents, and the list of figures, that are not what the logs say."""
    for path, text in pages.texts().items():
        if path.read_text() != text:
            yield path
    digests = pages.root / "docs" / "images" / "results" / "figures.json"
    if not digests.is_file() or digests.read_text() != pages.digests():
        yield digests


def main(settings: Settings, root: Path = ROOT) -> None:
    data, folder = root / "docs" / "data", root / "docs" / "images" / "results"
    for run in settings.add:
        add(run, data / settings.to)
    for path in settings.evaluations:
        add_evaluation(path, data / settings.to)
    if settings.novelty is not None:
        earlier = read_successes(data / NOVELTY) if (data / NOVELTY).is_file() else []
        finished = _successes(sorted(settings.novelty.glob("runs/*/saved")))
        write_successes(data / NOVELTY, newest([*earlier, *finished]))
    check_size(data)
    if settings.add:
        update(data)
    pages = Pages(root)
    for path, text in pages.texts().items():
        path.write_text(text)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.png"):
        old.unlink()
    for name, drawing in pages.figures.items():
        _, svg = save_figure(drawing.figure, folder, name)
        svg.unlink()
    (folder / "figures.json").write_text(pages.digests())
    print(f"Made {len(pages.blocks)} blocks and {len(pages.figures)} figures.")


if __name__ == "__main__":
    try:
        main(tyro.cli(Settings))
    except ValueError as error:
        sys.exit(f"docs_results: {error}")
