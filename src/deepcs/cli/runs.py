"""The subcommands that train and play; imported only when one of them is asked for."""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import tyro
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from deepcs.agents.table import find_agent
from deepcs.cli.arguments import HELP, ArgumentError, parse
from deepcs.cli.ending import ending_on_sigterm
from deepcs.film.record import record
from deepcs.runs.choices import check_weights_are_used
from deepcs.runs.config import RunConfig
from deepcs.runs.counts import Count
from deepcs.runs.effects import check_named
from deepcs.runs.evaluate import Evaluation, evaluate, save_evaluation
from deepcs.runs.progress import display_for
from deepcs.runs.shipped import PREFIX
from deepcs.runs.train import resume, train
from deepcs.runs.trained import TrainedAgent, load_agent
from deepcs.system.importing import allow
from deepcs.system.outputs import check_output


def _value_of(flag: str, arguments: Sequence[str]) -> str | None:
    """What a flag is set to."""
    found = None
    for k, word in enumerate(arguments):
        if word.startswith(f"{flag}="):
            found = word.partition("=")[2]
        elif word == flag and k + 1 < len(arguments):
            found = arguments[k + 1]
    return found


def _differing(settings: Any, defaults: Any) -> dict[str, Any]:
    """Those that are not as the defaults have them."""
    both = {f.name for f in dataclasses.fields(settings) if hasattr(defaults, f.name)}
    numbers = {name: getattr(settings, name) for name in sorted(both)}
    return {name: each for name, each in numbers.items() if each != getattr(defaults, name)}


RunPath = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
PlayedPath = Annotated[
    Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN", help="a run, or agents:NAME")
]


def _plain_name(run: Path) -> str:
    """A run's name, or a shipped agent's, for a file."""
    return run.resolve().name.removeprefix(PREFIX)


def _finish(path: Path, stopped_by: int | None) -> None:
    """Say what to do next; a run that was stopped exits as shells expect."""
    if stopped_by is None:
        print(f"Done: {path}. See how it plays: deepcs evaluate {path}")
        return
    where = sys.stderr if stopped_by == signal.SIGPIPE else sys.stdout  # which nobody reads
    print(f"Stopped and saved. Go on with: deepcs resume {path}", file=where)
    sys.exit(128 + stopped_by)


def _warn(sentence: str) -> None:
    print(f"deepcs: {sentence}", file=sys.stderr)


@dataclass(frozen=True)
class Train:
    """Train an agent: DeepCS on A2C, ACKTR or PPO, or one of its controls."""

    config: Annotated[RunConfig, tyro.conf.arg(name="")]
    out: Path | None = None
    """folder of the run; by default runs/ and a name made of the settings"""
    workers: int | None = None
    """processes that emulate; results do not depend on it; None: one per core"""

    @classmethod
    def for_arguments(cls, arguments: Sequence[str]) -> type[Train]:
        """With the settings of the agent that the arguments name, --a2c.gamma and so on, and with
        the defaults of the preset that they name, in the world that they name.
        """
        named = _value_of("--preset", arguments)
        if named in (None, "None"):
            return cls._with(RunConfig(tyro.MISSING), arguments)
        base = RunConfig.from_preset(named, tyro.MISSING)
        usual = cls._with(base, arguments)
        try:
            asked: Any = parse(usual, [w for w in arguments if w not in HELP], "deepcs train")
        except ArgumentError:  # told when they are read in earnest
            return usual
        given = _differing(asked.learner, base.learner)
        return cls._with(RunConfig.from_preset(named, asked.config.world, learner=given), arguments)

    @classmethod
    def _with(cls, base: RunConfig, arguments: Sequence[str]) -> type[Train]:
        """With these defaults, and the flags of the agent that the arguments name."""
        asked = _value_of("--agent", arguments) or base.agent
        allow([asked])
        agent = find_agent(asked)
        settings_type: Any = agent.Settings
        learner = Annotated[
            settings_type, tyro.conf.arg(name=agent.name, help=f"numbers of {agent.name}")
        ]
        of_preset = base.learner is not None and asked == base.agent
        numbers = base.learner if of_preset else agent.Settings()
        base = dataclasses.replace(base, world=tyro.MISSING)  # it has no default
        fields = {"config": field(default=base), "learner": field(default=numbers)}
        kinds = {"config": cls.__annotations__["config"], "learner": learner}
        body = {"__doc__": cls.__doc__, "__annotations__": kinds, **fields}
        return dataclass(frozen=True)(type("Train", (cls,), body))

    @property
    def settings(self) -> RunConfig:
        """What was asked for, the agent's settings included."""
        return dataclasses.replace(self.config, learner=getattr(self, "learner", None))

    def run(self) -> None:
        config = self.settings
        name = config.resolved().name
        check_weights_are_used(config)
        check_named(config)
        out = self.out or Path("runs") / name
        _finish(out, train(config, out, workers=self.workers, display=display_for(name)))


