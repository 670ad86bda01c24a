"""A watched group: its process, its pace, and the page that it is shown to.

The page acknowledges the frames that it has drawn. At most two are in flight; a newer frame
replaces one that waits, so a slow page sees fewer frames and none pile up. The game pauses while
the page is hidden, gone, or silent for a while.
"""

from __future__ import annotations

import asyncio
import math
import os
import secrets
import struct
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.websockets import WebSocketDisconnect

from deepcs.studio.messages import Again, Keys, Message, MessageError, Order, Seen, Speed
from deepcs.studio.stage import Cast, Progress, Role, build_stage
from deepcs.system.process import Process, WorkerError, shared_memory

STEPS_PER_SECOND = 15.0  # a person's pace: 60 raw frames, 4 to a step
MAZE_STEPS_PER_SECOND = 8.0  # while a person holds a key down
FRAMES_PER_SECOND = 60.0  # shown, at most
FRAMES_OF_EACH = 30.0  # where there are several players
RAW_FRAMES = 4  # to a step
UNDER_WAY = 2  # frames in flight, not yet drawn by the page
SILENCE = 2.0  # seconds without a message from the page, after which the game pauses
FRAME = struct.Struct("<I")  # a frame's number, before its showing


class Page(Protocol):
    """What a websocket can do."""

    async def send_bytes(self, data: bytes) -> None: ...
    async def send_json(self, data: Any) -> None: ...


@dataclass
class Playing:
    """What the page's buttons show."""

    game: int = 0
    greedy: bool = False
    speed: float = 1.0
    playing: bool = False
    over: bool = False


