"""Training speed against Stable-Baselines3 and against this machine's limit, in one sitting.

Rounds of all sides alternate. The limit is 1 / (1/E + 1/L): E, bare emulator loops, one per core,
at the same time; L, our learner acting and updating on observations that are already in memory,
all cores busy: the faster of one run on all cores and one run per core.

With `--agent acktr`: ACKTR's speed as a share of our A2C's, with its default settings and with
thriftier ones. With `--agent ppo`: PPO against Stable-Baselines3's with the same numbers.
"""

from __future__ import annotations

import mmap
import os
import select
import statistics
import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Literal

import gymnasium
import numpy as np
import psutil
import torch
import tyro
from rich.console import Console
from rich.table import Table

from deepcs.agents import replicas as replicas_module
from deepcs.agents import shards as shards_module
from deepcs.agents.acktr import THRIFTY, ACKTRSettings
from deepcs.agents.agent import Moment
from deepcs.agents.plan import Precision
from deepcs.agents.ppo import PPOSettings
from deepcs.agents.replicas import Replicas
from deepcs.agents.shards import ShardGroup
from deepcs.runs.config import RunConfig
from deepcs.runs.timed import TimedTraining
from deepcs.system.process import Process, cores, shared_memory
from pool import BareLoop, BareLoops

GAME = "MontezumaRevenge"
SAMPLE_MILLISECONDS = 200  # between two looks at the memory
TRIAL_STEPS = 32  # of PPO's rollouts while its peer's best arrangement is looked for: a quarter
PEERS = [(kind, threads) for kind in ("dummy", "subproc") for threads in (1, 2)]


@dataclass(frozen=True)
class Settings:
    """Benchmark training."""

    agent: Literal["a2c", "acktr", "ppo"] = "a2c"
    """A2C against its peer and the limit, ACKTR against A2C, or PPO against its peer"""
    rounds: int = 5
    """rounds of each side"""
    seconds: float = 12.0
    """length of one round, about; PPO's rounds are of whole updates, 1 is enough"""
    precision: Literal["float32", "bfloat16", "auto"] = "auto"
    """in which our network multiplies; Stable-Baselines3's is always float32"""


class OurTraining(TimedTraining):
    """A normal run, in a process of its own."""

    def __init__(self, memory: mmap.mmap, precision: Precision, agent: str = "a2c") -> None:
        super().__init__(RunConfig(GAME, agent=agent, precision=precision))


class OurACKTR(TimedTraining):
    """A normal run of ACKTR, measured from one decomposition of its largest factor to the next."""

    def __init__(self, memory: mmap.mmap, settings: ACKTRSettings) -> None:
        super().__init__(RunConfig(GAME, agent="acktr", learner=settings))
        self._run.go_until(settings.cold_updates * self._run.config.update_steps)

    def rate(self, seconds: float) -> float:
        run, settings = self._run, self._run.config.learner
        began, before = time.perf_counter(), run.progress.step
        run.go_until(before + settings.refresh_large_every * run.config.update_steps)
        return (run.progress.step - before) / (time.perf_counter() - began)


class PeerTraining:
    """Stable-Baselines3 with its own Atari wrappers: A2C with its defaults, or PPO with ours.

    `n_steps`: of PPO's rollouts, if not ours.
    """

    def __init__(
        self,
        memory: mmap.mmap,
        kind: str,
        threads: int,
        agent: str = "a2c",
        n_steps: int = PPOSettings.n_steps,
    ) -> None:
        from stable_baselines3 import A2C, PPO
        from stable_baselines3.common.env_util import make_atari_env
        from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecFrameStack

        torch.set_num_threads(threads)
        vector = DummyVecEnv if kind == "dummy" else SubprocVecEnv
        plain = {"frameskip": 1, "repeat_action_probability": 0.0, "full_action_space": False}
        name = f"ale_py:ALE/{GAME}-v5"
        envs = make_atari_env(name, n_envs=16, vec_env_cls=vector, seed=0, env_kwargs=plain)
        stacked = VecFrameStack(envs, 4)
        if agent == "a2c":
            self.model: Any = A2C("CnnPolicy", stacked, device="cpu")
        else:
            ours = PPOSettings()
            self.model = PPO(
                "CnnPolicy",
                stacked,
                n_steps=n_steps,
                batch_size=ours.minibatch,
                n_epochs=ours.epochs,
                device="cpu",
            )
        self.steps = 800 if agent == "a2c" else 16 * self.model.n_steps
        self.model.learn(self.steps)

    def rate(self, seconds: float) -> float:
        began, steps = time.perf_counter(), 0
        while (spent := time.perf_counter() - began) < seconds:
            self.model.learn(self.steps, reset_num_timesteps=False)
            steps += self.steps
        return steps / spent

    def close(self) -> None:
        self.model.get_env().close()


