"""`deepcs ...`: one dataclass per subcommand; its fields are the arguments, `run` does the work.

The module of a subcommand is imported when it is called, so that `deepcs games` never waits for
torch.
"""

from __future__ import annotations

import importlib
import os
import select
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn, Protocol

from deepcs._version import __version__
from deepcs.cli.arguments import parse
from deepcs.cli.ending import INTERRUPTED, explain, noting_interrupts, printable, say
from deepcs.system.warning import told_to

WIDTH = 100  # columns where the output is not a terminal
HELP = """\
Deep Curiosity Search: reward what is new in this game.

deepcs train GAME          train an agent: DeepCS on A2C, ACKTR or PPO, or a control
deepcs resume RUN          continue a run, bit for bit
deepcs evaluate RUN        play many games with a trained agent: a table and a CSV
deepcs record RUN          film a game, with the curiosity grid over it
deepcs studio [FOLDER]     watch, play and compare in a browser
deepcs watch NAME_OR_RUN   the studio, with an agent playing
deepcs play GAME           the studio, with you playing
deepcs agents              the trained agents that come with the package
deepcs study run STUDY     many runs, on this machine or a cluster: demo, claims, paper or your own
deepcs study status STUDY  the status of its runs
deepcs study report STUDY  its figures, tables and statistics, as one page
deepcs study claims STUDY  the paper's claims against its runs
deepcs games [GAME]        the games: positions in RAM, rooms, tiles, weights
deepcs find-position GAME  the player's position in a new game: bytes of RAM, and lines to paste
deepcs bench               how fast training is on this machine
deepcs demo                two small experiments that show the effect, in about ten minutes

deepcs COMMAND --help says more; deepcs --version says which version this is."""

STUDY_HELP = """\
A study: many runs that belong together, described by a TOML file (docs/studies.md).

deepcs study run STUDY     do all its unfinished runs; run it again to continue
deepcs study status STUDY  the status of its runs, also while another process runs it
deepcs study report STUDY  its figures, tables and statistics, as one page
deepcs study claims STUDY  the paper's claims against its runs

STUDY is demo, laptop, claims, novelty, novelty-atari, tuning or paper, or the path of a file.
deepcs study COMMAND --help says more."""


class Command(Protocol):
    def run(self) -> None: ...


COMMANDS = {
    "train": "deepcs.cli.runs:Train",
    "resume": "deepcs.cli.runs:Resume",
    "evaluate": "deepcs.cli.runs:Evaluate",
    "record": "deepcs.cli.runs:Record",
    "studio": "deepcs.cli.studio:Studio",
    "watch": "deepcs.cli.studio:Watch",
    "play": "deepcs.cli.studio:Play",
    "agents": "deepcs.cli.agents:Agents",
    "study run": "deepcs.cli.studies:Run",
    "study status": "deepcs.cli.studies:Status",
    "study report": "deepcs.cli.report:Report",
    "study claims": "deepcs.cli.claims:Claims",
    "games": "deepcs.cli.games:Games",
    "find-position": "deepcs.cli.find_position:FindPosition",
    "bench": "deepcs.cli.runs:Bench",
    "demo": "deepcs.cli.runs:Demo",
}


class CommandError(ValueError):
    """An unknown command."""


def main(args: Sequence[str] | None = None) -> None:
    """Run one subcommand; one that fails prints one sentence and exits with an error code.

    args: None: those of this process, which is then expected to end.
    """
    try:
        with noting_interrupts() as interrupts, told_to(_warn):
            try:
                _speak_any_language()
                _run(list(sys.argv[1:] if args is None else args))
                sys.stdout.flush()
            except (Exception, KeyboardInterrupt) as error:
                _end(error, interrupts.noted)
    finally:
        if args is None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done: no interrupt from here on


def _run(arguments: list[str]) -> None:
    if arguments in ([], ["study"]):
        print(_help(arguments))
        sys.exit(2)
    for each in arguments:
        if each != each.encode(errors="replace").decode() or "\0" in each:
            raise CommandError(f"Got {each!r}, which is no text in UTF-8; rename it.")
    word = arguments[1] if arguments[0] == "study" else arguments[0]
    if word in ("-h", "--help"):
        print(_help(arguments))
        return
    if arguments[0] == "--version":
        print(__version__)
        return
    read_command(arguments).run()


def read_command(arguments: Sequence[str]) -> Command:
    """The command that the arguments describe, not yet run; raises ValueError."""
    words = 2 if arguments[0] == "study" else 1
    name, rest = " ".join(arguments[:words]), arguments[words:]
    if name not in COMMANDS:
        raise CommandError(f"Got command {name!r}; choose one of {', '.join(COMMANDS)}.")
    module, _, kind = COMMANDS[name].partition(":")
    command_type: type[Command] = getattr(importlib.import_module(module), kind)
    if hasattr(command_type, "for_arguments"):
        command_type = command_type.for_arguments(rest)
    return parse(command_type, rest, f"deepcs {name}")


def _warn(sentence: str) -> None:
    print(f"deepcs: {printable(sentence)}", file=sys.stderr)


def _help(arguments: Sequence[str]) -> str:
    return STUDY_HELP if arguments[:1] == ["study"] else HELP


def _end(error: Exception | KeyboardInterrupt, interrupted: bool) -> NoReturn:
    """Say what happened, and exit."""
    if interrupted or isinstance(error, KeyboardInterrupt):
        print("deepcs: Interrupted.", file=sys.stderr)
        sys.exit(INTERRUPTED)
    if isinstance(error, BrokenPipeError) and _nobody_reads():
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
        sys.exit(1)
    code, sentence = explain(error)
    say(error, sentence)
    sys.exit(code)


def _speak_any_language() -> None:
    """Print replacements for characters that the terminal does not have; print nothing where a
    stream was closed.
    """
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _nobody_reads() -> bool:
    """Whether standard output is a pipe whose reader has left, as with `deepcs games | head`."""
    output = select.poll()
    output.register(sys.stdout, 0)
    return any(event & select.POLLERR for _, event in output.poll(0))
