"""What the studio refuses: strangers, paths that lead elsewhere, code that nobody allowed."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import shutil
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving import Address, Page, page, serving
from websockets.exceptions import ConnectionClosed, InvalidStatus

from deepcs.studio.guard import COOKIE, Door
from deepcs.studio.messages import MessageError, parse

SECRET = "the secret of another folder"
PAGE = resources.files("deepcs.studio") / "page"
SCRIPTS = sorted(item.name for item in PAGE.iterdir() if item.name.endswith(".js"))
TAKES_MARKUP = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "srcdoc")


def raw(server: Address, path: str, **headers: str) -> tuple[int, bytes]:
    """A request whose path and Host are sent as they are."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.putrequest("GET", path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, content


def test_it_listens_to_this_machine_alone(server: Address) -> None:
    assert server.served.socket.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{}", "127.0.0.1", "", "localhost:1"]
)
def test_a_foreign_host_is_refused(server: Address, host: str) -> None:
    status, content = raw(server, "/api/overview", Host=host.format(server.port))
    assert (status, b"runs" in content) in ((421, False), (400, False))


@pytest.mark.parametrize("host", ["127.0.0.1:{}", "localhost:{}"])
def test_its_own_names_are_not(server: Address, host: str) -> None:
    assert raw(server, "/api/overview", Host=host.format(server.port))[0] == 200


FOREIGN = [
    "http://evil.example",
    "null",
    "http://127.0.0.1",
    "https://127.0.0.1:{}",
    "http://a@127.0.0.1:{}",
]


@pytest.mark.parametrize("origin", FOREIGN)
def test_a_foreign_origin_is_refused(server: Address, origin: str) -> None:
    origin = origin.format(server.port)
    assert raw(server, "/api/overview", Origin=origin)[0] == 403
    with pytest.raises(InvalidStatus, match="403"), page(server, origin=origin):
        pass


def test_a_websocket_without_an_origin_is_refused(server: Address) -> None:
    with pytest.raises(InvalidStatus, match="403"), page(server, origin=None):
        pass


def test_pages_of_other_sites_may_embed_nothing(server: Address) -> None:
    cross = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert raw(server, "/api/overview", **cross)[0] == 403
    assert raw(server, "/page/main.js", **cross)[0] == 403
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert raw(server, "/", **link)[0] == 200


def test_a_network_needs_the_token(folder: Path) -> None:
    with serving(folder, host="127.0.0.1") as open_studio:
        token = open_studio.served.address.partition("?token=")[2]
        assert len(token) >= 32
        for path in ("/", "/?token=guessed", "/api/overview", "/page/main.js"):
            assert open_studio.get(path).status_code == 403
        with pytest.raises(InvalidStatus, match="403"), page(open_studio):
            pass
        entered = open_studio.get(f"/?token={token}")
        assert (entered.status_code, entered.headers["location"]) == (303, "/")
        cookie = entered.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie  # so that a link elsewhere to the printed address works
        shown = {"cookie": cookie.partition(";")[0]}
        assert open_studio.get("/api/overview", headers=shown).status_code == 200
        with page(open_studio, additional_headers=shown):
            pass


def test_the_token_is_found_among_cookies_of_any_form() -> None:
    door = Door(80, "0.0.0.0", "token")
    for other in ('p={"a":1}', "=", "no name", "a=b=c", "[x]=1", f"{COOKIE}_81=another", ""):
        for cookies in (f"{other}; {door.cookie}=token", f"{door.cookie}=token;{other}"):
            assert door.admits(cookies)
        assert not door.admits(other)
    assert not door.admits(f"{door.cookie}=tok; {COOKIE}=token; {COOKIE}_81=token")


def test_two_studios_of_one_host_do_not_knock_each_other_out(folder: Path) -> None:
    with (
        serving(folder, host="127.0.0.1") as one,
        serving(folder, host="127.0.0.1") as other,
        httpx.Client() as browser,
    ):
        for studio in (one, other):
            assert browser.get(studio.served.address, follow_redirects=True).status_code == 200
        for studio in (one, other):
            assert browser.get(f"{studio.http}/page/main.js").status_code == 200


