"""Access: only pages that this server sent may make requests.

A page of another site cannot read from here, connect, or be rebound to this address by its own
name server: Host must be one of this server's names, Origin must be that Host, and browsers say by
Sec-Fetch-Site where a request comes from. Where the server is open to a network, a token is
required too.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
COOKIE = "deepcs_studio"  # begins its name
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


@dataclass(frozen=True)
class Door:
    """Where the server is to be reached, and what opens it."""

    port: int
    host: str | None = None
    """the address that was asked for; None: this machine only"""
    token: str | None = None
    names: tuple[str, ...] = ()
    """this machine's own, in small letters, where it is reached from a network"""

    def knows(self, host: str) -> bool:
        """Whether a Host header is one of this server's names."""
        name, colon, port = host.rpartition(":")
        if not colon or host.endswith("]"):  # as browsers leave out the usual port
            name, port = host, "80"
        if port != str(self.port):
            return False
        if self.host is None:
            return name in LOOPBACK
        known = {*LOOPBACK, self.host.lower(), *self.names}
        return name.lower() in known or _is_address(name.strip("[]"))

    @property
    def cookie(self) -> str:
        """The cookie's name: all servers of a host share its cookies, whatever their port."""
        return f"{COOKIE}_{self.port}"

    def admits(self, cookies: str) -> bool:
        """Whether the cookies of a request hold the token, or none is needed."""
        if self.token is None:
            return True
        # By hand: http.cookies drops all that follow one that it cannot read.
        pairs = (pair.strip().partition("=") for pair in cookies.split(";"))
        return any(name == self.cookie and self.is_token(value) for name, _, value in pairs)

    def is_token(self, given: str) -> bool:
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())


def machine_names() -> tuple[str, ...]:
    """What this machine is called; a name server may take seconds to answer."""
    return socket.gethostname().lower(), socket.getfqdn().lower()


def _is_address(name: str) -> bool:
    """DNS rebinding works for names, not for IP addresses."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """ASGI middleware: refuses requests of other pages, adds security headers."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in _once(scope)}
        refusal = self._refusal(scope, headers)
        if scope["type"] == "websocket":
            await (WebSocketClose(1008) if refusal else self._app)(scope, receive, send)
            return
        entering = self._enter(scope)
        if refusal is None and entering is not None:
            await entering(scope, receive, _dressed(send))
            return
        if refusal is None and not self._door.admits(headers.get("cookie", "")):
            refusal = PlainTextResponse(
                "This studio asks for its token: open the address that deepcs studio printed.", 403
            )
        await (refusal or self._app)(scope, receive, _dressed(send))

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> Response | None:
        """Why a request is refused; None: it is not."""
        host = headers.get("host", "")
        if not self._door.knows(host):
            return PlainTextResponse("This is not an address of the studio.", 421)
        is_socket = scope["type"] == "websocket"
        origin = headers.get("origin")
        if (origin is not None or is_socket) and not _same(origin, host):
            return PlainTextResponse("Pages of other sites may not ask.", 403)
        if is_socket and not self._door.admits(headers.get("cookie", "")):
            return PlainTextResponse("", 403)
        # A link on another site may lead to the front page, as typing its address does.
        led = headers.get("sec-fetch-mode") == "navigate" and scope["path"] == "/"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not led:
            return PlainTextResponse("Pages of other sites may not ask.", 403)
        return None

    def _enter(self, scope: Scope) -> Response | None:
        """The token in the address becomes a cookie, and leaves the address."""
        if scope["path"] != "/" or self._door.token is None:
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if len(given) != 1 or not self._door.is_token(given[0]):
            return None
        response = RedirectResponse("/", 303)
        # Not strict: browsers would not send it on to "/" where a page elsewhere linked here.
        response.set_cookie(self._door.cookie, given[0], httponly=True, samesite="lax")
        return response


def _once(scope: Scope) -> list[tuple[bytes, bytes]]:
    """The headers, unless one that access depends on is there twice."""
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    names = [name for name, _ in headers]
    twice = any(names.count(name) > 1 for name in (b"host", b"origin", b"sec-fetch-site"))
    return [] if twice else headers


def _same(origin: str | None, host: str) -> bool:
    if origin is None:
        return False
    parts = urlsplit(origin)
    return parts.scheme == "http" and origin == f"http://{host}"


def _dressed(send: Send) -> Send:
    """Adds the headers to every answer that does not have its own."""

    async def dressed(message: Message) -> None:
        if message["type"] == "http.response.start":
            has = {name for name, _ in message["headers"]}
            new = ((name.encode(), text.encode()) for name, text in HEADERS.items())
            message["headers"] = [*message["headers"], *(h for h in new if h[0] not in has)]
        await send(message)

    return dressed
