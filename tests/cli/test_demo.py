"""What the demo ends with."""

from __future__ import annotations

import io
import shlex
from pathlib import Path

import pytest
import tyro
from rich.console import Console

from deepcs.cli.demo import hallway_job, invite
from deepcs.cli.studio import Watch


@pytest.mark.parametrize("folder", ["demo", "my demo", "[bold]:smile:"])
def test_the_demo_ends_with_the_line_that_watches_what_it_has_trained(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["bin/deepcs", "demo"])  # where a shell does not find deepcs
    outs = [Path("runs") / folder / name for name in ("freeway-deepcs", "freeway-plain")]
    written = io.StringIO()
    invite(Console(file=written, width=40), [hallway_job("deepcs", out) for out in outs])
    (line,) = written.getvalue().splitlines()  # wrapped, it could not be copied
    told, _, command = line.partition(": ")
    program, verb, *names = shlex.split(command)
    assert told == "See them play, side by side"
    assert (Path(program).name, verb) == ("deepcs", "watch")
    assert tyro.cli(Watch, args=names).names == tuple(map(str, outs))
