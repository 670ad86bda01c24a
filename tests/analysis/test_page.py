"""The report's page: a broad table fits a desk's screen whole, and a phone's row by row."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from browsing import CHROMIUM, FLAGS

from deepcs.analysis.page import Section, page_html, table_html
from deepcs.analysis.tables import MANY, Column, Table, to_html, words

TEXTS = ("no.", "verdict", "claim", "learner", "measure", "ours", "theirs")
NUMBERS = ("effect", "p", "least p", "n", "our steps", "its n", "its steps", "in the paper")
LEDGER = Table(
    "claims",
    "Claims",
    (*map(words, TEXTS), *map(Column, NUMBERS)),
    [
        [
            *("8a", "too early to say (fewer than 10 runs a side)"),
            "DeepCS scores more than A2C in Montezuma's Revenge (3,500; A2C's is not visible).",
            *("ACKTR and A2C", "left room 1", "412 [264, 78,339]", "355 [232, 52,000]"),
            *(0.72, 0.31, 0.0079, "5, 5", 501_800, 25, 160, "Table 1, DeepCS against A3C"),
        ]
    ]
    * 3,
)
MEASURING = """<script>
const boxes = { page: document.documentElement.clientWidth };
for (const cell of document.querySelector("tbody tr").cells) {
  const box = cell.getBoundingClientRect();
  boxes[cell.dataset.of] = [box.left, box.right, box.top];
}
document.title = JSON.stringify(boxes);
</script>"""


def test_the_cells_of_a_broad_table_say_what_they_are_of() -> None:
    assert '<td class=n data-of="effect">0.72</td>' in to_html(LEDGER)
    narrow = Table("narrow", "Narrow", tuple(map(words, "abc")), [["1", "2", "3"]])
    assert len(narrow.columns) <= MANY
    assert "data-of" not in to_html(narrow)
    assert "broad" not in to_html(narrow)


@pytest.mark.browser
@pytest.mark.parametrize("width", [1400, 1100, 400])
def test_verdict_claim_and_numbers_are_seen_at_once(tmp_path: Path, width: int) -> None:
    page = page_html("Title", "About", "", [Section("claims", "Claims", [table_html(LEDGER)])])
    (tmp_path / "report.html").write_text(page.replace("</body>", f"{MEASURING}</body>"))
    command = [CHROMIUM, "--headless", *FLAGS, f"--window-size={width},800", "--dump-dom"]
    address = (tmp_path / "report.html").as_uri()
    shown = subprocess.run([*command, address], capture_output=True, text=True, check=True).stdout
    found = re.search(r"<title>(.*)</title>", shown)
    assert found is not None
    boxes = json.loads(found[1])
    seen = [boxes[name] for name in ("verdict", "claim", "effect", "p", "n", "its steps")]
    assert all(left >= 0 and right <= boxes["page"] for left, right, _ in seen)
    tops = [top for *_, top in seen]
    assert max(tops) - min(tops) < 250
