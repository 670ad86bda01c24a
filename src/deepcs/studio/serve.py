"""Starting the server: its address, its token, and the browser."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import sys
import webbrowser
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from deepcs.studio.app import Studio, make_app
from deepcs.studio.guard import Door, machine_names
from deepcs.studio.messages import LONGEST

GRACE = 1  # seconds for pages to disconnect when the server ends
PING = 20.0  # seconds between checks that a page is still there


class ServeError(ValueError):
    """An address that cannot be served at."""


@dataclass(frozen=True)
class Served:
    """A server that is ready to run."""

    server: uvicorn.Server
    socket: socket.socket
    address: str
    """to be opened; with the token, if one is needed"""

    def run(self) -> None:
        """Until Ctrl-C."""
        asyncio.run(self.server.serve(sockets=[self.socket]))


def prepare(studio: Studio, host: str | None = None, port: int = 0) -> Served:
    """A server of a studio. host: None: this machine only, without a token; port 0: a free one."""
    if host == "":
        raise ServeError(
            "Got host '', which is no address; give one of this machine's, 0.0.0.0 for all of "
            "them, or leave it out."
        )
    listening = _listen(host or "127.0.0.1", port)
    port = listening.getsockname()[1]
    token = None if host is None else secrets.token_urlsafe(24)
    door = Door(port, host, token, () if host is None else machine_names())
    config = uvicorn.Config(
        make_app(studio, door),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="websockets-sansio",
        ws_max_size=4 * LONGEST,
        ws_per_message_deflate=False,
        ws_ping_interval=PING,
        timeout_graceful_shutdown=GRACE,
    )
    shown = _shown_host(host)
    query = f"?token={token}" if token else ""
    return Served(uvicorn.Server(config), listening, f"http://{shown}:{port}/{query}")


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        raise ServeError(
            f"Got host {host} and port {port}, which cannot be served at ({error}); give an "
            "address of this machine, and a port that is free, or none."
        ) from error
    listening.listen(128)
    return listening


def _shown_host(host: str | None) -> str:
    if host in (None, "0.0.0.0", "::"):
        return "127.0.0.1" if host is None else socket.gethostname()
    return f"[{host}]" if ":" in str(host) else str(host)


def serve(
    folder: Path,
    place: str = "",
    *,
    host: str | None = None,
    port: int = 0,
    browser: bool = True,
    own_worlds: tuple[str, ...] = (),
) -> None:
    """Serve what is below a folder until Ctrl-C; place: where the page opens, such as #/runs."""
    if not folder.is_dir():
        raise ServeError(f"Got folder {folder}, which is not one; give the folder of your runs.")
    served = prepare(Studio(folder, own_worlds), host, port)
    address = served.address + place
    print(f"The studio is at {address}", flush=True)
    print("Ctrl-C ends it.", flush=True)
    # A browser's command line shows the token to every user of the machine.
    if browser and host is None and _has_screen():
        webbrowser.open(address)
    served.run()


def _has_screen() -> bool:
    """Whether a browser can show itself; else webbrowser would start one in the terminal."""
    return sys.platform == "darwin" or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
