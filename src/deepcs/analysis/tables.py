"""A table of numbers, and the same table as Markdown, CSV, LaTeX and HTML."""

from __future__ import annotations

import csv
import html
import io
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deepcs.system.files import write_whole

Range = tuple[float, float]
Cell = str | int | float | Range | None
NOTHING = "–"
LONG = 34  # letters from which a text may be wrapped
MANY = 9  # columns beyond which a page has to lay a table out otherwise

_LATEX = {
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "–": "--",
    "—": "---",
    "−": "$-$",
    "×": r"$\times$",
    "±": r"$\pm$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≈": r"$\approx$",
    "√": r"$\surd$",
    "β": r"$\beta$",
    "γ": r"$\gamma$",
    "†": r"\dag{}",
    "‡": r"\ddag{}",
    "§": r"\S{}",
    "·": r"$\cdot$",
    "→": r"$\rightarrow$",
}


def number_text(number: float) -> str:
    """A score for people: 12,345 or 1,234 or 123 or 12.3 or 0.123."""
    if math.isnan(number):
        return NOTHING
    digits = f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"
    return digits.replace("-", "−")


def probability_text(p: float) -> str:
    """A p value for people: never 0."""
    if math.isnan(p):
        return NOTHING
    return "<0.0001" if p < 1e-4 else f"{p:.2g}" if p < 0.1 else f"{p:.2f}"


def share_text(share: float) -> str:
    """0.256 as 26 %."""
    if math.isnan(share):
        return NOTHING
    whole = math.floor(100 * abs(share) + 0.5 + 1e-9)  # halves away from 0, as people round
    return f"{'−' if share < 0 and whole else ''}{whole} %"


def level_text(level: float) -> str:
    """How often an interval covers: 75 %, 93.8 %; never rounded up to what it is not."""
    tenths = math.floor(1000 * level + 1e-9) / 10
    return f"{tenths:g} %"


def count_text(count: float) -> str:
    """All digits, in thousands."""
    return NOTHING if math.isnan(count) else f"{count:,.0f}"


@dataclass(frozen=True)
class Column:
    """A heading, and how its numbers are shown to people; CSV always has them in full."""

    name: str
    show: Callable[[float], str] = number_text
    right: bool = True
    """numbers stand to the right, words to the left"""


def words(name: str) -> Column:
    """A column of text."""
    return Column(name, right=False)


@dataclass(frozen=True)
class Table:
    """Rows under headings, a name for its files, and what has to be said about it."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    """a paragraph a line"""
    strong: frozenset[int] = field(default_factory=frozenset)
    """rows to be set off in HTML"""

    def shown(self) -> list[list[str]]:
        """The cells as people read them."""
        return [
            [_show(column, cell) for column, cell in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]


def _show(column: Column, cell: Cell) -> str:
    if cell is None:
        return NOTHING
    if isinstance(cell, str):
        return cell
    if isinstance(cell, tuple):
        low, high = map(column.show, cell)
        return NOTHING if low == high == NOTHING else f"{low} to {high}"
    return column.show(cell)


def to_csv(table: Table) -> str:
    """All digits; a range becomes two columns, a missing number an empty cell."""
    ranges = [
        any(isinstance(row[i], tuple) for row in table.rows) for i in range(len(table.columns))
    ]
    header: list[str] = []
    for column, is_range in zip(table.columns, ranges, strict=True):
        header += [f"{column.name} low", f"{column.name} high"] if is_range else [column.name]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    for row in table.rows:
        cells: list[object] = []
        for cell, is_range in zip(row, ranges, strict=True):
            parts = cell if isinstance(cell, tuple) else (cell,) * (2 if is_range else 1)
            cells += ["" if part is None or part != part else part for part in parts]
        writer.writerow(cells)
    return text.getvalue()


def to_markdown(table: Table) -> str:
    """A pipe table with its title above and its note below."""

    def line(cells: Sequence[str]) -> str:
        escaped = [re.sub(r"([|\\])", r"\\\1", cell) for cell in cells]
        return f"| {' | '.join(escaped)} |"

    rule = ["--:" if column.right else ":--" for column in table.columns]
    lines = [f"**{table.title}**", "", line([column.name for column in table.columns])]
    lines += [f"| {' | '.join(rule)} |", *map(line, table.shown())]
    lines += [line for paragraph in table.note.splitlines() for line in ("", paragraph)]
    return "\n".join(lines) + "\n"


def escape_latex(text: str) -> str:
    """Text that LaTeX prints as it stands."""
    return "".join(_LATEX.get(character, character) for character in text)


def to_latex(table: Table) -> str:
    """A table environment that needs no package beyond LaTeX itself."""

    def line(cells: Sequence[str]) -> str:
        return "  " + " & ".join(map(escape_latex, cells)) + r" \\"

    places = "".join("r" if column.right else "l" for column in table.columns)
    note = f" {' '.join(table.note.splitlines())}" if table.note else ""
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{escape_latex(table.title + '.' + note)}}}",
            rf"\begin{{tabular}}{{{places}}}",
            r"  \hline",
            line([column.name for column in table.columns]),
            r"  \hline",
            *map(line, table.shown()),
            r"  \hline",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _kind(column: Column, cell: str) -> str:
    """The class of a cell: numbers to the right, long texts in several lines."""
    return " class=n" if column.right else " class=wrap" if len(cell) > LONG else ""


def _of(column: Column, tag: str, broad: bool) -> str:
    """The heading of a cell as its attribute, in a broad table."""
    return f' data-of="{html.escape(column.name)}"' if broad and tag == "td" else ""


def to_html(table: Table) -> str:
    """A table element with its title as caption, its note below.

    A broad one says so in its class, and each of its cells what it is of: a narrow screen has no
    place for the headings.
    """
    broad = len(table.columns) > MANY

    def line(tag: str, cells: Sequence[str]) -> str:
        return "".join(
            f"<{tag}{_kind(column, cell)}{_of(column, tag, broad)}>{html.escape(cell)}</{tag}>"
            for column, cell in zip(table.columns, cells, strict=True)
        )

    head = line("th", [column.name for column in table.columns])
    body = "\n".join(
        f"<tr{' class=strong' if i in table.strong else ''}>{line('td', cells)}</tr>"
        for i, cells in enumerate(table.shown())
    )
    note = "".join(f'<p class="note">{html.escape(line)}</p>' for line in table.note.splitlines())
    return (
        f'<div class="scroll{" broad" * broad}"><table id="table-{html.escape(table.name)}">'
        f"<caption>{html.escape(table.title)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>{note}"
    )


def save_table(table: Table, folder: Path) -> list[Path]:
    """Write <name>.md, <name>.csv and <name>.tex; returns their paths."""
    texts = {"md": to_markdown(table), "csv": to_csv(table), "tex": to_latex(table)}
    for suffix, text in texts.items():
        write_whole(folder / f"{table.name}.{suffix}", text.encode())
    return [folder / f"{table.name}.{suffix}" for suffix in texts]
