"""How near the pool comes to bare emulators, what curiosity costs, and the workers' memory.

Every figure is a ratio of rounds taken in turn on the same machine, so that other load falls on
both sides; the median and the quartiles of all pairs are printed.
"""

from __future__ import annotations

import json
import mmap
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import ale_py
import cv2
import gymnasium
import numpy as np
import psutil
import tyro
from rich.console import Console
from rich.table import Table

import deepcs
from deepcs.envs.atari import AtariActor
from deepcs.envs.screen import NOTHING, PAIR, shrink
from deepcs.system.process import Process, shared_memory

GAME = "MontezumaRevenge"
ACTIONS = 18
NOOPS = 30


@dataclass(frozen=True)
class Settings:
    """Benchmark the pool."""

    rounds: int = 7
    """pairs of rounds per figure"""
    seconds: float = 3.0
    """length of one round"""
    actors: tuple[int, ...] = (16, 64)
    """pool sizes"""
    peer: bool = False
    """also measure Gymnasium's AsyncVectorEnv, one process per actor, at the first pool size"""
    json: Path | None = None
    """save the figures to this file"""


@dataclass(frozen=True)
class Figure:
    """One line of the table."""

    what: str
    median: float
    quartiles: tuple[float, float]
    target: str
    met: bool | None
    detail: str


class BareLoop:
    """The limit: an emulator and one actor's frames; no grid, no RAM, no stack, no messages."""

    def __init__(self, memory: mmap.mmap, seed: int) -> None:
        cv2.setNumThreads(0)
        self.rng = np.random.default_rng(seed)
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self.ale = ale_py.ALEInterface()
        self.ale.setFloat("repeat_action_probability", 0.0)
        self.ale.loadROM(ale_py.roms.get_rom_path("montezuma_revenge"))
        self.before, self.screen = np.zeros((2, 210, 160), np.uint8)
        self.frame = np.zeros((84, 84), np.uint8)
        self.ale.reset_game()
        self.opening = self.ale.cloneState()
        self.reset()

    def reset(self) -> None:
        self.ale.restoreState(self.opening)
        for _ in range(self.rng.integers(1, NOOPS + 1)):
            self.ale.act(0)
        self.step(1)

    def step(self, action: int) -> None:
        ale = self.ale
        ale.act(action)
        ale.act(action)
        ale.act(action)
        ale.getScreenGrayscale(self.before)
        ale.act(action)
        ale.getScreenGrayscale(self.screen)
        np.maximum(self.before, self.screen, out=self.screen)
        cv2.resize(self.screen, (84, 84), dst=self.frame, interpolation=cv2.INTER_AREA)

    def run(self, seconds: float) -> float:
        """Steps per second over some seconds of random play."""
        began = time.perf_counter()
        steps = 0
        while (spent := time.perf_counter() - began) < seconds:
            for action in self.rng.integers(ACTIONS, size=16).tolist():
                self.step(action)
                if self.ale.game_over():
                    self.reset()
            steps += 16
        return steps / spent

    def close(self) -> None:
        pass


class ThriftyLoop(BareLoop):
    """The same frames by our own code, which works out only the rows that changed."""

    def __init__(self, memory: mmap.mmap, seed: int) -> None:
        self.pair, self.shown = np.full((2, *PAIR), NOTHING, np.uint8)
        super().__init__(memory, seed)

    def step(self, action: int) -> None:
        ale = self.ale
        ale.act(action)
        ale.act(action)
        ale.act(action)
        ale.getScreen(self.pair[0])
        ale.act(action)
        ale.getScreen(self.pair[1])
        shrink(self.pair, self.shown, self.frame)


class BareLoops:
    """One bare loop per worker, running at the same time."""

    def __init__(self, kind: type[BareLoop], count: int) -> None:
        memory = shared_memory(mmap.PAGESIZE)
        self.loops = [Process(f"Loop {i}", memory, False, kind, i) for i in range(count)]
        for loop in self.loops:
            loop.answer()
        os.close(memory)

    def rate(self, seconds: float) -> float:
        for loop in self.loops:
            loop.ask("run", seconds)
        return sum(loop.answer() for loop in self.loops)

    def close(self) -> None:
        for loop in self.loops:
            loop.close()


def vector_rate(envs: gymnasium.vector.VectorEnv, seconds: float) -> float:
    """Steps per second of all actors together, over some seconds of random play."""
    rng = np.random.default_rng(0)
    began = time.perf_counter()
    steps = 0
    while (spent := time.perf_counter() - began) < seconds:
        envs.step(rng.integers(ACTIONS, size=envs.num_envs))
        steps += envs.num_envs
    return steps / spent


def in_turn(rounds: int, *sides: Callable[[], float]) -> list[list[float]]:
    """All sides' figures, measured in turn; who goes first alternates."""
    figures: list[list[float]] = [[] for _ in sides]
    for i in range(rounds):
        for side, out in list(zip(sides, figures, strict=True))[:: 1 if i % 2 else -1]:
            out.append(side())
    return figures


