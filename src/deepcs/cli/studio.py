"""The subcommands that open the studio."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

import tyro

from deepcs.envs.make import world_name
from deepcs.runs.folder import RunFolder
from deepcs.runs.shipped import PREFIX, find_shipped
from deepcs.system import limits
from deepcs.system.limits import check_whole


class StudioError(ValueError):
    """The studio cannot be opened."""


@dataclass(frozen=True)
class Served:
    """Where the studio is served."""

    host: str | None = None
    """an address of this machine to serve at, for other machines; asks for a token (None: only \
    this machine can reach it)"""
    port: int = 0
    """0: any that is free"""
    browser: bool = True
    """open the address in a browser"""

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
    """Watch a trained agent play, with its curiosity grid."""

    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME_OR_RUN")] = "."
    """the folder of a run, or the name of an agent that comes with the package"""
    step: int | None = None
    """checkpoint to play; None: the newest"""

    def run(self) -> None:
        path = Path(self.name)
        if RunFolder(path).holds_run:
            path = path.resolve()
            at = "" if self.step is None else f"@{self.step}"
            self.serve(path.parent, f"#/watch?{urlencode({'p': f'run:{path.name}{at}'})}")
        elif path.is_dir() and not self.name.startswith(PREFIX):
            raise StudioError(
                f"Got {self.name}, which is a folder, but not of a run; give the folder that "
                "deepcs train wrote, or open all below it with deepcs studio."
            )
        else:
            agent = find_shipped(self.name)
            self.serve(Path(), f"#/watch?{urlencode({'p': f'agent:{agent.name}'})}")


@dataclass(frozen=True)
class Play(Served):
    """Play a game yourself, with the curiosity grid lighting up under you."""

    game: Annotated[str, tyro.conf.Positional] = "KeyHallway"
    """a game, a maze, or module:NAME of a game or module:factory of an environment of your own"""
    seed: int = 0
    """which game: the number that it has in deepcs evaluate"""

    def run(self) -> None:
        check_whole("seed {}", self.seed, 0, limits.GAME_NUMBER)
        world = world_name(self.game)
        own = (world,) if ":" in world else ()
        self.serve(Path(), f"#/play?{urlencode({'world': world, 'game': self.seed})}", own)
