"""Where runs stand and how long they will take, of generated folders."""

from __future__ import annotations

import math
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deepcs.envs.roms import atari_game
from deepcs.runs.checkpoint import Checkpoint, save_checkpoint
from deepcs.runs.config import RunConfig
from deepcs.runs.lease import Lease, Terms
from deepcs.runs.logs import curve_columns
from deepcs.studies import pace as pace_module
from deepcs.studies.folder import StudyFolder
from deepcs.studies.pace import Measured, Pace
from deepcs.studies.status import RunStatus, Watch, longest_first, seconds_left, status_table
from deepcs.studies.study import Study, read_study

MANY = """
[[experiments]]
worlds = ["KeyHallway"]
treatments = ["plain"]
seeds = 500
steps = 1000
settings = { actors = 4 }
"""


class Reads:
    """Counts the files that are opened and the folders that are listed below a folder."""

    def __init__(self) -> None:
        self.below: str | None = None
        self.count = 0
        sys.addaudithook(self._note)

    def _note(self, event: str, args: tuple[Any, ...]) -> None:
        if self.below is not None and event in ("open", "os.listdir", "os.scandir"):
            self.count += str(args[0]).startswith(self.below)

    def during(self, folder: Path, watch: Watch) -> int:
        self.below, self.count = str(folder), 0
        watch.look()
        self.below = None
        return self.count


@pytest.fixture(scope="module")
def reads() -> Reads:
    return Reads()


def row(step: int, speed: float) -> str:
    columns = curve_columns("a2c")
    values = {"step": str(step), "score": "1.0", "steps_per_second": str(speed)}
    return ",".join(columns) + "\n" + ",".join(values.get(name, "0") for name in columns) + "\n"


def generate(folder: StudyFolder, study: Study, step: int, *seeds: int) -> None:
    """Runs that have trained up to a step."""
    saved = folder.path / "saved" / str(step)
    if not saved.exists():
        save_checkpoint(saved.parent, Checkpoint(step, {}, {}, None, {}))
    for seed in seeds:
        path = folder.run_path(study.runs[seed])
        shutil.copytree(saved, path / "checkpoints" / str(step))
        (path / "curve.csv").write_text(row(step, 50.0))
        Lease(path, Terms()).release()


def test_hundreds_of_runs_are_read_once_and_then_only_those_under_way(
    tmp_path: Path, reads: Reads
) -> None:
    study, folder = read_study("many", MANY), StudyFolder(tmp_path)
    generate(folder, study, 1000, *range(300))
    generate(folder, study, 500, *range(300, 400))
    leases = [Lease(folder.run_path(study.runs[seed]), Terms()) for seed in (398, 399)]
    watch = Watch(folder, study.runs)
    assert reads.during(tmp_path, watch) > 1000  # all that has begun
    again = reads.during(tmp_path, watch)
    assert again <= 2 + 4 * len(leases)
    states = [each.state for each in watch.look()]
    assert [states.count(s) for s in ("done", "running", "waiting")] == [300, 2, 198]

    # Nothing that happens is missed: one ends, one is taken up, one fails, one begins.
    leases[0].release()
    saved = tmp_path / "saved" / "1000"
    shutil.copytree(saved, folder.run_path(study.runs[398]) / "checkpoints" / "1000")
    taken = Lease(folder.run_path(study.runs[350]), Terms())
    folder.write_failures({study.runs[351].name: "it broke"})
    generate(folder, study, 500, 400)
    statuses = watch.look()
    assert [statuses[i].state for i in (398, 350, 351)] == ["done", "running", "failed"]
    assert statuses[400].step == 500
    for lease in (leases[1], taken):
        lease.release()
    assert "running" not in [each.state for each in watch.look()]


def waiting(world: str, steps: int, agent: str = "a2c", speed: float = math.nan) -> RunStatus:
    text = f"""
    [[experiments]]
    worlds = ["{world}"]
    treatments = ["plain"]
    agents = ["{agent}"]
    seeds = 1
    steps = {steps}
    """
    (run,) = read_study("one", text).runs
    return RunStatus(run, "waiting", 0, math.nan, speed, "")


