"""What stands beside the code and has to agree with it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from deepcs import __version__

ROOT = Path(__file__).parents[1]
LOGS = sorted(path.name for path in (ROOT / "docs" / "data").iterdir() if path.is_dir())


def test_the_citation_is_of_this_version_and_of_the_paper() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (cited["cff-version"], cited["version"]) == ("1.2.0", __version__)
    (paper,) = cited["references"]
    assert [author["family-names"] for author in paper["authors"]] == ["Stanton", "Clune"]
    assert paper["identifiers"][0]["value"] == "arXiv:1806.00553"


def test_the_changelog_has_a_chapter_on_this_version() -> None:
    headings = [
        line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")
    ]
    assert any(__version__ in heading for heading in headings)


@pytest.mark.parametrize("folder", LOGS)
def test_the_origin_of_every_log_is_told(folder: str) -> None:
    assert f"`{folder}`" in (ROOT / "docs" / "data" / "README.md").read_text()
