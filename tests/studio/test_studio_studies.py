"""Studies and kept logs as the studio tells them: what is read, what is read again, and where."""

from __future__ import annotations

import gzip
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import Address, serving

from deepcs.studio.guard import Door, machine_names

DONE = "KeyHallway-deepcs-paper-seed0"


@pytest.fixture
def study(folder: Path, tmp_path: Path) -> Path:
    """A copy of the study, to be changed."""
    copy = tmp_path / "root" / "study"
    shutil.copytree(folder / "study", copy)
    return copy


@pytest.fixture
def studio(study: Path) -> Iterator[Address]:
    """One whose folder holds the study."""
    with serving(study.parent) as address:
        yield address


def test_a_report_opens_where_the_folder_is_the_study_itself(study: Path) -> None:
    with serving(study) as studio:
        assert studio.ask("study", ".")["report"]
        assert studio.get("/reports/report/report.html").text.endswith("A report.")
        for path in ("study.json", "report/../study.json", "runs/report.html", "report/none.html"):
            assert studio.get(f"/reports/{path}").status_code == 404


def test_a_film_of_a_report_is_told_in_ranges(studio: Address, study: Path) -> None:
    (study / "report" / "film.mp4").write_bytes(bytes(range(100)))
    whole = studio.get("/reports/study/report/film.mp4")
    assert (whole.status_code, whole.content) == (200, bytes(range(100)))
    assert (whole.headers["content-type"], whole.headers["accept-ranges"]) == ("video/mp4", "bytes")
    part = studio.get("/reports/study/report/film.mp4", headers={"range": "bytes=90-"})
    assert (part.status_code, part.content) == (206, bytes(range(90, 100)))
    assert part.headers["content-range"] == "bytes 90-99/100"
    for answer in (whole, part):
        assert answer.headers["content-security-policy"].startswith("sandbox allow-same-origin")
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_log_that_is_kept_compressed_is_told_as_it_was(studio: Address, study: Path) -> None:
    log = study / "runs" / DONE / "games.csv"
    log.write_text(
        "step,actor,score,intrinsic,tiles,steps,rooms\n"
        "200,0,0.0,3.0,4,100,.\n300,1,1.0,9.0,10,90,.\n"
    )
    plain = studio.ask("run", f"study/runs/{DONE}")
    assert (plain["games"], plain["best"]) == (2, 1.0)
    assert plain["milestones"] == [{"label": "first solved game", "step": 300}]
    log.with_name("games.csv.gz").write_bytes(gzip.compress(log.read_bytes()))
    log.unlink()
    assert studio.ask("run", f"study/runs/{DONE}") == plain
    assert studio.ask("run", f"study/runs/{DONE}") == plain


def test_a_finished_run_is_not_read_again(studio: Address, study: Path) -> None:
    first = studio.ask("study", "study")
    shutil.rmtree(study / "runs" / DONE / "checkpoints")
    assert studio.ask("study", "study") == first


def test_a_study_that_is_written_anew_is_read_anew(studio: Address, study: Path) -> None:
    assert studio.ask("study", "study")["runs"][0]["state"] == "done"
    shutil.rmtree(study / "runs" / DONE)
    saved = study / "study.json"
    saved.write_text(saved.read_text().replace("Two treatments.", "Again."))
    told = studio.ask("study", "study")
    assert (told["about"], told["runs"][0]["state"]) == ("Again.", "waiting")


def test_a_study_is_told_although_a_file_that_it_needs_not_is_a_link(
    studio: Address, study: Path
) -> None:
    (study / "runs" / DONE / "notes").symlink_to("/etc/hostname")
    assert len(studio.ask("study", "study")["runs"]) == 2


@pytest.mark.parametrize(
    "part", ["failures.json", "at_once.json", f"runs/{DONE}/curve.csv", f"runs/{DONE}/checkpoints"]
)
def test_a_study_is_not_read_through_a_link(studio: Address, study: Path, part: str) -> None:
    elsewhere = study.parent.parent / "elsewhere"
    if (study / part).exists():
        (study / part).rename(elsewhere)
    (study / part).symlink_to(elsewhere)
    assert studio.get("/api/study", params={"name": "study"}).status_code == 404


def test_the_names_of_the_machine_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getfqdn", lambda: "Host.Example")
    door = Door(80, "0.0.0.0", "token", machine_names())
    monkeypatch.setattr(socket, "getfqdn", lambda: "another.example")
    assert door.knows("host.example:80")
    assert not door.knows("another.example:80")
