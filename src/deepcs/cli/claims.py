"""`deepcs study claims`."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from deepcs.analysis.groups import collect
from deepcs.analysis.ledger import ledger_table
from deepcs.analysis.tables import NOTHING, Table
from deepcs.cli.main import WIDTH
from deepcs.cli.studies import StudyName, study_folder
from deepcs.runs.errors import RunError
from deepcs.system.files import refuse_links

INDENT = " " * 23  # of the lines beneath a verdict


@dataclass(frozen=True)
class Claims:
    """Compare the paper's claims with the runs of a study: a row and a verdict each."""

    study: StudyName
    """demo, laptop, claims, novelty, novelty-atari, tuning, paper, or the path of a .toml file"""
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
        print(*told(tables[0], shutil.get_terminal_size((WIDTH, 0)).columns), sep="\n")


def told(table: Table, width: int) -> Iterator[str]:
    """The ledger as lines of text: number, verdict and claim, and beneath them the numbers."""
    names = [column.name for column in table.columns]
    for cells in table.shown():
        row = dict(zip(names, cells, strict=True))
        verdict, _, reason = row["verdict"].partition(" (")
        sides = " against ".join(row[side] for side in ("ours", "theirs") if row[side] != NOTHING)
        numbers = f"{row['learner']}, {row['our steps']} steps, n = {row['n']}, {row['measure']}: "
        numbers += sides
        if row["effect"] != NOTHING:
            numbers += f"; effect {row['effect']}, p {row['p, Holm']} after Holm"
        numbers += f"; {reason.rstrip(')')}" if reason else ""
        for first, text in ((f"{row['no.']:<5}{verdict:<18}", row["claim"]), ("", numbers)):
            yield from textwrap.wrap(
                text, width, initial_indent=first or INDENT, subsequent_indent=INDENT
            )
        yield ""
    for paragraph in table.note.splitlines():
        yield ""
        yield from textwrap.wrap(paragraph, width)
