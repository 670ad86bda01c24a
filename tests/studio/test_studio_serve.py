"""Where the studio is served, what it prints, and what it opens."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest

from deepcs.cli.main import main
from deepcs.studio import serve as serve_module
from deepcs.studio.serve import Served, serve


@pytest.mark.parametrize("host", [None, "127.0.0.1"])
def test_a_token_is_never_on_a_browsers_command_line(
    host: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(serve_module, "_has_screen", lambda: True)
    monkeypatch.setattr(Served, "run", lambda served: served.socket.close())
    serve(tmp_path, "#/runs", host=host)
    printed = capsys.readouterr().out.splitlines()[0].split()[-1]
    assert ("?token=" in printed) == (host is not None)
    assert printed.endswith("#/runs")
    assert opened == ([printed] if host is None else [])


def test_an_empty_host_is_refused_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["studio", str(tmp_path), "--host", "", "--no-browser"])
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert "Got host '', which is no address; give one of this machine's" in said
    assert len(said.splitlines()) == 1
