"""The report: one page that needs nothing else, all its numbers beside it, bad input refused."""

from __future__ import annotations

import base64
import csv
import io
import re
import shutil
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from generated import experiment, group_of, level, make_study, run_path
from PIL import Image

from deepcs.analysis import report
from deepcs.analysis.groups import collect
from deepcs.analysis.report import make_report
from deepcs.cli.main import main
from deepcs.cli.report import Report
from deepcs.runs.errors import RunError
from deepcs.studies.experiment import StudyError
from deepcs.studies.folder import StudyFolder

VOID = {"meta", "img", "br", "link", "hr"}


class Page(HTMLParser):
    """Ids, references and pictures of a page; refuses tags that do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.references: list[str] = []
        self.tags: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self._open.append(tag)
        for name, value in attributes:
            if name == "id":
                self.ids.append(str(value))
            if name in ("href", "src", "srcset", "data", "action", "poster"):
                self.references.append(str(value))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


@pytest.fixture(scope="module")
def page(trained: StudyFolder) -> tuple[Page, str]:
    """The report of a study of four real runs, one of them missing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "VIDEO_STEPS", 20)
        path = make_report(trained.path, games=4)
    assert path == trained.report / "report.html"
    return Page(path.read_text()), path.read_text()


def test_the_page_refers_to_nothing_but_its_files_and_the_studys_runs(
    trained: StudyFolder, page: tuple[Page, str]
) -> None:
    parsed, text = page
    assert len(parsed.ids) == len(set(parsed.ids))
    assert not {"script", "link", "iframe", "base"} & set(parsed.tags)
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style is not None
    assert not re.search(r"url\(|@import", style[1])
    for reference in parsed.references:
        if reference.startswith("#"):
            assert reference[1:] in parsed.ids
        elif not reference.startswith("data:"):
            to = (trained.report / reference).resolve()
            assert to.is_file() or to.parent == (trained.path / "runs").resolve(), reference
    assert any(reference.endswith(".mp4") for reference in parsed.references)
    assert len(text) < 15_000_000


def test_every_picture_of_the_page_can_be_seen(
    trained: StudyFolder, page: tuple[Page, str]
) -> None:
    pictures = [r for r in page[0].references if r.startswith("data:")]
    files = list((trained.report / "figures").glob("*.png"))
    assert len(pictures) == len(files) == 4
    for picture in pictures:
        kind, _, data = picture.removeprefix("data:image/").partition(";base64,")
        content = base64.b64decode(data, validate=True)
        if kind == "svg+xml":
            assert content.lstrip().startswith(b"<?xml")
            assert not re.search(rb'(href|src)="(?!#|data:)', content)
        else:
            Image.open(io.BytesIO(content)).verify()
    for path in files:
        pixels = np.asarray(Image.open(path).convert("L"))
        assert pixels.shape[1] >= 600
        assert pixels.std() > 5  # something is drawn


def test_a_partial_study_says_so_and_states_n(page: tuple[Page, str]) -> None:
    _, text = page
    assert "<strong>Partial.</strong> 3 of 4 runs are finished and 0 under way" in text
    assert "A2C (n = 1 of 2)" in text
    assert "1 of 2</td>" in text
    assert "Trained &lt;for&gt; real." in text


@pytest.mark.usefixtures("page")
def test_csv_numbers_are_those_of_the_runs(trained: StudyFolder) -> None:
    with (trained.report / "data" / "keyhallway-main.csv").open(newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["measure"] == "Intrinsic reward"]
    runs = group_of(collect(trained.read(), trained.path), "deepcs").runs
    ours = [row for row in rows if row["group"] == "DeepCS"]
    assert [int(row["step"]) for row in ours] == runs[0].steps.tolist()
    expected = np.median([run.intrinsic for run in runs], axis=0)
    found = [float(row["median"] or "nan") for row in ours]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("page")
def test_a_second_report_plays_and_films_nothing_and_changes_nothing(trained: StudyFolder) -> None:
    files = [path for path in trained.report.rglob("*") if path.is_file()]
    before = {path: path.read_bytes() for path in files}
    said: list[str] = []
    make_report(trained.path, games=4, say=said.append)
    assert not any("Playing" in text or "Filming" in text for text in said)
    assert {path: path.read_bytes() for path in files} == before


