"""docs/results.md is what the logs in docs/data say, and nothing in it is typed by hand."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import docs_results as results
import kept_logs
import origins
from deepcs.cli.main import read_command
from deepcs.runs.choices import check_weights_are_used
from deepcs.runs.effects import check_named
from deepcs.runs.load import load_run

ROOT = Path(__file__).parents[1]
DATA = ROOT / "docs" / "data"


def test_the_results_are_what_the_logs_say() -> None:
    pages = results.Pages()
    assert [*results.changes(pages)] == [], "run make docs-results"
    pictures = {path.stem for path in (ROOT / "docs/images/results").glob("*.png")}
    assert pictures == set(pages.figures)
    kept_logs.check_size(ROOT / "docs/data")


def test_every_table_and_picture_of_the_results_is_made() -> None:
    by_hand = results.BLOCK.sub("", (ROOT / "docs/results.md").read_text())
    assert not re.search(r"^\||!\[", by_hand, re.MULTILINE)


def test_runs_that_are_added_show_up_and_what_is_no_run_is_refused(tmp_path: Path) -> None:
    pages = ("docs/results.md", "docs/data/README.md", "docs/data/claims/README.md")
    for name in ("README.md", *pages):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    (tmp_path / "docs/data/commits.csv").write_text("")
    claims = tmp_path / "docs/data/claims"
    for agent in ("a2c", "acktr"):
        kept_logs.add(ROOT / f"docs/data/seaquest-{agent}", claims)
        shutil.copytree(ROOT / f"docs/data/seaquest-{agent}", tmp_path / f"docs/data/{agent}")
    plain = claims / "seaquest-plain"
    shutil.copytree(claims / "seaquest-a2c", plain)
    config = (plain / "config.json").read_text()
    (plain / "config.json").write_text(
        config.replace('"treatment": "deepcs"', '"treatment": "plain"')
    )
    made = results.Pages(tmp_path)
    scores, tests = (made.blocks["seaquest"].index(f"**{w} at") for w in ("Scores", "Differences"))
    assert scores < tests < made.blocks["seaquest"].index("![")
    told = made.texts()[tmp_path / "docs/results.md"]
    for name in ("seaquest-acktr-against-a2c", "earlier-seaquest-acktr-against-a2c"):
        assert told.count(f"(images/results/{name}.png)") == 1
        with pytest.raises(ValueError, match=f"Two figures are named {name}; give"):
            made._figure(made.figures[name])
    assert "`seaquest-a2c`" in made.blocks["runs-claims"]
    assert "deepcs train Seaquest" in made.blocks["runs-claims"]
    with pytest.raises(ValueError, match=r"lacks config\.json and curve\.csv and games\.csv; give"):
        kept_logs.add(tmp_path, claims)


@pytest.mark.parametrize("folder", kept_logs.FOLDERS)
def test_the_command_of_a_run_gives_its_settings(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    # As on a CPU that some of these runs need.
    monkeypatch.setattr("deepcs.runs.precision.bfloat16_instructions", lambda: "avx512_bf16")
    for run in sorted((DATA / folder).glob("*/config.json")):
        config = load_run(run.parent).config
        words = f"{origins.command(config)} --seed {config.seed}".split()[1:]
        typed = read_command(words).settings
        assert typed.resolved() == replace(origins.typed(config).resolved(), preset=None)
        check_named(typed)
        check_weights_are_used(typed)


def test_the_sources_of_every_run_are_those_of_a_commit() -> None:
    commits = origins.read_commits(DATA)
    runs = [
        path.parent
        for folder in kept_logs.FOLDERS
        for path in (DATA / folder).glob("*/config.json")
    ]
    assert {origins.sources_of(run) for run in runs} == commits.keys()