def test_every_answer_has_the_strict_policy(server: Address) -> None:
    for path in ("/", "/page/main.js", "/api/overview", "/nowhere", "/api/run?name=nowhere"):
        headers = server.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_the_page_has_no_inline_code_or_style() -> None:
    html = (PAGE / "index.html").read_text()
    assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", html))
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", html)


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_makes_markup_of_text(name: str) -> None:
    text = (PAGE / name).read_text()
    assert not [word for word in TAKES_MARKUP if word in text]


def test_a_report_is_shown_and_nothing_in_it_runs(server: Address) -> None:
    response = server.get("/reports/study/report/report.html")
    assert response.text.endswith("A report.")
    policy = response.headers["content-security-policy"]
    sandbox, *rules = policy.split("; ")
    assert sandbox == "sandbox allow-same-origin allow-popups allow-downloads"
    assert {"default-src 'none'", "script-src 'none'"} <= set(rules)


@pytest.fixture
def trap(folder: Path, tmp_path: Path) -> Iterator[Path]:
    """Links in the studio's folder that lead to a secret outside."""
    outside = tmp_path / "outside"
    shutil.copytree(folder / "deep" / "hall", outside / "run")
    (outside / "secret.csv").write_text(SECRET)
    (outside / "run" / "curve.csv").write_text(SECRET)
    links = folder / "links"
    shutil.copytree(folder / "deep" / "hall", links / "inner")
    (links / "inner" / "curve.csv").unlink()
    (links / "inner" / "curve.csv").symlink_to(outside / "secret.csv")
    (links / "outer").symlink_to(outside)
    (folder / "study" / "report" / "link.csv").symlink_to(outside / "secret.csv")
    yield outside
    shutil.rmtree(links)
    (folder / "study" / "report" / "link.csv").unlink()


def escapes(outside: Path, inner: Path) -> list[str]:
    """More than a hundred ways to name what is outside."""
    up = os.path.relpath(outside, inner)
    names = [
        *(f"{up}/run", f"{outside}/run", f"/{outside}/run", f"deep/hall/../../{up}/run"),
        *("links/outer/run", "links/inner", "..", "../..", "deep/..", "deep//hall", "./deep/hall"),
        *("deep/hall/", "/", "~", "~root", "deep/hall\0", "\0", "C:\\", "deep\\hall", "%2e%2e"),
        *("file:///etc", "....//....//", "..;/", "deep/hall/../hall", "deep/./hall", " ", "*"),
    ]
    encode = [
        lambda s: s,
        lambda s: s.replace("/", "%2f"),
        lambda s: s.replace(".", "%2e"),
        lambda s: s.replace("/", "%252f").replace(".", "%252e"),
        lambda s: s.replace("/", "%5c"),
        lambda s: s.replace("..", "%c0%ae%c0%ae"),
    ]
    safe = [name.replace("\0", "%00").replace(" ", "%20") for name in names]
    return [f(name) for name in safe for f in encode]


def test_no_path_leaves_the_folder(server: Address, folder: Path, trap: Path) -> None:
    tried = escapes(trap, folder)
    assert len(tried) > 100
    secret = os.path.relpath(trap / "secret.csv", folder)
    for name in tried:
        for path in (
            f"/api/run?name={name}",
            f"/reports/{name}/report/report.html",
            f"/reports/study/report/{name}",
            f"/page/{name}",
        ):
            status, content = raw(server, path)
            assert status in (404, 400, 422), (path, status)
            assert SECRET.encode() not in content
    for path in (
        f"/reports/study/report/{secret}",
        f"/reports/study/report/{trap}/secret.csv",
        "/reports/study/report/link.csv",
        "/reports/study/report/../study.json",
        "/reports/study/report/%2e%2e/study.json",
        "/page/..%2fapp.py",
        "/page/../app.py",
    ):
        assert raw(server, path)[0] == 404, path


