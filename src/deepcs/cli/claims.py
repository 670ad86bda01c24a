"""`deepcs study claims`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich import box
from rich.console import Console
from rich.table import Table as Printed
from rich.text import Text

from deepcs.analysis.groups import collect
from deepcs.analysis.ledger import TOO_EARLY, ledger_table
from deepcs.analysis.tables import Table
from deepcs.cli.main import WIDTH
from deepcs.cli.studies import StudyName, study_folder
from deepcs.runs.errors import RunError
from deepcs.system.files import refuse_links

SHOWN = ("no.", "claim", "learner", "our steps", "n", "ours", "theirs", "p, Holm", "verdict")


@dataclass(frozen=True)
class Claims:
    """Hold the paper's claims against the runs of a study: a row and a verdict each."""

    study: StudyName
    """demo, laptop, claims, paper, or the path of a .toml file"""
    out: Path | None = None
    """folder of the study; by default studies/ and its name"""

    def run(self) -> None:
        folder = study_folder(self.study, self.out)
        refuse_links(folder.path)
        tables = [*ledger_table(collect(folder.read(), folder.path))]
        if not tables:
            raise RunError(
                f"No finished run in {folder.path} bears on a claim of the paper; "
                "run the study claims."
            )
        console = Console() if sys.stdout.isatty() else Console(width=WIDTH)
        console.print(_printed(tables[0]))
        for line in tables[0].note.splitlines():
            console.print(Text(line))


def _printed(table: Table) -> Printed:
    """The columns that a terminal has room for; the report has them all."""
    names = [column.name for column in table.columns]
    places = [names.index(name) for name in SHOWN]
    printed = Printed(box=box.SIMPLE_HEAD, pad_edge=False, show_lines=False)
    for place in places:
        right, least = table.columns[place].right, len(TOO_EARLY) * (names[place] == "verdict")
        justify: Literal["right", "left"] = "right" if right else "left"
        printed.add_column(names[place], justify=justify, min_width=least or None)
    for row in table.shown():
        printed.add_row(*(Text(row[place]) for place in places))
    return printed
