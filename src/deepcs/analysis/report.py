"""A study's report: every figure and table that its runs allow, one page, and all numbers."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from deepcs.analysis.agent_rooms import agent_room_figures
from deepcs.analysis.curve_figures import curve_figures
from deepcs.analysis.distributions import (
    Best,
    Evaluations,
    best_of,
    draw_distributions,
    newest_policy,
)
from deepcs.analysis.drawing import Drawing
from deepcs.analysis.filling_figure import draw_filling, play_best
from deepcs.analysis.findings import findings
from deepcs.analysis.games_figure import games_figure
from deepcs.analysis.groups import Group, Results, collect
from deepcs.analysis.ledger import ledger_table
from deepcs.analysis.map_figures import map_figures
from deepcs.analysis.milestone_figures import milestone_figures
from deepcs.analysis.page import (
    Section,
    figure_html,
    links_html,
    list_html,
    page_html,
    partial_html,
    table_html,
    videos_html,
)
from deepcs.analysis.panel_figures import draw_panel, play
from deepcs.analysis.paper_table import published_table
from deepcs.analysis.result_tables import (
    cost_table,
    differences_table,
    games_table,
    scores_table,
)
from deepcs.analysis.settings_tables import (
    settings_tables,
    treatments_table,
    versions_table,
)
from deepcs.analysis.style import save_figure, spaced
from deepcs.analysis.sweep_figures import sweep_figures
from deepcs.analysis.tables import Table, save_table, to_csv
from deepcs.curiosity.games import find_game
from deepcs.envs.mazes import MAZES
from deepcs.film.record import record
from deepcs.runs.checkpoint import CheckpointError
from deepcs.runs.trained import load_agent
from deepcs.runs.trust import CodeError
from deepcs.studies.folder import StudyFolder
from deepcs.system import limits
from deepcs.system.files import refuse_links, write_whole
from deepcs.system.limits import check_whole

GAMES = 100  # that the best policies are shown by (paper)
VIDEO_STEPS = 1_800  # two minutes
FOLDERS = ("figures", "tables", "data", "videos")
WRITTEN = "written.json"  # what a report has written, for the next one to clear
OURS = re.compile(rf"({'|'.join(FOLDERS)})/[^/]+\.(png|svg|csv|md|html|tex|mp4)")


def _silent(text: str) -> None:
    """Print nothing."""


def make_report(
    folder: Path | str,
    *,
    games: int = GAMES,
    videos: bool = True,
    allow_code: bool = False,
    say: Callable[[str], None] = _silent,
) -> Path:
    """Write report/ in a study's folder; returns the path of its page.

    games: that each group's best policy is played for its distribution; 0: none are played.
    videos: record a game of each group's best policy. allow_code: also play runs that name their
    own code and that this user did not train. say: called with progress messages.

    Raises StudyError if the folder is not a study's, RunError if none of its runs is finished.
    """
    check_whole("{} games", games, 0, limits.GAMES)
    study = StudyFolder(folder)
    refuse_links(study.path)
    say(f"Reading the runs in {study.path} ...")
    results = collect(study.read(), study.path)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the emulators have the cores
    try:
        return Report(results, study.report, games, videos, allow_code, say).write()
    finally:
        torch.set_num_threads(threads)


class Report:
    """A report being written."""

    def __init__(
        self,
        results: Results,
        folder: Path,
        games: int,
        videos: bool,
        allow_code: bool,
        say: Callable[[str], None],
    ) -> None:
        self.results = results
        self.folder = folder
        self.games = games
        self.videos = videos
        self._say = say
        self._allow_code = allow_code
        self._evaluations = Evaluations(folder / "data" / "evaluations", say, allow_code)
        self._written: set[Path] = set()

    def write(self) -> Path:
        for name in FOLDERS:
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        results = self.results
        summary = Section("scores", "Scores")
        summary.parts += self._tables(
            [scores_table(results), *differences_table(results), *published_table(results)]
        )
        claims = Section("claims", "The paper's claims")
        claims.parts += self._tables([*ledger_table(results)])
        others = Section("other-games", "The ten additional games")
        others.parts += [self._figure(drawing) for drawing in games_figure(results)]
        worlds = [self._world(world) for world in results.worlds]
        settings = Section("settings", "Settings")
        settings.parts += self._tables([*games_table(results), *settings_tables(results)])
        settings.parts.insert(0, self._tables([treatments_table(results)])[0])
        cost = Section("cost", "Cost, hardware and versions")
        cost.parts += self._tables([cost_table(results), versions_table(results)])
        runs = Section("runs", "Runs")
        runs.parts += [self._links(world) for world in results.worlds]
        page = page_html(
            f"Deep Curiosity Search: {results.study.name}",
            results.study.about,
            self._top(),
            [claims, summary, *worlds, others, settings, cost, runs],
        )
        write_whole(self.folder / "report.html", page.encode())
        self._clear_earlier()
        return self.folder / "report.html"

    def _top(self) -> str:
        """The results, one sentence per world, and whether they are partial."""
        results = self.results
        top = ""
        if results.finished < results.planned:
            begun = sum(len(group.runs) for group in results.groups)
            top = partial_html(
                f"{results.finished} of {results.planned} runs are finished and "
                f"{begun - results.finished} under way; each n says how many count.",
                results.problems,
            )
        return top + list_html([*findings(results)])

    def _world(self, world: str) -> Section:
        """All about one world."""
        self._say(f"{spaced(world)} ...")
        section = Section(f"world-{world.replace(':', '-')}", spaced(world))
        everyone = [group for group in self.results.groups if group.world == world]
        groups = self.results.of(world)
        bests = [best for group in groups if (best := self._best(group)) is not None]
        drawings = itertools.chain(
            curve_figures(groups),
            milestone_figures(groups),
            sweep_figures(everyone),
            agent_room_figures(groups, bests),
            map_figures(groups),
            [draw_distributions(bests)] if bests else [],
            self._pictures(groups, bests),
        )
        section.parts += [self._figure(drawing) for drawing in drawings]
        if self.videos and bests:
            section.parts.append(videos_html([self._video(best) for best in bests]))
        return section

    def _links(self, world: str) -> str:
        """Where the runs of a world lie."""
        found = [run for group in self.results.groups if group.world == world for run in group.runs]
        links = [(run.name, os.path.relpath(run.path, self.folder)) for run in found]
        return links_html(f"{spaced(world)}: folders of {len(links)} runs", links)

    def _best(self, group: Group) -> Best | None:
        try:
            return best_of(group, self._evaluations, self.games) if self.games else None
        except CodeError as error:
            self._say(f"Not played: {error}")
            return None

    def _pictures(self, groups: Sequence[Group], bests: Sequence[Best]) -> Iterator[Drawing]:
        """A game of DeepCS in pictures, where the world can be seen."""
        ours = [group for group in groups if group.config.treatment == "deepcs" and group.finished]
        if not ours or (find_game(ours[0].world) is None and ours[0].world not in MAZES):
            return
        group = ours[0]
        chosen = [best.run for best in bests if best.group is group]
        by_score = sorted(group.finished, key=lambda run: -np.nan_to_num(run.score[-1]))
        run = (chosen or by_score)[0]
        try:
            agent = load_agent(run.path, newest_policy(run)[0])
        except (CheckpointError, CodeError):
            return
        yield draw_panel(group, agent, *play(agent, [0]))
        if group.world == "Seaquest":
            yield draw_filling(group, agent, play_best(agent))

    def _video(self, best: Best) -> tuple[str, str | None]:
        """A video of the best run, made once: what it shows, and its path if it was made."""
        path = self.folder / "videos" / f"{best.key}-best.mp4"
        what = f"{best.group.label}, best run, after {best.step:,} steps: its best game."
        if not path.is_file():
            self._say(f"Filming {best.run.name} ...")
            best_game = int(best.evaluation.scores.argmax())
            try:
                agent = load_agent(best.run.path, best.step, allow_code=self._allow_code)
                record(agent, path, game=best_game, max_steps=VIDEO_STEPS)
            except ValueError as error:  # code not allowed; an environment that does not render
                return f"{what} No video: {error}", None
        self._written.add(path)
        return what, f"videos/{path.name}"

    def _figure(self, drawing: Drawing) -> str:
        self._written |= {*save_figure(drawing.figure, self.folder / "figures", drawing.name)}
        for table in drawing.data:
            path = self.folder / "data" / f"{table.name}.csv"
            write_whole(path, to_csv(table).encode())
            self._written.add(path)
        return figure_html(drawing, self.folder)

    def _tables(self, tables: Sequence[Table]) -> list[str]:
        for table in tables:
            self._written |= {*save_table(table, self.folder / "tables")}
        return [table_html(table) for table in tables]

    def _clear_earlier(self) -> None:
        """Delete what only an earlier report wrote, and record what this one wrote."""
        written = {path.relative_to(self.folder).as_posix() for path in self._written}
        if not self.videos:
            written |= {name for name in self._earlier() if name.startswith("videos/")}
        for name in self._earlier() - written:
            (self.folder / name).unlink(missing_ok=True)
        write_whole(self.folder / WRITTEN, json.dumps(sorted(written), indent=1).encode())

    def _earlier(self) -> set[str]:
        """Files of the report before this one; names that no report writes are not among them."""
        try:
            names = json.loads((self.folder / WRITTEN).read_bytes())
        except (OSError, ValueError, RecursionError):
            return set()
        names = names if isinstance(names, list) else []
        return {name for name in names if isinstance(name, str) and OURS.fullmatch(name)}