def quartiles(values: list[float]) -> tuple[float, float]:
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def share_figure(what: str, ours: list[float], theirs: list[float], least: float | None) -> Figure:
    shares = [a / b for a, b in zip(ours, theirs, strict=True)]
    median = statistics.median(shares)
    detail = f"{statistics.median(ours):,.0f} of {statistics.median(theirs):,.0f} steps/s"
    target = "" if least is None else f"≥ {least}"
    return Figure(what, median, quartiles(shares), target, least and median >= least, detail)


def pool_shares(actors: int, workers: int, settings: Settings) -> list[Figure]:
    """The pool's throughput as a share of as many bare loops as it has workers."""
    bare, thrifty = BareLoops(BareLoop, workers), BareLoops(ThriftyLoop, workers)
    envs = deepcs.make_vec(GAME, num_envs=actors, workers=workers, copy=False)
    envs.reset()
    vector_rate(envs, 1.0)
    ours, theirs, quicker = in_turn(
        settings.rounds,
        lambda: vector_rate(envs, settings.seconds),
        lambda: bare.rate(settings.seconds),
        lambda: thrifty.rate(settings.seconds),
    )
    for each in (envs, bare, thrifty):
        each.close()
    what = f"{actors} actors / {workers} bare loops"
    return [
        share_figure(what, ours, theirs, 0.85),
        share_figure(f"{what} with our frame code", ours, quicker, None),
    ]


class Incurious(AtariActor):
    """The same actor without its curiosity."""

    def _explore(self, ram: bytes, terminated: bool) -> None:
        pass


def curiosity_cost(settings: Settings) -> Figure:
    """What the grid adds to a step: two actors play the same games, a few steps each in turn."""
    block = 25  # short enough for most to pass undisturbed
    actors = AtariActor(GAME), Incurious(GAME, grid="none")
    for actor in actors:
        actor.reset(seed=0)
    rng = np.random.default_rng(0)

    def play(actor: AtariActor) -> float:
        began = time.thread_time()  # of this thread alone, whoever else has the core
        for action in actions:
            if actor.step(action)[2]:
                actor.reset()
        return time.thread_time() - began

    costs = []
    turn = 1
    began = time.perf_counter()
    while time.perf_counter() - began < 2 * settings.rounds * settings.seconds:
        actions = rng.integers(ACTIONS, size=block).tolist()
        spent = {actor: play(actor) for actor in actors[::turn]}
        costs.append(100 * (spent[actors[0]] / spent[actors[1]] - 1))
        turn = -turn
    median = statistics.median(costs)
    detail = f"{len(costs)} pairs of {block} steps, CPU time"
    return Figure("curiosity's cost, %", median, quartiles(costs), "≤ 3", median <= 3, detail)


def memory(workers: int) -> Figure:
    """Summed PSS of the workers at 16 actors, after some games."""
    envs = deepcs.make_vec(GAME, num_envs=16, workers=workers)
    envs.reset()
    vector_rate(envs, 3.0)
    sizes = [
        psutil.Process(pid).memory_full_info().pss / 1e6
        for pid in (*(worker.popen.pid for worker in envs._workers.processes), os.getpid())
    ]
    envs.close()
    total = sum(sizes[:-1])
    detail = f"this process: {sizes[-1]:.0f} MB"
    return Figure("workers' memory, MB", total, (total, total), "≤ 400", total <= 400, detail)


def peer_share(actors: int, workers: int, settings: Settings) -> Figure:
    """The pool against Gymnasium's own: a process per actor, no grid."""

    def make() -> gymnasium.Env:
        gymnasium.register_envs(ale_py)
        env = gymnasium.make(f"ALE/{GAME}-v5", frameskip=1, repeat_action_probability=0.0)
        env = gymnasium.wrappers.AtariPreprocessing(env, noop_max=NOOPS)
        return gymnasium.wrappers.FrameStackObservation(env, 4)

    peer = gymnasium.vector.AsyncVectorEnv([make] * actors, context="spawn")
    peer.reset()
    envs = deepcs.make_vec(GAME, num_envs=actors, workers=workers)
    envs.reset()
    ours, theirs = in_turn(
        settings.rounds,
        lambda: vector_rate(envs, settings.seconds),
        lambda: vector_rate(peer, settings.seconds),
    )
    envs.close()
    peer.close()
    return share_figure(f"{actors} actors / AsyncVectorEnv", ours, theirs, None)


def main(settings: Settings) -> None:
    workers = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    figures = [f for actors in settings.actors for f in pool_shares(actors, workers, settings)]
    figures += [curiosity_cost(settings), memory(workers)]
    if settings.peer:
        figures.append(peer_share(settings.actors[0], workers, settings))
    table = Table(title=f"The pool, {GAME}, {workers} workers; load before: {load:.1f}")
    for column in ("", "median", "quartiles", "target", "", ""):
        table.add_column(column)
    for figure in figures:
        low, high = figure.quartiles
        met = {None: "", True: "met", False: "MISSED"}[figure.met]
        spread = f"{low:.3g} … {high:.3g}"
        median = f"{figure.median:.3g}"
        table.add_row(figure.what, median, spread, figure.target, met, figure.detail)
    Console().print(table)
    if settings.json is not None:
        settings.json.write_text(json.dumps([asdict(figure) for figure in figures], indent=1))


if __name__ == "__main__":
    main(tyro.cli(Settings))