def test_the_time_left_goes_by_the_runs_most_alike_and_else_by_what_was_measured() -> None:
    def config(world: str, agent: str = "a2c") -> RunConfig:
        return RunConfig(world, agent=agent)

    measured = Measured("Freeway", 2, {1: 90.0, 2: 160.0})
    assert math.isnan(Pace().of(config("Freeway")))
    assert Pace((), measured).of(config("KeyHallway")) == 80
    pace = Pace(
        [
            (config("Freeway"), 100.0),
            (config("Freeway"), 300.0),
            (config("Freeway", "acktr"), 60.0),
            (config("KeyHallway", "acktr"), 4000.0),
        ],
        measured,
    )
    assert pace.of(config("Freeway")) == 200
    assert pace.of(config("Freeway", "ppo")) == 100  # the same world
    assert pace.of(config("Seaquest", "acktr")) == 60  # the same learner in another game
    assert pace.of(config("CrossMaze", "acktr")) == 4000
    assert pace.of(config("CrossMaze")) == 80  # nothing like it: as measured


def test_each_world_is_looked_up_once_however_many_runs_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def counting(world: str) -> object:
        asked.append(world)
        return atari_game(world)

    monkeypatch.setattr(pace_module, "atari_game", counting)
    worlds = ["KeyHallway", "CrossMaze", "Freeway"]
    configs = [RunConfig(world, seed=seed) for world in worlds for seed in range(100)]
    pace = Pace([(config, 100.0) for config in configs])
    assert {pace.of(config) for config in [*configs, RunConfig("Venture")]} == {100.0}
    assert sorted(asked) == sorted([*worlds, "Venture"])


@pytest.mark.parametrize("state", ["waiting", "running"])
def test_the_time_of_a_run_that_names_code_is_told_without_importing_it(
    state: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gift.py").write_text("from deepcs.envs.mazes import KeyHallway as make\n")
    monkeypatch.chdir(tmp_path)
    run = waiting("KeyHallway", 1600).run
    gift = replace(run, config=replace(run.config, world="gift:make"))
    logged = RunConfig("Freeway"), 10.0
    pace = Pace([logged], Measured("Freeway", 2, {2: 20.0}))
    statuses = [RunStatus(gift, state, 0, math.nan, math.nan, "")]
    assert seconds_left(statuses, pace) == pytest.approx(160)
    assert longest_first(statuses, pace) == [gift]
    assert "gift" not in sys.modules


def test_two_at_once_take_half_as_long_unless_one_is_longer_than_all_others() -> None:
    pace = Pace((), Measured("Freeway", 2, {2: 20.0}))
    runs = [waiting("Freeway", 1600), waiting("Seaquest", 1600)]
    running = [RunStatus(each.run, "running", 0, math.nan, math.nan, "") for each in runs]
    assert seconds_left([*running, *runs], pace) == pytest.approx(4 * 160 / 2)
    assert seconds_left([running[0], waiting("Freeway", 16000)], pace) == pytest.approx(1760)
    assert seconds_left([*running, waiting("Freeway", 16000)], pace) == pytest.approx(1600)
    table = status_table("x", running, pace)
    assert list(table.columns[4].cells) == ["2:40", "2:40"]
    assert table.caption == "0 of 2 runs done · 2 running · 2:40 left"


def test_the_longest_runs_come_first() -> None:
    runs = [waiting("KeyHallway", 8000), waiting("Freeway", 1600), waiting("CrossMaze", 4000)]
    assert longest_first(runs, Pace()) == [runs[0].run, runs[2].run, runs[1].run]
    slow = Pace([(runs[1].run.config, 1.0), (runs[0].run.config, 100.0)])
    assert longest_first(runs, slow) == [runs[1].run, runs[0].run, runs[2].run]