def test_what_an_earlier_report_drew_and_this_one_does_not_is_gone(tmp_path: Path) -> None:
    study = make_study(tmp_path, experiment("Freeway", ["deepcs", "plain"], 2))
    make_report(tmp_path, games=0, videos=False)
    figures = tmp_path / "report" / "figures"
    assert (figures / "freeway-main.svg").is_file()
    for run in study.runs:
        if run.config.treatment == "plain":
            (run_path(tmp_path, run) / "curve.csv").unlink()
    make_report(tmp_path, games=0, videos=False)
    assert sorted(path.name for path in figures.iterdir()) == [
        "other-games.png",
        "other-games.svg",
    ]


SHIPPED = "claims", "demo", "laptop", "novelty", "novelty-atari", "paper", "tuning"
LABEL = re.compile(r"(?<!Supporting Figure )(?<!section )\bS[1-6]\b")


@pytest.mark.long
def test_no_section_of_the_supplement_can_be_taken_for_a_figure(tmp_path: Path) -> None:
    treatments = ["deepcs", "plain", "no-grid", "never-reset"]
    both = experiment("MontezumaRevenge", treatments, 2, "agents = ['a2c', 'acktr']")
    make_study(tmp_path, both, experiment("Alien", ["deepcs", "plain"], 2))
    page = re.sub(r'src="data:[^"]*"', "", make_report(tmp_path, games=0).read_text())
    labels = re.findall(r'<p class="paper">(.*?)</p>', page)
    acktr = "Supporting Figure S2 (supplement, section S3)"
    assert f"In the paper: {acktr}, for DeepCS; the rest is ours." in labels
    assert len(labels) == page.count("<figure ")
    shipped = [(files("deepcs.studies") / f"{name}.toml").read_text() for name in SHIPPED]
    for text in (page, *shipped):
        assert LABEL.findall(text) == []


def test_the_page_says_at_its_top_what_the_paper_reached(tmp_path: Path) -> None:
    make_study(tmp_path, experiment("MontezumaRevenge", ["deepcs", "plain"], 2))
    page = make_report(tmp_path, games=0).read_text()
    assert "The paper&#x27;s DeepCS: 3,500, best run 6,600 (on ACKTR), after 160M steps." in page


def test_a_folder_that_is_no_study_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"^.* holds no study; begin one with deepcs study run"):
        make_report(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_study_without_a_finished_run_is_refused_in_one_sentence(tmp_path: Path) -> None:
    make_study(
        tmp_path, experiment("Freeway", ["deepcs"], 2), scores=lambda config: level(config)[:3]
    )
    with pytest.raises(RunError, match=r"^No run of study made is finished in .*deepcs study run"):
        make_report(tmp_path)
    assert not (tmp_path / "report").exists()


def test_games_below_zero_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Got -1 games; give a whole number from 0 up"):
        make_report(tmp_path, games=-1)


def test_the_command_reports_a_half_written_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = make_study(tmp_path, experiment("KeyHallway", ["deepcs", "plain"], 3))
    damaged, cut, *_ = (run_path(tmp_path, run) for run in study.runs)
    (damaged / "visits.npz").write_bytes(b"PK\3\4 half")
    (cut / "games.csv").write_bytes((cut / "games.csv").read_bytes()[:20])
    Report("made.toml", out=tmp_path, games=0, videos=False).run()
    assert capsys.readouterr().out.splitlines()[-1] == f"Done: {tmp_path}/report/report.html"
    text = (tmp_path / "report" / "report.html").read_text()
    assert f"{damaged / 'visits.npz'} is damaged or missing" in text
    assert "DeepCS (n = 2 of 3)" in text


def test_the_command_line_says_what_is_wrong_and_exits_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["study", "report", "demo", "--out", str(tmp_path / "nowhere")])
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("deepcs: ")
    assert "holds no study" in error
    assert error.count("\n") == 1


def test_a_study_of_version_0_1_is_reported(tmp_path: Path) -> None:
    old = Path(__file__).parents[1] / "data" / "study-0.1"
    shutil.copytree(old, tmp_path / "studies" / "tiny")
    page = make_report(tmp_path / "studies" / "tiny", games=2, videos=False)
    text = page.read_text()
    assert "Key hallway" in text or "KeyHallway" in text or "Key Hallway" in text
    assert "DeepCS" in text