@dataclass(frozen=True)
class Resume:
    """Continue a run, exactly from its newest checkpoint."""

    path: RunPath
    steps: Count | None = None
    """a new, larger total of steps; the schedule is recomputed over it"""
    workers: int | None = None
    """processes that emulate; results do not depend on it; None: one per core"""
    allow_code: bool = False
    """run the code that the run names as module:name, though you did not train it here"""
    accept_changes: bool = False
    """continue although settings, logs or library versions have changed since they were saved"""

    def run(self) -> None:
        stopped_by = resume(
            self.path,
            steps=self.steps,
            workers=self.workers,
            display=display_for(self.path.name),
            allow_code=self.allow_code,
            accept_changes=self.accept_changes,
        )
        _finish(self.path, stopped_by)


@dataclass(frozen=True)
class Evaluate:
    """Play many games with a trained agent; prints a table and writes a CSV."""

    path: PlayedPath
    games: int = 100
    """games to play, each from its own seed and number of no-ops (paper: 100)"""
    seed: int = 1_000_003
    """seed of the games and of the policy's draws"""
    greedy: bool = False
    """always take the likeliest action instead of drawing from the policy"""
    step: int | None = None
    """checkpoint to play; None: the newest"""
    csv: Path | None = None
    """file for a row per game; by default RUN-evaluation.csv in the current folder"""
    workers: int | None = None
    """processes that emulate; None: one per core"""
    allow_code: bool = False
    """run the code that the run names as module:name, though you did not train it here"""

    def run(self) -> None:
        path = self.csv or Path(f"{_plain_name(self.path)}-evaluation.csv")
        agent = load_agent(self.path, self.step, allow_code=self.allow_code, say=_warn)
        check_output(path, "--csv")
        torch.set_num_threads(1)  # the emulators have the cores
        result = evaluate(
            agent,
            games=self.games,
            seed=self.seed,
            greedy=self.greedy,
            workers=self.workers,
        )
        Console().print(evaluation_table(agent, result))
        save_evaluation(path, result)
        print(f"Each game: {path}")


def evaluation_table(agent: TrainedAgent, result: Evaluation) -> Table:
    """Median, quartiles and extremes of score, rooms and tiles."""
    config = agent.config
    title = f"{config.world}, {config.treatment}, {config.agent}, {agent.step:,} steps"
    table = Table(title=Text(f"{title}: {len(result.games)} games"), box=box.SIMPLE_HEAD)
    table.add_column("")
    for name in ("median", "quartiles", "min", "max", "mean"):
        table.add_column(name, justify="right")
    for name, values in (
        ("score", result.scores),
        ("tiles", result.tiles),
        ("rooms", result.rooms),
    ):
        low, middle, high = np.percentile(values, (25, 50, 75))
        numbers = (values.min(), values.max(), values.mean())
        cells = [f"{number:,.6g}" for number in numbers]
        table.add_row(name, f"{middle:,.6g}", f"{low:,.6g} – {high:,.6g}", *cells)
    return table


@dataclass(frozen=True)
class Record:
    """Film a game: its screen, the curiosity grid if the network sees it, and the score."""

    path: PlayedPath
    out: Path | None = None
    """the MP4 file; by default named after the run, in the current folder"""
    game: int = 0
    """number of the game, or of the first: the games are those of deepcs evaluate"""
    best_of: int = 1
    """games to choose the best from"""
    seed: int = 1_000_003
    """seed of the games and of the policy's draws"""
    greedy: bool = False
    """always take the likeliest action instead of drawing from the policy"""
    step: int | None = None
    """checkpoint to play; None: the newest"""
    allow_code: bool = False
    """run the code that the run names as module:name, though you did not train it here"""

    def run(self) -> None:
        torch.set_num_threads(1)
        agent = load_agent(self.path, self.step, allow_code=self.allow_code, say=_warn)
        path = self.out or Path(f"{_plain_name(self.path)}.mp4")
        display = display_for(path.name)
        with ending_on_sigterm(), contextlib.closing(display):
            film = record(
                agent,
                path,
                seed=self.seed,
                game=self.game,
                best_of=self.best_of,
                greedy=self.greedy,
                workers=0 if self.best_of == 1 else None,
                display=display,
            )
        print(
            f"{film.path}: game {film.game}, score {film.score:g}, {_count(film.tiles, 'tile')}, "
            f"{_count(film.rooms, 'room')}, {_count(film.steps, 'step')}"
        )


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


@dataclass(frozen=True)
class Demo:
    """Show the effect twice in about ten minutes: in a hallway, then in a real game."""

    out: Path = Path("demo")
    """folder for its runs, figure and video"""

    def run(self) -> None:
        from deepcs.cli.demo import run_demo

        run_demo(self.out)


@dataclass(frozen=True)
class Bench:
    """Measure steps per second of training here, with everything that a normal run does."""

    world: Annotated[str, tyro.conf.Positional] = "MontezumaRevenge"
    """what to train"""
    seconds: float = 20.0
    """how long to measure"""

    def run(self) -> None:
        from deepcs.cli.bench import bench

        bench(self.world, self.seconds)
