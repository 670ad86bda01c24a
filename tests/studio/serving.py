"""A studio that is served for real, and pages that talk to it as a browser's would."""

from __future__ import annotations

import json
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from websockets.sync.client import ClientConnection, connect

from deepcs.studio.app import Studio
from deepcs.studio.serve import Served, prepare

PATIENCE = 60.0  # seconds: a player's process loads torch, on a machine that may be busy


@dataclass(frozen=True)
class Address:
    """Where a studio is served."""

    served: Served

    @property
    def port(self) -> int:
        return int(self.served.socket.getsockname()[1])

    @property
    def http(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str, **more: Any) -> httpx.Response:
        return httpx.get(self.http + path, timeout=PATIENCE, **more)

    def ask(self, path: str, name: str = "") -> Any:
        response = self.get(f"/api/{path}", params={"name": name})
        assert response.status_code == 200, response.text
        return response.json()


@contextmanager
def serving(folder: Path, **settings: Any) -> Iterator[Address]:
    """A server in a thread, until the end of the block."""
    served = prepare(Studio(folder), **settings)
    thread = threading.Thread(target=served.run)
    thread.start()
    try:
        while not served.server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield Address(served)
    finally:
        served.server.should_exit = True
        thread.join()


@dataclass(frozen=True)
class Frame:
    """A showing, as a page takes it apart."""

    number: int
    head: dict[str, Any]
    parts: list[bytes]

    @classmethod
    def of(cls, data: bytes) -> Frame:
        number, length = struct.unpack_from("<II", data)
        head = json.loads(data[8 : 8 + length])
        parts, at = [], 8 + length
        for size in (size for pair in head["sizes"] for size in pair):
            parts.append(data[at : at + size])
            at += size
        assert at == len(data)
        return cls(number, head, parts)

    @property
    def players(self) -> list[dict[str, Any]]:
        return self.head.get("players", [])


class Page:
    """One connection; every frame is said to be seen, unless `silent`."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.silent = False
        self.frames: list[Frame] = []
        self.state: dict[str, Any] = {}
        self.cast: list[dict[str, Any]] = []

    def say(self, do: str, **fields: Any) -> None:
        self.socket.send(json.dumps({"do": do, **fields}))

    def open(self, *players: dict[str, Any], game: int = 0, greedy: bool = False) -> None:
        self.say("open", players=list(players), game=game, greedy=greedy)
        told = self.hear("cast", "refused")
        assert told["is"] == "cast", told
        self.hear("state")

    def hear(self, *kinds: str) -> dict[str, Any]:
        """The next word of one of these kinds."""
        while True:
            told = self.receive()
            if told is not None and told["is"] in kinds:
                return told

    def receive(self, patience: float = PATIENCE) -> dict[str, Any] | None:
        """The next word; None: it was a frame."""
        data = self.socket.recv(patience)
        if isinstance(data, bytes):
            self.frames.append(Frame.of(data))
            if not self.silent:
                self.say("seen", frame=self.frames[-1].number)
            return None
        told: dict[str, Any] = json.loads(data)
        if told["is"] == "state":
            self.state = told
        if told["is"] == "cast":
            self.cast = told["players"]
        return told

    def until_silence(self, seconds: float) -> None:
        """Receive all that comes, until nothing has come for so long."""
        while True:
            try:
                self.receive(seconds)
            except TimeoutError:
                return

    def numbers(self) -> list[dict[str, Any]]:
        """The players of the next frame that tells numbers."""
        while True:
            if self.receive() is None and self.frames[-1].players:
                return self.frames[-1].players

    def step(self, times: int = 1) -> list[dict[str, Any]]:
        """Take steps one at a time; the numbers after the last."""
        for _ in range(times):
            self.say("step")
            players = self.numbers()
            self.hear("state")
        return players

    def again(self, game: int, greedy: bool = False) -> list[dict[str, Any]]:
        self.say("again", game=game, greedy=greedy)
        players = self.numbers()
        self.hear("state")
        return players


@contextmanager
def page(address: Address, **settings: Any) -> Iterator[Page]:
    settings = {"origin": address.http, **settings}
    with connect(f"ws://127.0.0.1:{address.port}/play", max_size=None, **settings) as socket:
        yield Page(socket)
