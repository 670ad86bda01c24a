"""`deepcs ...`: one dataclass per subcommand; its fields are the arguments, `run` does the work.

The module of a subcommand is imported when it is called, so that `deepcs games` never waits for
torch.
"""

from __future__ import annotations

import importlib
import os
import select
import sys
import traceback
from collections.abc import Sequence
from typing import Protocol

import tyro

from deepcs._version import __version__

WIDTH = 100  # columns where the output is not a terminal
HELP = """\
Deep Curiosity Search: reward what is new in this life.

deepcs train GAME          train an agent: DeepCS on A2C, ACKTR or PPO, or a control
deepcs resume RUN          go on with a run, exactly
deepcs evaluate RUN        play many games with a trained agent: a table and a CSV
deepcs record RUN          film a game, with the curiosity grid over it
deepcs study run STUDY     many runs, on this machine or a cluster: demo, laptop, paper or your own
deepcs study status STUDY  where its runs stand
deepcs study report STUDY  its figures, tables and statistics, as one page
deepcs games [GAME]        the games: positions in RAM, rooms, tiles, weights
deepcs find-position GAME  where the player stands in a new game: bytes of RAM, and what to paste
deepcs bench               how fast training is on this machine
deepcs demo                see the point, twice, in about eight minutes

deepcs COMMAND --help says more; deepcs --version says which version this is."""


class Command(Protocol):
    def run(self) -> None: ...


COMMANDS = {
    "train": "deepcs.cli.runs:Train",
    "resume": "deepcs.cli.runs:Resume",
    "evaluate": "deepcs.cli.runs:Evaluate",
    "record": "deepcs.cli.runs:Record",
    "study run": "deepcs.cli.studies:Run",
    "study status": "deepcs.cli.studies:Status",
    "study report": "deepcs.cli.report:Report",
    "games": "deepcs.cli.games:Games",
    "find-position": "deepcs.cli.find_position:FindPosition",
    "bench": "deepcs.cli.runs:Bench",
    "demo": "deepcs.cli.runs:Demo",
}


def main(args: Sequence[str] | None = None) -> None:
    """Run one subcommand; bad input prints one sentence and exits with code 2."""
    try:
        _run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        if not _nobody_reads():
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
        sys.exit(1)


def _run(args: Sequence[str] | None) -> None:
    arguments = list(sys.argv[1:] if args is None else args)
    if arguments in ([], ["study"]):
        print(HELP)
        sys.exit(2)
    word = arguments[1] if arguments[0] == "study" else arguments[0]
    if word in ("-h", "--help"):
        print(HELP)
        return
    if arguments[0] == "--version":
        print(__version__)
        return
    words = 2 if arguments[0] == "study" else 1
    name, rest = " ".join(arguments[:words]), arguments[words:]
    if name not in COMMANDS:
        _refuse(f"Got command {name!r}; choose one of {', '.join(COMMANDS)}.")
    module, _, kind = COMMANDS[name].partition(":")
    command_type: type[Command] = getattr(importlib.import_module(module), kind)
    try:
        if hasattr(command_type, "for_arguments"):
            command_type = command_type.for_arguments(rest)
        command = tyro.cli(command_type, args=rest, prog=f"deepcs {name}")
        command.run()
    except ValueError as error:
        if not _ours(error):
            raise
        _refuse(str(error))


def _nobody_reads() -> bool:
    """Whether standard output is a pipe whose reader has left, as with `deepcs games | head`."""
    output = select.poll()
    output.register(sys.stdout, 0)
    return any(event & select.POLLERR for _, event in output.poll(0))


def _ours(error: BaseException) -> bool:
    """Whether our code raised it, as a word to the user, and not some library."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return str(frame.f_globals.get("__name__", "")).split(".")[0] in ("deepcs", "__main__")


def _refuse(sentence: str) -> None:
    print(f"deepcs: {sentence}", file=sys.stderr)
    sys.exit(2)