def test_runs_behind_links_are_not_found_and_not_played(
    server: Address, folder: Path, trap: Path, theatre: Page
) -> None:
    names = {run["name"] for run in server.ask("overview")["runs"] if "problem" not in run}
    assert not {name for name in names if name.startswith("links")}
    for name in ("links/outer/run", "links/inner", f"{trap}/run"):
        player = {"kind": "run", "name": name}
        theatre.say("open", players=[player], game=0, greedy=False)
        assert theatre.hear("refused", "cast")["is"] == "refused"


LONE = (
    '{"do": "open", "players": [{"kind": "KIND", "name": "a\\udc00"}], "game": 0, "greedy": true}'
)
MALFORMED = [
    *("", "{", "null", "[]", "1", '"play"', "{}", '{"do": 1}', '{"do": "fly"}', '{"do": null}'),
    *('{"do": "play", "more": 1}', '{"do": "open"}', '{"do": "speed", "times": "fast"}'),
    *('{"do": "speed", "times": NaN}', '{"do": "speed", "times": 1e999}', '{"do": "seen"}'),
    *('{"do": "speed", "times": -1}', '{"do": "seen", "frame": -1}', '{"do": "seen", "frame": 9}'),
    '{"do": "open", "players": [], "game": 0, "greedy": false}',
    '{"do": "open", "players": [{}], "game": 0, "greedy": false}',
    '{"do": "open", "players": [{"kind": "god", "name": "a"}], "game": 0, "greedy": false}',
    '{"do": "open", "players": "run", "game": 0, "greedy": false}',
    '{"do": "open", "players": [{"kind": "run", "name": "a"}], "game": true, "greedy": false}',
    '{"do": "open", "players": [{"kind": "run", "name": "a"}], "game": 1.5, "greedy": false}',
    '{"do": "keys", "held": ["sudo"], "pressed": []}',
    '{"do": "keys", "held": [["left"]], "pressed": []}',
    *('{"do": "allow", "run": "../elsewhere", "code": []}', '{"do": "allow", "run": "deep/hall"}'),
    *('{"do": "allow", "run": "deep/hall", "code": [[]]}', '{"do": "allow", "code": []}'),
    '{"do": "again", "game": 99999999999999999999, "greedy": false}',
    *('{"do": "attach", "group": "\\ud800"}', '{"do": "\\udfff"}', '{"\\udc80": "play"}'),
    *('{"do": "allow", "run": "deep/hall", "code": ["\\udcff:x"]}', '{"do": "play\\ud834"}'),
    *(LONE.replace("KIND", kind) for kind in ("run", "agent", "you")),
    *("[" * 5_000, '{"do":' * 1_000, '{"do": "' + "a" * 7_000 + '"}', "9" * 8_000, "\ud7ff\0"),
    '{"do": "play"}',  # before anything was opened
]


def mangled(rng: random.Random) -> str:
    """A good message with some of its characters changed."""
    good = (
        '{"do": "open", "players": [{"kind": "you", "name": "Freeway"}], "game": 0, "greedy": true}'
    )
    letters = list(good)
    for _ in range(rng.randint(1, 6)):
        letters[rng.randrange(len(letters))] = chr(rng.randrange(1, 300))
    return "".join(letters)


def is_refused(text: str) -> bool:
    try:
        parse(text)
    except MessageError:
        return True
    return False


def test_a_malformed_message_closes_its_own_connection_and_no_other(
    server: Address, theatre: Page
) -> None:
    theatre.open({"kind": "run", "name": "deep/hall"})
    rng = random.Random(1)
    changed = [text for text in (mangled(rng) for _ in range(200)) if is_refused(text)]
    messages: list[Any] = [*MALFORMED, b"bytes", b"\xff" * 100, *changed]
    assert len(messages) > 150
    for message in messages:
        with page(server) as opened:
            opened.socket.send(message)
            with pytest.raises(ConnectionClosed) as closed:
                opened.receive(10)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1008, message
    with page(server) as opened:
        opened.socket.send("x" * 200_000)
        with pytest.raises(ConnectionClosed):
            opened.receive(10)
    assert theatre.step()[0]["step"] == 1
    assert server.get("/").status_code == 200


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
names = st.sampled_from(("do", "players", "game", "greedy", "times", "frame", "held", "kind"))
words = st.sampled_from(("open", "again", "speed", "keys", "seen", "attach", "allow", "play"))


