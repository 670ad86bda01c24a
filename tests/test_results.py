"""docs/results.md is what the logs in docs/data say, and nothing in it is typed by hand."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def results() -> ModuleType:
    """tools/docs_results.py."""
    spec = importlib.util.spec_from_file_location("docs_results", ROOT / "tools/docs_results.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_results_are_what_the_logs_say(results: ModuleType) -> None:
    pages = results.Pages()
    assert [*results.changes(pages)] == [], "run make docs-results"
    pictures = {path.stem for path in (ROOT / "docs/images/results").glob("*.png")}
    assert pictures == set(pages.figures)
    results.check_size(ROOT / "docs/data")


def test_every_table_and_picture_of_the_results_is_made(results: ModuleType) -> None:
    by_hand = results.BLOCK.sub("", (ROOT / "docs/results.md").read_text())
    assert not re.search(r"^\||!\[", by_hand, re.MULTILINE)


def test_runs_that_are_added_show_up_and_what_is_no_run_is_refused(
    results: ModuleType, tmp_path: Path
) -> None:
    pages = ("docs/results.md", "docs/data/README.md", "docs/data/claims/README.md")
    for name in ("README.md", *pages):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    claims = tmp_path / "docs/data/claims"
    for agent in ("a2c", "acktr"):
        results.add(ROOT / f"docs/data/seaquest-{agent}", claims)
    made = results.Pages(tmp_path)
    told = made.texts()[tmp_path / "docs/results.md"]
    assert "images/results/seaquest-acktr-against-a2c.png" in told
    assert "`seaquest-a2c`" in made.blocks["runs"]
    assert "deepcs train Seaquest" in made.blocks["runs"]
    with pytest.raises(ValueError, match=r"lacks config\.json and curve\.csv and games\.csv; give"):
        results.add(tmp_path, claims)