class CannedPool:
    """Observations that are in memory already: the same arrays, step after step."""

    def __init__(self, world: str, *, num_envs: int, **settings: Any) -> None:
        self.num_envs = num_envs
        rng = np.random.default_rng(0)
        self.observations = rng.integers(0, 256, (num_envs, 5, 84, 84), dtype=np.uint8)
        self.single_action_space = gymnasium.spaces.Discrete(18)
        self.numbers = np.zeros(num_envs)
        self.cells = np.zeros(num_envs, np.int64)
        self.flags = np.zeros(num_envs, np.bool_)

    def reset(self) -> tuple[np.ndarray, dict[str, Any]]:
        return self.observations, {}

    def step(self, actions: np.ndarray) -> tuple[Any, ...]:
        infos = {"intrinsic": self.numbers, "life_lost": self.flags, "cell": self.cells}
        return self.observations, self.numbers, self.flags, self.flags, infos

    def take_visits(self) -> Counter[Any]:
        return Counter()

    def close(self) -> None:
        pass


def canned_group(memory: mmap.mmap, *args: Any) -> ShardGroup:
    shards_module.make_vec = CannedPool
    return ShardGroup(memory, *args)


class OurLearner:
    """Our learner without emulators, in as many shards, each on a core."""

    def __init__(self, memory: mmap.mmap, shards: int, precision: Precision) -> None:
        replicas_module.ShardGroup = canned_group  # also what its other processes build
        config = RunConfig(GAME, shards=shards, precision=precision)
        self.config = config.resolved().fitted()
        self.replicas = Replicas(self.config.training())
        self.replicas.initialise()
        self.update = 0

    def rate(self, seconds: float) -> float:
        began, before = time.perf_counter(), self.update
        while (spent := time.perf_counter() - began) < seconds:
            self.replicas.update(Moment(self.update, 1e-4, logged=False))
            self.update += 1
        return (self.update - before) * self.config.update_steps / spent

    def close(self) -> None:
        self.replicas.close()


class Side:
    """One contestant in its own process; idle while another's round is on."""

    def __init__(self, name: str, build: Any, *args: Any) -> None:
        memory_fd = shared_memory(mmap.PAGESIZE)
        self.name = name
        self.process = Process(name, memory_fd, False, build, *args)
        os.close(memory_fd)
        self.process.answer()

    def rate(self, seconds: float) -> float:
        return rate_together([self], seconds)

    def peak_memory(self, seconds: float) -> int:
        """Most bytes of the process and its children in a round, shared pages counted once."""
        tree = psutil.Process(self.process.popen.pid)
        answered = select.poll()
        answered.register(self.process.line, select.POLLIN)
        self.process.ask("rate", seconds)
        peak = 0
        while not answered.poll(SAMPLE_MILLISECONDS):
            processes = [tree, *tree.children(recursive=True)]
            peak = max(peak, sum(p.memory_full_info().pss for p in processes))
        self.process.answer()
        return peak

    def close(self) -> None:
        self.process.close()


def rate_together(sides: list[Side], seconds: float) -> float:
    """Steps per second of all sides at the same time."""
    for side in sides:
        side.process.ask("rate", seconds)
    return sum(side.process.answer() for side in sides)


def best_peer(seconds: float, agent: str = "a2c") -> tuple[Side, str]:
    """Stable-Baselines3 in its best arrangement on this machine."""
    figures = {}
    for kind, threads in PEERS:
        order = kind, threads, agent, TRIAL_STEPS
        side = Side(f"SB3 {kind}, {threads} threads", PeerTraining, *order)
        figures[kind, threads] = side.rate(seconds)
        side.close()
    kind, threads = max(figures, key=lambda each: figures[each])
    tried = ", ".join(f"{k} {t}: {rate:.0f}" for (k, t), rate in figures.items())
    return Side(f"SB3 {kind}, {threads} threads", PeerTraining, kind, threads, agent), tried


def compare_agents(settings: Settings) -> None:
    """ACKTR as a share of A2C."""
    sides = {
        "A2C": Side("A2C", OurTraining, "float32"),
        "ACKTR": Side("ACKTR", OurACKTR, ACKTRSettings()),
        "thrifty ACKTR": Side("thrifty ACKTR", OurACKTR, THRIFTY),
    }
    rates: dict[str, list[float]] = {name: [] for name in sides}
    sides["A2C"].rate(2.0)
    for _ in range(settings.rounds):
        for name, side in sides.items():
            rates[name].append(side.rate(settings.seconds))
    peak = sides["ACKTR"].peak_memory(settings.seconds)
    for side in sides.values():
        side.close()
    table = Table(title=f"ACKTR against A2C, {GAME}, 16 actors, {cores()} cores")
    for column in ("", "steps/s", "of A2C's", "all rounds"):
        table.add_column(column, justify="left" if not column else "right")
    for name, values in rates.items():
        shares = [a / b for a, b in zip(values, rates["A2C"], strict=True)]
        cells = " ".join(f"{share:.2f}" for share in shares)
        medians = statistics.median(values), statistics.median(shares)
        table.add_row(name, f"{medians[0]:,.0f}", f"{medians[1]:.2f}", cells)
    console = Console()
    console.print(table)
    console.print(f"memory of ACKTR, largest summed PSS: {peak / 1e6:,.0f} MB (at most 2,500)")
    console.print(f"thrifty: {THRIFTY}", highlight=False)


