"""How many runs at a time make this machine fastest: measured, not guessed.

Some machines have two threads to a core, some share their cores with others. So several numbers of
processes are tried, each of which trains like a run of the study. The result changes how soon the
study is done, but no byte of its runs.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from deepcs.envs.roms import atari_game
from deepcs.runs.config import RunConfig
from deepcs.runs.timed import TimedTraining
from deepcs.studies.pace import Measured, read_measured
from deepcs.system.files import write_whole
from deepcs.system.process import Process, cores, shared_memory

ROUNDS = 2
ROUND_SECONDS = 2.0


class Trial:
    """Training in another process, for as long as it is asked to."""

    def __init__(self, memory: mmap.mmap, config: RunConfig) -> None:
        self._training = TimedTraining(config, workers=1)
        self.rate = self._training.rate
        self.close = self._training.close


def measure(config: RunConfig, seconds: float) -> Measured:
    """Try half as many runs as there are cores, as many, and a quarter more; `seconds` a round."""
    most = cores() + max(1, cores() // 4)
    numbers = sorted({max(1, cores() // 2), cores(), most})
    speeds = dict.fromkeys(numbers, 0.0)
    memory = shared_memory(1)
    trials: list[Process] = []
    try:
        for i in range(most):
            trials.append(Process(f"Trial {i}", memory, False, Trial, config))
        for trial in trials:
            trial.answer()
        _together(trials, seconds / 4)  # warm up
        for _ in range(ROUNDS):
            for number in numbers:
                speeds[number] += _together(trials[:number], seconds) / ROUNDS
    finally:
        for trial in trials:
            trial.close()
        os.close(memory)
    return Measured(config.world, cores(), speeds)


def _together(trials: Sequence[Process], seconds: float) -> float:
    """Steps per second of all of them, running in parallel."""
    for trial in trials:
        trial.ask("rate", seconds)
    return sum(float(trial.answer()) for trial in trials)


def runs_at_once(
    configs: Sequence[RunConfig], cache: Path, seconds: float = ROUND_SECONDS
) -> Measured:
    """The best number for a study with these runs here; measured once, and kept in a file."""
    # Atari games take the most time.
    config = next((each for each in configs if atari_game(each.world)), configs[0])
    known = read_measured(cache)
    if known is not None and known.cores == cores():
        return known
    measured = measure(config, seconds)
    with suppress(OSError):  # a full disk: then it is measured again the next time
        write_whole(cache, json.dumps(vars(measured)).encode())
    return measured
