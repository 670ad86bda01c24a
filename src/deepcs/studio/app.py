"""The server's routes: the page's files, its JSON, and its websocket."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import mimetypes
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp

from deepcs._version import __version__
from deepcs.analysis.published import counterpart
from deepcs.curiosity.games import games
from deepcs.envs.mazes import MAZES
from deepcs.runs.errors import RunError
from deepcs.runs.shipped import ShippedAgent, shipped_agents
from deepcs.studies.experiment import StudyError
from deepcs.studio.catalog import Catalog, NotHereError
from deepcs.studio.details import CurveReader, FirstGames, settings_of, visits_of
from deepcs.studio.guard import Door, Guard
from deepcs.studio.matrix import Matrices
from deepcs.studio.session import Groups
from deepcs.studio.summaries import Summaries, as_json

PICTURE = "world-"  # begins the name of a world's picture
KINDS = {".html", ".css", ".js", ".svg", ".png"}  # of the page's files
REPORT_KINDS = {".html", ".png", ".svg", ".pdf", ".csv", ".tex", ".md", ".mp4", ".json"}
# A report may come from elsewhere: no script in it runs. It keeps its origin, as browsers would
# take its own videos and links for another site's; links to tables download them.
REPORT_POLICY = (
    "sandbox allow-same-origin allow-popups allow-downloads; default-src 'none'; "
    "script-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; media-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
Maker = Callable[[str], Any]


class Studio:
    """What the routes return."""

    def __init__(self, folder: Path, own_worlds: Sequence[str] = ()) -> None:
        """own_worlds: module:name of worlds that were named on the command line."""
        self.catalog = Catalog(folder)
        self.summaries = Summaries(self.catalog)
        self._own_worlds = tuple(own_worlds)
        self._one_at_a_time = threading.Lock()
        self._curves = CurveReader()
        self._firsts: dict[Path, FirstGames] = {}
        self._matrices = Matrices(self.catalog)
        self.groups = Groups(self.catalog, self.worlds)
        page = resources.files("deepcs.studio") / "page"
        self._files = {
            item.name: item.read_bytes()
            for item in page.iterdir()
            if Path(item.name).suffix in KINDS
        }

    def worlds(self) -> list[str]:
        """What a person can play."""
        return [*games(), *MAZES, *self._own_worlds]

    async def front(self, request: Request) -> Response:
        return Response(self._files["index.html"], media_type="text/html")

    async def file(self, request: Request) -> Response:
        """One of the page's own files, from a fixed list of names."""
        content = self._files.get(request.path_params["name"])
        if content is None:
            raise HTTPException(404)
        kind, _ = mimetypes.guess_type(request.path_params["name"])
        return _answer(request, content, kind or "text/plain")

    async def overview(self, request: Request) -> Response:
        return await self._json(request, lambda _: self._overview())

    def _overview(self) -> dict[str, Any]:
        return {
            "version": __version__,
            "folder": self.catalog.root.name or "/",
            "runs": [as_json(summary) for summary in self.summaries.all()],
            "studies": [
                {"name": name, "runs": self._matrices.size(name)}
                for name in self.catalog.find().studies
            ],
            "agents": [_agent(agent) for agent in shipped_agents()],
            "worlds": self.worlds(),
            "pictures": [
                name[len(PICTURE) : -len(".png")]
                for name in self._files
                if name.startswith(PICTURE)
            ],
        }

    async def run(self, request: Request) -> Response:
        return await self._json(request, self._run)

    def _run(self, name: str) -> dict[str, Any]:
        path = self.catalog.run(name)
        saved = self.summaries.saved(path)
        firsts = self._firsts.setdefault(path, FirstGames(path, saved.config.world))
        return {
            **as_json(self.summaries.one(name)),
            "settings": settings_of(saved),
            "versions": {key: str(text) for key, text in saved.versions.items()},
            "curve": self._curves.read(path),
            **firsts.look(),
        }

    async def visits(self, request: Request) -> Response:
        return await self._json(request, self._visits)

    def _visits(self, name: str) -> dict[str, Any]:
        path = self.catalog.run(name)
        return visits_of(path, self.summaries.saved(path))

    async def study(self, request: Request) -> Response:
        return await self._json(request, self._matrices.read)

    async def report(self, request: Request) -> Response:
        """A file of a study's report: STUDY/report/FILE, or report/FILE of the folder itself."""
        name = request.path_params["path"]
        study, mark, _ = f"/{name}".rpartition("/report/")
        try:
            self.catalog.study(study.removeprefix("/") or ".")
            path = self.catalog.below(name)
        except NotHereError as error:
            raise HTTPException(404) from error
        if not mark or not path.is_file() or path.suffix not in REPORT_KINDS:
            raise HTTPException(404)
        kind, _ = mimetypes.guess_type(path.name)
        headers = {"content-security-policy": REPORT_POLICY}
        # It answers with ranges, without which browsers cannot wind a film on.
        return FileResponse(path, media_type=kind or "text/plain", headers=headers)

    async def _json(self, request: Request, make: Maker) -> Response:
        """What `make` returns for the requested name; nothing, if the page has it already."""
        try:
            content = await asyncio.to_thread(
                self._made, make, request.query_params.get("name", "")
            )
        except NotHereError as error:
            return JSONResponse({"problem": str(error)}, 404)
        except (RunError, StudyError, OSError) as error:
            return JSONResponse({"problem": str(error)}, 422)
        text = json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
        return _answer(request, text, "application/json")

    def _made(self, make: Maker, name: str) -> Any:
        with self._one_at_a_time:
            return make(name)


def _answer(request: Request, content: bytes, kind: str) -> Response:
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers={"etag": tag})
    return Response(content, media_type=kind, headers={"etag": tag})


def _agent(agent: ShippedAgent) -> dict[str, Any]:
    paper = counterpart(agent.world, agent.treatment)
    told = None if paper is None else {"method": paper.method, "score": paper.score.points}
    return {**vars(agent), "paper": told}


def make_app(studio: Studio, door: Door) -> ASGIApp:
    """The whole server behind its guard."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await studio.groups.close()

    app = Starlette(
        routes=[
            Route("/", studio.front),
            Route("/page/{name}", studio.file),
            Route("/api/overview", studio.overview),
            Route("/api/run", studio.run),
            Route("/api/visits", studio.visits),
            Route("/api/study", studio.study),
            Route("/reports/{path:path}", studio.report),
            WebSocketRoute("/play", studio.groups.talk),
        ],
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return Guard(app, door)