def compare_ppo(settings: Settings) -> None:
    """PPO against Stable-Baselines3's."""
    peer, tried = best_peer(1.0, "ppo")
    ours = Side("deepcs", OurTraining, settings.precision, "ppo")
    ours.rate(1.0)
    rounds = [
        (ours.rate(settings.seconds), peer.rate(settings.seconds)) for _ in range(settings.rounds)
    ]
    peak = ours.peak_memory(settings.seconds)
    table = Table(title=f"PPO, {GAME}, 16 actors, {cores()} cores, {settings.precision}")
    for column in ("", "median", "all rounds"):
        table.add_column(column, justify="left" if not column else "right")
    columns = [*zip(*rounds, strict=True), [a / b for a, b in rounds]]
    names = "deepcs train, steps/s", f"{peer.name}, steps/s", "deepcs / SB3 (at least 2.5)"
    for name, values, digits in zip(names, columns, (0, 0, 2), strict=True):
        cells = [f"{value:,.{digits}f}" for value in values]
        table.add_row(name, f"{statistics.median(values):,.{digits}f}", " ".join(cells))
    for side in (ours, peer):
        side.close()
    console = Console()
    console.print(table)
    console.print(f"memory of deepcs, largest summed PSS: {peak / 1e6:,.0f} MB")
    console.print(f"SB3, steps/s by vector and threads: {tried}", highlight=False)


def main(settings: Settings) -> None:
    if settings.agent == "acktr":
        if settings.precision == "bfloat16":
            raise SystemExit("Got --precision with --agent acktr, which needs float32.")
        compare_agents(settings)
        return
    precision = RunConfig(GAME, precision=settings.precision).resolved().fitted().precision
    settings = replace(settings, precision=precision)
    if settings.agent == "ppo":
        compare_ppo(settings)
        return
    console = Console()
    peer, tried = best_peer(settings.seconds)
    ours = Side("deepcs", OurTraining, precision)
    learner = Side("learner", OurLearner, cores(), precision)
    learners = [Side(f"learner {k}", OurLearner, 1, precision) for k in range(cores())]
    bare = BareLoops(BareLoop, cores())
    for side in (ours, learner, *learners):
        side.rate(2.0)
    rates: dict[str, list[float]] = {"ours": [], "peer": [], "E": [], "L one": [], "L each": []}
    for _ in range(settings.rounds):
        rates["ours"].append(ours.rate(settings.seconds))
        rates["peer"].append(peer.rate(settings.seconds))
        rates["E"].append(bare.rate(settings.seconds / 2))
        rates["L one"].append(learner.rate(settings.seconds / 2))
        rates["L each"].append(rate_together(learners, settings.seconds / 2))
    peak = ours.peak_memory(settings.seconds)
    rates["L"] = max(rates.pop("L one"), rates.pop("L each"), key=statistics.median)
    for side in (ours, learner, peer, *learners):
        side.close()
    bare.close()
    report(console, rates, peer.name, tried, peak, precision)


def report(
    console: Console,
    rates: dict[str, list[float]],
    peer: str,
    tried: str,
    peak: int,
    precision: Precision,
) -> None:
    limits = [1 / (1 / e + 1 / learn) for e, learn in zip(rates["E"], rates["L"], strict=True)]
    against_peer = [o / p for o, p in zip(rates["ours"], rates["peer"], strict=True)]
    against_limit = [o / limit for o, limit in zip(rates["ours"], limits, strict=True)]
    table = Table(title=f"Training {GAME}, 16 actors, {cores()} cores, {precision}")
    for column in ("", "median", "all rounds"):
        table.add_column(column, justify="left" if not column else "right")
    rows = {
        "deepcs train, steps/s": rates["ours"],
        f"{peer}, steps/s": rates["peer"],
        "E, bare emulators, steps/s": rates["E"],
        "L, learner alone, steps/s": rates["L"],
        "limit 1/(1/E + 1/L), steps/s": limits,
        "deepcs / SB3 (at least 3.0)": against_peer,
        "deepcs / limit (at least 0.80)": against_limit,
    }
    for name, values in rows.items():
        digits = 2 if "/" in name and "steps/s" not in name else 0
        cells = [f"{value:,.{digits}f}" for value in values]
        table.add_row(name, f"{statistics.median(values):,.{digits}f}", " ".join(cells))
    table.add_row("memory of deepcs, MB (at most 1,500)", f"{peak / 1e6:,.0f}", "summed PSS")
    console.print(table)
    console.print(f"SB3, steps/s by vector and threads: {tried}", highlight=False)


if __name__ == "__main__":
    main(tyro.cli(Settings))