class Group:
    """Players in a separate process, shown to one page at a time."""

    def __init__(self) -> None:
        self.name = secrets.token_urlsafe(16)
        self.state = Playing()
        self.cast: dict[str, Any] | None = None
        """what the page was told of the players"""
        self.dead = False
        """its process has died"""
        self._process: Process | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="studio-group")
        self._turn = asyncio.Lock()  # one question to the process at a time
        self._cuts = 0  # how often the page has asked for something else than playing on
        self._changed = asyncio.Event()
        self._page: Page | None = None
        self._hidden = False
        self._waits = False
        self._players = 1
        self._held: frozenset[str] = frozenset()
        self._pressed: frozenset[str] = frozenset()
        self._sent = self._seen = 0
        self._heard = 0.0
        self._newest: bytes | None = None  # not yet sent
        self._pacing: asyncio.Task[None] | None = None

    async def open(self, roles: Sequence[Role], game: int, greedy: bool) -> Cast:
        """Bring players in; `attach` shows their first moment."""
        async with self._turn:
            cast: Cast = await self._ask("open", roles, game, greedy)
        if not cast.refusal:
            self._cuts += 1
            self.state = Playing(game, greedy, self.state.speed)
            self._waits, self._players = cast.waits, len(roles)
            self._pressed = self._held = frozenset()
        return cast

    async def attach(self, page: Page) -> None:
        """Show everything to this page from now on."""
        if self._page is not page:
            self._page = page
            self._hidden = False
            self._sent = self._seen = 0
        if self._pacing is None:
            self._pacing = asyncio.create_task(self._pace())
        if self.cast is not None:
            await self._show(await self._do("look"))
        await self.tell_state()
        self._changed.set()

    def detach(self, page: Page) -> bool:
        """The page is gone; returns whether no page is left."""
        if self._page is page:
            self._page = None
        return self._page is None

    async def tell_state(self) -> None:
        await self.tell({"is": "state", "group": self.name, **vars(self.state)})

    async def tell(self, what: dict[str, Any]) -> None:
        """Send a message to the page, if there is one."""
        if self._page is not None:
            with self._leaving():
                await self._page.send_json(what)

    async def obey(self, message: Message) -> None:
        """Do what the page asks of a group that is open."""
        self._heard = time.monotonic()
        match message:
            case Seen(frame):
                if not self._seen <= frame <= self._sent:
                    raise MessageError("Got a frame that was not sent.")
                self._seen = frame
                await self._flush()
            case Keys(held, pressed):
                self._held, self._pressed = held, self._pressed | pressed
            case Speed(times):
                self.state.speed = times
                await self.tell_state()
            case Again(game, greedy):
                self.state.game, self.state.greedy, self.state.over = game, greedy, False
                await self._show(await self._do("again", game, greedy))
                await self.tell_state()
            case Order(do):
                await self._order(do)
            case _:
                raise MessageError("Got a message that is not for a group.")
        self._changed.set()

    async def _order(self, do: str) -> None:
        if do in ("hide", "show"):
            self._hidden = do == "hide"
            return
        self.state.playing = do == "play" and not self.state.over
        if do == "step":
            await self._show(await self._do("advance", 1, 1, self._take_keys()))
        await self.tell_state()

    def _take_keys(self) -> frozenset[str]:
        keys, self._pressed = self._held | self._pressed, frozenset()
        return keys

    @property
    def _runs(self) -> bool:
        silent = self._sent > self._seen and time.monotonic() - self._heard > SILENCE
        return self.state.playing and not self._hidden and self._page is not None and not silent

    async def _pace(self) -> None:
        """Play as fast as the page asks for; tell the page if the process dies."""
        try:
            await self._play()
        except WorkerError as error:
            self.dead = True
            await self.tell({"is": "failed", "sentence": str(error)})

    async def _play(self) -> None:
        due = time.monotonic()
        while True:
            if not self._runs:
                self._changed.clear()
                await self._changed.wait()
                due = time.monotonic()
                continue
            cuts, (steps, pictures, period) = self._cuts, self._measure()
            async with self._turn:
                if cuts != self._cuts:
                    continue
                progress: Progress = await self._ask("advance", steps, pictures, self._take_keys())
            if await self._show_in_time(progress.showings, due, period, cuts) and progress.over:
                await self._end()
            due = max(due + period, time.monotonic())
            await asyncio.sleep(max(0.0, due - time.monotonic()))

    async def _show_in_time(
        self, showings: Sequence[bytes], due: float, period: float, cuts: int
    ) -> bool:
        """Spread pictures over a step; whether none was left out because a newer one was shown."""
        for k, showing in enumerate(showings):
            await asyncio.sleep(max(0.0, due + k * period / len(showings) - time.monotonic()))
            if cuts != self._cuts:
                return False
            await self._offer(showing)
        return cuts == self._cuts

    def _measure(self) -> tuple[int, int, float]:
        """Steps to take in one request, pictures to show of the last, and the seconds they last."""
        pace = MAZE_STEPS_PER_SECOND if self._waits else STEPS_PER_SECOND
        rate = pace * self.state.speed
        frames = FRAMES_PER_SECOND if self._players == 1 else FRAMES_OF_EACH
        steps = math.ceil(rate / frames)
        pictures = 1 if steps > 1 else max(1, min(RAW_FRAMES, int(frames / rate)))
        return steps, pictures, steps / rate

    async def _end(self) -> None:
        self.state.playing, self.state.over = False, True
        await self.tell_state()

    async def _show(self, progress: Progress) -> None:
        self.state.over = progress.over
        for showing in progress.showings:
            await self._offer(showing)

    async def _offer(self, showing: bytes) -> None:
        self._newest = showing
        await self._flush()

    async def _flush(self) -> None:
        """Send the newest showing, if the page has drawn enough of those before."""
        if self._page is None or self._newest is None or self._sent - self._seen >= UNDER_WAY:
            return
        showing, self._newest = self._newest, None
        if self._sent == self._seen:
            self._heard = time.monotonic()  # the page has a frame to acknowledge from now on
        self._sent += 1
        with self._leaving():
            await self._page.send_bytes(FRAME.pack(self._sent) + showing)

    @contextmanager
    def _leaving(self) -> Iterator[None]:
        """A page that leaves while something is sent to it is gone."""
        try:
            yield
        except (WebSocketDisconnect, RuntimeError):
            self._page = None

    async def _do(self, verb: str, *args: Any) -> Progress:
        """What the page asks for is shown at once: what `_play` still has to show is older."""
        async with self._turn:
            progress: Progress = await self._ask(verb, *args)
            self._cuts += 1
        return progress

    async def _ask(self, verb: str, *args: Any) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._ask_process, verb, *args)

    def _ask_process(self, verb: str, *args: Any) -> Any:
        if self._process is None:
            memory = shared_memory(os.sysconf("SC_PAGE_SIZE"))
            try:
                self._process = Process(
                    "The player's process", memory, False, build_stage, advice="begin again"
                )
            finally:
                os.close(memory)
            self._process.answer()
        self._process.ask(verb, *args)
        return self._process.answer()

    async def close(self) -> None:
        """End the process."""
        if self._pacing is not None:
            self._pacing.cancel()
        if self._process is not None:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._process.close)
        self._thread.shutdown(wait=False)