@settings(max_examples=200, deadline=None)
@given(
    st.text(max_size=60)
    | values.map(json.dumps)
    | st.dictionaries(names, values | words).map(json.dumps)
)
def test_any_text_is_a_message_or_refused(text: str) -> None:
    is_refused(text)


def test_the_guard_decides_before_anything_is_looked_up(server: Address) -> None:
    """A rebound name learns nothing, not even which addresses exist."""
    for path in (
        "/",
        "/api/overview",
        "/page/main.js",
        "/page/none.js",
        "/reports/a/report/b.html",
    ):
        status, content = raw(server, path, Host=f"rebound.example:{server.port}")
        assert (status, content) == (421, b"This is not an address of the studio.")


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1:{0}@evil.example", "evil.example#127.0.0.1:{0}", "127.0.0.1:{0}.evil.example"),
        *("127.0.0.1 :{0}", "LOCALHOST.evil:{0}", "0.0.0.0:{0}", "[::]:{0}", "2130706433:{0}"),
        *("0x7f.1:{0}", "127.1:{0}", "localhost.:{0}", "127.0.0.1:0{0}", "127.0.0.1:+{0}"),
    ],
)
def test_a_host_that_only_looks_like_its_own_is_refused(server: Address, host: str) -> None:
    assert raw(server, "/api/overview", Host=host.format(server.port))[0] in (400, 421)


def test_a_host_that_stands_there_twice_is_refused(server: Address) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.putrequest("GET", "/api/overview", skip_host=True)
    connection.putheader("Host", f"127.0.0.1:{server.port}")
    connection.putheader("Host", "evil.example")
    connection.endheaders()
    assert connection.getresponse().status in (400, 421)
    connection.close()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_nothing_can_be_changed_over_http(server: Address, method: str) -> None:
    for path in ("/", "/api/overview", "/page/main.js", "/reports/study/report/report.html"):
        assert httpx.request(method, server.http + path).status_code == 405


def test_a_folder_that_becomes_a_link_is_no_longer_read(folder: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    shutil.copytree(folder / "deep", root / "deep")
    with serving(root) as studio:
        assert studio.get("/api/run", params={"name": "deep/hall"}).status_code == 200
        (root / "deep").rename(tmp_path / "elsewhere")
        (root / "deep").symlink_to(tmp_path / "elsewhere")
        for address in ("run", "visits"):
            asked = studio.get(f"/api/{address}", params={"name": "deep/hall"})
            assert asked.status_code == 404


@pytest.mark.parametrize("player", [{"kind": "agent"}, {"kind": "run"}, {"kind": "you"}])
def test_a_name_that_is_a_path_brings_no_player_in(
    server: Address, folder: Path, player: dict[str, str]
) -> None:
    names = ["../deep/hall", str(folder / "deep" / "hall"), "agents:../../x", "..", "/", "a\0b"]
    names += ["os:system", "deepcs.cli.main:main", "KeyHallway/../KeyHallway", "x" * 400]
    with page(server) as opened:
        for name in names:
            opened.say("open", players=[{**player, "name": name}], game=0, greedy=False)
            assert opened.hear("refused", "cast")["is"] == "refused"


def test_a_guessed_group_is_not_attached_to(server: Address) -> None:
    with page(server) as own, page(server) as stranger:
        own.open({"kind": "you", "name": "KeyHallway"})
        group = own.state["group"]
        assert len(group) >= 16
        for guess in (group[:-1], group.swapcase(), group + "a", "0", "*"):
            stranger.say("attach", group=guess)
            assert stranger.hear("gone", "cast")["is"] == "gone"
