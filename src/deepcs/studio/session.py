"""One page's connection: it opens a group, or continues its old one, and controls it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from deepcs.studio.catalog import Catalog, NotHereError
from deepcs.studio.group import Group
from deepcs.studio.messages import (
    Allow,
    Attach,
    Message,
    MessageError,
    Open,
    Order,
    PlayerSpec,
    parse,
)
from deepcs.studio.stage import Role
from deepcs.system.process import WorkerError

MOST_GROUPS = 6  # processes in parallel
KEPT_SECONDS = 60.0  # that a group waits for its page to come back
HIDDEN_SECONDS = 300.0  # after which a hidden page has to do without its players
REFUSED, FAILED, MOVED, RESTS = 1008, 1011, 4001, 4002  # why a connection is closed
LEFT = 1006  # without a word of the page
DONE = 4000  # the page says that it will not come back
LAST_WORD = 5.0  # seconds that a page may take to say so


class Groups:
    """All groups of a server, and the code that the user has allowed for each run."""

    def __init__(self, catalog: Catalog, worlds: Callable[[], Sequence[str]]) -> None:
        self._catalog = catalog
        self._worlds = worlds
        self._groups: dict[str, Group] = {}
        self._pages: dict[str, WebSocket] = {}
        self._allowed: dict[str, tuple[str, ...]] = {}
        self._leaving: dict[str, asyncio.Task[None]] = {}
        """groups that end soon, unless their page comes back or is shown"""

    async def talk(self, page: WebSocket) -> None:
        """A whole connection; a malformed message closes it, and no other."""
        await page.accept()
        returns = True
        try:
            while True:
                await self._heed(page, await _hear(page), self._group_of(page))
        except WebSocketDisconnect as left:
            returns = left.code != DONE and await _last_word(page) != DONE
        except asyncio.CancelledError:
            pass  # the server ends
        except MessageError as error:
            await _close(page, REFUSED, str(error))
        except WorkerError as error:
            if (group := self._group_of(page)) is not None:
                group.dead = True
            with contextlib.suppress(WebSocketDisconnect):
                await _tell(page, {"is": "failed", "sentence": str(error)})
            await _close(page, FAILED, "The player's process has ended.")
        finally:
            self._leave(page, returns)

    def _group_of(self, page: WebSocket) -> Group | None:
        """The group that the page controls, from before its players are loaded."""
        name = next((name for name, its in self._pages.items() if its is page), "")
        return self._groups.get(name)

    async def _heed(self, page: WebSocket, message: Message, group: Group | None) -> None:
        """Do what the page asks for; group: the one that it controls."""
        if isinstance(message, Open):
            await self._open(page, message, group)
        elif isinstance(message, Attach):
            await self._attach(page, message, group)
        elif isinstance(message, Allow):
            self._allow(message)
        elif group is None:
            raise MessageError("Got an order before anything was opened.")
        else:
            await group.obey(message)
            self._rest(page, group, message)

    async def _attach(self, page: WebSocket, message: Attach, group: Group | None) -> None:
        """Give the page the group that it had, unless it has another by now."""
        kept = self._groups.get(message.group)
        if kept is None or kept.dead or kept.cast is None or group is not None:
            await _tell(page, {"is": "gone"})
            return
        await self._take(page, kept)
        await _tell(page, kept.cast)
        await kept.attach(page)

    async def _open(self, page: WebSocket, message: Open, group: Group | None) -> None:
        """Bring the players into the page's group, which is a new one where it has none."""
        try:
            roles = [self._role(spec) for spec in message.players]
        except NotHereError as error:
            await _tell(page, {"is": "refused", "sentence": str(error), "code": []})
            return
        if group is None:
            group = await self._new(page)
        if group is None:
            sentence = "Too many games are open; close another page of the studio first."
            await _tell(page, {"is": "refused", "sentence": sentence, "code": []})
            return
        cast = await group.open(roles, message.game, message.greedy)
        if cast.refusal:
            told = {"is": "refused", "sentence": cast.refusal, "code": cast.code}
            await _tell(page, {**told, "player": message.players[cast.refused].name})
            return
        group.cast = {"is": "cast", "players": cast.players, "waits": cast.waits}
        await _tell(page, group.cast)
        await group.attach(page)

    def _role(self, spec: PlayerSpec) -> Role:
        """Where a player is to be found; raises NotHereError."""
        if spec.kind == "you":
            if spec.name not in self._worlds():
                raise NotHereError(f"There is no world {spec.name!r} to play here.")
            return Role("you", spec.name)
        if spec.kind == "agent":
            return Role("agent", spec.name)
        path = self._catalog.run(spec.name)
        return Role("run", str(path), spec.step, self._allowed.get(spec.name, ()))

    def _allow(self, message: Allow) -> None:
        try:
            self._catalog.run(message.run)
        except NotHereError as error:
            raise MessageError("Got a run to allow that is not here.") from error
        self._allowed[message.run] = message.code

    async def _new(self, page: WebSocket) -> Group | None:
        """A new group of the page; if there are too many, one without a page is closed."""
        unwatched = [name for name in self._groups if name not in self._pages]
        full = len(self._groups) >= MOST_GROUPS
        if full and not unwatched:
            return None
        group = Group()
        # It has its place, and its page, before anything is waited for: others come meanwhile.
        self._groups[group.name] = group
        self._pages[group.name] = page
        if full:
            await self._end(unwatched[0])
        return group

    async def _take(self, page: WebSocket, group: Group) -> None:
        """The page controls the group; one that did before is told so."""
        self._keep(group.name)
        before = self._pages.get(group.name)
        self._pages[group.name] = page
        if before is not None and before is not page:
            group.detach(before)
            await _close(before, MOVED, "This game went on in another page.")

    def _rest(self, page: WebSocket, group: Group, message: Message) -> None:
        """A page that stays hidden gives its process to others; shown again, it comes back."""
        if self._pages.get(group.name) is not page:
            return  # it was taken by another meanwhile
        if message == Order("hide"):
            self._later(group.name, self._close_hidden(page))
        elif message == Order("show"):
            self._keep(group.name)

    async def _close_hidden(self, page: WebSocket) -> None:
        await asyncio.sleep(HIDDEN_SECONDS)
        await _close(page, RESTS, "The page was hidden for long.")

    def _leave(self, page: WebSocket, returns: bool) -> None:
        group = self._group_of(page)
        if group is not None:
            del self._pages[group.name]
            group.detach(page)
            self._later(group.name, self._wait(group, returns))

    async def _wait(self, group: Group, returns: bool) -> None:
        """A page that is reloaded finds its game as it was."""
        if returns and not group.dead and group.cast is not None:
            await asyncio.sleep(KEPT_SECONDS)
        self._leaving.pop(group.name, None)
        await self._end(group.name)

    def _later(self, name: str, ends: Coroutine[Any, Any, None]) -> None:
        """Instead of what was to end the group before."""
        self._keep(name)
        self._leaving[name] = asyncio.create_task(ends)

    def _keep(self, name: str) -> None:
        """Whatever was to end the group does not."""
        leaving = self._leaving.pop(name, None)
        if leaving is not None:
            leaving.cancel()

    async def _end(self, name: str) -> None:
        self._keep(name)
        group = self._groups.pop(name, None)
        if group is not None:
            await group.close()

    async def close(self) -> None:
        for name in list(self._groups):
            await self._end(name)


async def _hear(page: WebSocket) -> Message:
    received = await page.receive()
    if received["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(received.get("code", 1000))
    text = received.get("text")
    if text is None:
        raise MessageError("Got bytes; messages are text.")
    return parse(text)


async def _last_word(page: WebSocket) -> int:
    """The code with which a page has left, behind all that it had said before."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LAST_WORD):
            while page.client_state is WebSocketState.CONNECTED:
                received = await page.receive()
                if received["type"] == "websocket.disconnect":
                    return int(received.get("code") or LEFT)
    return LEFT


async def _tell(page: WebSocket, what: Any) -> None:
    """Send a message; raises WebSocketDisconnect if the page has left."""
    try:
        await page.send_json(what)
    except RuntimeError as error:
        raise WebSocketDisconnect(LEFT) from error


async def _close(page: WebSocket, code: int, reason: str) -> None:
    """Close a connection, if it is not closed already, from this side or the other."""
    with contextlib.suppress(RuntimeError, WebSocketDisconnect):
        await page.close(code, reason[:100])
