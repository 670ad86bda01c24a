"""The subcommands that open the studio."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

import tyro

from deepcs.envs.make import world_name
from deepcs.envs.roms import check_known
from deepcs.runs.folder import RunFolder
from deepcs.runs.shipped import PREFIX, find_shipped
from deepcs.system import limits
from deepcs.system.importing import allow
from deepcs.system.limits import check_whole

MOST_PLAYERS = 4  # side by side on the page


class StudioError(ValueError):
    """The studio cannot be opened."""


@dataclass(frozen=True)
class Served:
    """Where the studio is served."""

    host: str | None = None
    """an address of this machine to serve at, for other machines; asks for a token \
(None: only this machine can reach it)"""
    port: int = 0
    """0: any that is free"""
    browser: bool = True
    """open the address in a browser; never one with a token, which a browser's command line would \
show to other users"""

    def serve(self, folder: Path, place: str, own_worlds: tuple[str, ...] = ()) -> None:
        check_whole("port {}", self.port, 0, 65_535)
        try:
            from deepcs.studio.serve import serve
        except ModuleNotFoundError as error:
            raise StudioError(
                f"The studio needs {error.name}, which is not installed; get it with: "
                "pip install 'deepcs[studio]'"
            ) from error
        serve(
            folder,
            place,
            host=self.host,
            port=self.port,
            browser=self.browser,
            own_worlds=own_worlds,
        )


@dataclass(frozen=True)
class Studio(Served):
    """Watch, play and compare in a browser: one local page, until Ctrl-C."""

    folder: Annotated[Path, tyro.conf.Positional] = Path()
    """whose runs and studies are shown, at any depth"""

    def run(self) -> None:
        self.serve(self.folder, "")


@dataclass(frozen=True)
class Watch(Served):
    """Watch trained agents play, with their curiosity grids: one, or up to four side by side."""

    names: Annotated[
        tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="NAME_OR_RUN ...")
    ] = (".",)
    """folders of runs, or names of agents that come with the package"""
    step: int | None = None
    """checkpoint to play, of a single run; None: the newest"""

    def run(self) -> None:
        if len(self.names) > MOST_PLAYERS:
            raise StudioError(f"Got {len(self.names)} names; at most {MOST_PLAYERS} play together.")
        runs = [Path(name).resolve() for name in self.names if _is_run(name)]
        if self.step is not None and not (len(runs) == len(self.names) == 1):
            raise StudioError("Got a step, which has no effect but on a single run; leave it out.")
        folder = Path(os.path.commonpath([run.parent for run in runs])) if runs else Path()
        if folder == Path("/"):
            raise StudioError("Got runs with no folder in common; give runs below one folder.")
        players = [self._player(name, folder) for name in self.names]
        self.serve(folder, f"#/watch?{urlencode([('p', player) for player in players])}")

    def _player(self, name: str, folder: Path) -> str:
        """As it is in the page's URL."""
        if _is_run(name):
            run = Path(name).resolve().relative_to(folder).as_posix()
            # Behind the last @ is the step, so a name with an @ in it ends with one more.
            ends = "@" in run or self.step is not None
            return f"run:{run}{'@' if ends else ''}{'' if self.step is None else self.step}"
        if Path(name).is_dir() and not name.startswith(PREFIX):
            raise StudioError(
                f"Got {name}, which is a folder, but not of a run; give the folder that "
                "deepcs train wrote, or open all below it with deepcs studio."
            )
        return f"agent:{find_shipped(name).name}"


def _is_run(name: str) -> bool:
    return not name.startswith(PREFIX) and RunFolder(name).holds_run


@dataclass(frozen=True)
class Play(Served):
    """Play a game yourself, with the curiosity grid lighting up under you."""

    game: Annotated[str, tyro.conf.Positional] = "KeyHallway"
    """a game, a maze, module:NAME of your own game or module:factory of your own environment"""
    seed: int = 0
    """which game: the number that it has in deepcs evaluate"""

    def run(self) -> None:
        check_whole("seed {}", self.seed, 0, limits.GAME_NUMBER)
        world = world_name(self.game)
        allow([world])
        check_known(world)
        own = (world,) if ":" in world else ()
        self.serve(Path(), f"#/play?{urlencode({'world': world, 'game': self.seed})}", own)
