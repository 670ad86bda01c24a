"""`deepcs demo`: the point of the paper, twice, in about ten minutes on two cores."""

from __future__ import annotations

import shlex
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
import torch
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from deepcs.agents.a2c import A2CSettings
from deepcs.film.record import record
from deepcs.runs.config import RunConfig
from deepcs.runs.evaluate import Evaluation, evaluate
from deepcs.runs.load import RunLogs, load_run
from deepcs.runs.stopping import StoppedError
from deepcs.runs.trained import load_agent
from deepcs.runs.treatment import TREATMENTS
from deepcs.studies.job import Job
from deepcs.studies.local import run_jobs
from deepcs.studies.status import last_row

matplotlib.use("Agg")

from matplotlib import pyplot

HALLWAY_STEPS = 500_000
FREEWAY_STEPS = 120_000
EVALUATION_GAMES = 16
PLAIN_SECONDS = 20.0  # between lines where there is no terminal
LAST_GAMES = 0.2  # share of a run's games that count as its end
COLOURS = {"deepcs": "#0072B2", "plain": "#D55E00"}  # Okabe and Ito: safe for the colour-blind

WHAT = {
    "deepcs": "every tile pays once in each game, and the agent sees the grid",
    "no-grid": "pays, but the grid is not seen",
    "no-intrinsic": "the grid is seen, but does not pay",
    "plain": "neither: plain A2C",
    "never-reset": "every tile pays once in all of training",
    "life-reset": "as deepcs: a hallway has only one life",
}


def run_demo(out: Path) -> None:
    """Train, compare, plot and record; finished parts are not repeated."""
    torch.set_num_threads(1)
    console = Console()
    began = time.monotonic()
    console.print(
        "\n[bold]1. A hallway.[/bold] A locked door at its left end, the key at its right end, the "
        "agent in the middle; only opening the door pays. Exploring the hallway before finding "
        "the key must not make it dull: DeepCS makes every tile new again in each game.\n"
    )
    papers = [name for name, each in TREATMENTS.items() if each.is_of_the_paper]
    hallway = [hallway_job(name, out / f"hallway-{name}") for name in papers]
    _train(console, hallway)
    console.print(hallway_table(hallway))
    console.print(
        "[bold]2. Freeway.[/bold] The chicken scores only when it has crossed the whole road; a "
        "random player never does. The same network and steps, with curiosity and without.\n"
    )
    freeway = [_job("Freeway", name, FREEWAY_STEPS, out / f"freeway-{name}") for name in COLOURS]
    _train(console, freeway)
    console.print(f"Playing {EVALUATION_GAMES} games with each, and filming one ...")
    results = {
        job.config.treatment: evaluate(load_agent(job.out), games=EVALUATION_GAMES)
        for job in freeway
    }
    console.print(freeway_table(results))
    figure, video = out / "freeway.png", out / "freeway.mp4"
    draw_curves({job.config.treatment: load_run(job.out) for job in freeway}, figure)
    record(load_agent(out / "freeway-deepcs"), video)
    ours, control = (float(np.median(results[name].scores)) for name in COLOURS)
    console.print(
        f"With curiosity the chicken crosses {ours:g} times a game, without it {control:g} "
        f"times.\nLearning curves: {escape(str(figure))}\nVideo:           {escape(str(video))}\n"
        f"Runs:            {escape(f'{out}/*  (try: deepcs evaluate {out}/freeway-deepcs)')}\n"
        f"[dim]{(time.monotonic() - began) / 60:.1f} minutes.[/dim]\n",
        highlight=False,
        emoji=False,
        soft_wrap=True,
    )
    invite(console, freeway)


def invite(console: Console, jobs: Sequence[Job]) -> None:
    """Print the command that opens the studio with these runs, as this shell takes it."""
    command = "deepcs" if shutil.which("deepcs") else sys.argv[0]
    line = shlex.join([command, "watch", *(str(job.out) for job in jobs)])
    told = f"See them play, side by side: {escape(line)}"
    console.print(told, highlight=False, emoji=False, soft_wrap=True)


def hallway_job(treatment: str, out: Path) -> Job:
    """A run of the hallway; with a linear schedule the key is not learned."""
    return _job("KeyHallway", treatment, HALLWAY_STEPS, out)


def _job(world: str, treatment: str, steps: int, out: Path) -> Job:
    constant = A2CSettings(schedule="constant")
    config = RunConfig(world, treatment, steps=steps, shards=1, learner=constant)
    return Job(config, out, out.parent / "logs" / f"{out.name}.log")


def _train(console: Console, jobs: Sequence[Job]) -> None:
    """Do the jobs with a bar for each, or plain lines where there is no terminal."""
    failures: list[str] = []

    def failed(job: Job, reason: str) -> None:
        failures.append(f"{job.out}: {reason}")

    def done(job: Job) -> float:
        return last_row(job.out).step / job.config.steps

    if console.is_terminal:
        columns = TextColumn("  {task.description:<14}"), BarColumn(), TimeElapsedColumn()
        with Progress(*columns, console=console, transient=True) as progress:
            tasks = {job: progress.add_task(job.config.treatment, total=1) for job in jobs}

            def draw() -> None:
                for job, task in tasks.items():
                    progress.update(task, completed=done(job))

            run_jobs(jobs, failed=failed, show=draw)
    else:
        following = [time.monotonic()]

        def say() -> None:
            if time.monotonic() >= following[0]:
                following[0] = time.monotonic() + PLAIN_SECONDS
                parts = [f"{job.config.treatment} {done(job):.0%}" for job in jobs]
                print(f"training {jobs[0].config.world}: {', '.join(parts)}", flush=True)

        run_jobs(jobs, failed=failed, show=say)
    if failures:
        raise StoppedError("; ".join(failures))


def success(logs: RunLogs) -> float:
    """Share of the run's last games that ended with a reward."""
    scores = logs.games["score"]
    last = scores[-max(1, round(len(scores) * LAST_GAMES)) :]
    return float(np.mean(last > 0))


def hallway_table(jobs: Sequence[Job]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("treatment")
    table.add_column("door opened", justify="right")
    table.add_column("")
    for job in jobs:
        name = job.config.treatment
        style = "bold" if name == "deepcs" else ""
        table.add_row(name, f"{success(load_run(job.out)):.1%}", WHAT[name], style=style)
    table.caption = f"in the last fifth of the games, after {HALLWAY_STEPS:,} steps each"
    return table


def freeway_table(results: dict[str, Evaluation]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("treatment")
    for name in ("median score", "min", "max", "tiles a game"):
        table.add_column(name, justify="right")
    for name, result in results.items():
        scores = result.scores
        numbers = np.median(scores), scores.min(), scores.max(), result.tiles.mean()
        table.add_row(name, *(f"{number:.4g}" for number in numbers))
    table.caption = f"{EVALUATION_GAMES} games each, after {FREEWAY_STEPS:,} steps"
    return table


def draw_curves(logs: dict[str, RunLogs], path: Path) -> None:
    """Game score and intrinsic reward over training, one line a treatment."""
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for axis, column, title in zip(
        axes, ("score", "intrinsic"), ("Game score", "Intrinsic reward"), strict=True
    ):
        for name, log in logs.items():
            thousands = log.curve["step"] / 1000
            axis.plot(thousands, log.curve[column], color=COLOURS[name], label=name, linewidth=2)
        axis.set_title(title, loc="left")
        axis.set_xlabel("training steps (thousands)")
        axis.set_xlim(0, FREEWAY_STEPS / 1000)
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.3)
    axes[0].legend(frameon=False)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
