"""`deepcs ...`: one dataclass per subcommand; its fields are the arguments, `run` does the work.

What a subcommand needs is imported inside its `run`, so that `deepcs games` never waits for torch.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Annotated, Any, Protocol

import tyro
from rich.console import Console

DESCRIPTION = "Deep Curiosity Search: reward what is new in this life."
WIDTH = 100  # columns where the output is not a terminal


class Command(Protocol):
    def run(self) -> None: ...


@dataclass(frozen=True)
class Games:
    """The twelve games: where the player stands, what a room is, tiles and weights."""

    name: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="[NAME]")] = None
    """one game, in any clear spelling; all twelve if not given"""

    def run(self) -> None:
        from deepcs.games_table import print_game, print_games

        if self.name is None:
            print_games(_console())
        else:
            print_game(_console(), self.name)


COMMANDS: dict[str, Callable[..., Any]] = {"games": Games}


def main(args: Sequence[str] | None = None) -> None:
    """Run one subcommand; bad input prints one sentence and exits with code 2."""
    arguments = list(sys.argv[1:] if args is None else args)
    if arguments == ["--version"]:
        print(version("deepcs"))
        return
    if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        _refuse(f"Got command {arguments[0]!r}; choose one of {', '.join(COMMANDS)}.")
    command: Command = tyro.extras.subcommand_cli_from_dict(
        COMMANDS, prog="deepcs", description=DESCRIPTION, args=arguments
    )
    try:
        command.run()
    except ValueError as error:
        if not _ours(error):
            raise
        _refuse(str(error))


def _console() -> Console:
    return Console() if sys.stdout.isatty() else Console(width=WIDTH)


def _ours(error: BaseException) -> bool:
    """Whether our code raised it, as a word to the user, and not some library."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return str(frame.f_globals.get("__name__", "")).split(".")[0] == "deepcs"


def _refuse(sentence: str) -> None:
    print(f"deepcs: {sentence}", file=sys.stderr)
    sys.exit(2)
