"""Bars beneath curves: where two groups differ, and which of them is ahead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from deepcs.analysis.groups import Group
from deepcs.analysis.statistics import Comparison
from deepcs.analysis.style import FAINT, PALE

ALPHA = 0.05
LIGHT = 0.35  # opacity of a bar that the correction removes
BARS = (
    "Bars beneath: where a two-tailed Mann–Whitney U test gives p < 0.05 at that step after "
    "correction over all steps, by the largest difference anywhere when runs change sides (dark), "
    "or only before it (light). A bar stands above its line, in our colour, where the first is "
    "ahead, and below it, in the other's, where that one is."
)
READING_BARS = (
    "\nBars: p < 0.05, dark after correction over steps, light only before; above the line "
    "{ours} ahead, below it the other."
)


TOO_FEW = "Beneath: there are too few runs for a test to give p < 0.05."


def can_differ(test: Comparison) -> bool:
    """Whether so many runs allow p < 0.05 anywhere."""
    return bool(np.any(test.smallest_p < ALPHA))


def spans(mask: np.ndarray, steps: np.ndarray) -> list[tuple[float, float]]:
    """(start, width) of each stretch of steps where the mask holds; a point covers the steps
    since the one before it."""
    edges = np.concatenate(([0], steps))
    padded = np.concatenate(([False], mask, [False])).astype(np.int8)
    begins, ends = np.flatnonzero(np.diff(padded) == 1), np.flatnonzero(np.diff(padded) == -1)
    return [
        (float(edges[b]), float(edges[e] - edges[b])) for b, e in zip(begins, ends, strict=True)
    ]


def draw_bars(
    axes: Axes,
    steps: np.ndarray,
    pairs: Sequence[tuple[Group, Group]],
    tests: Sequence[Comparison | None],
    *,
    labelled: bool,
) -> None:
    """A row a pair: dark where p < 0.05 after correction, light where only before it; above the
    row's line where ours is ahead, below it where theirs is. None: not tested."""
    same = len({ours for ours, _ in pairs}) == 1
    labels = [
        f"vs {theirs.label}" if same else f"{ours.label} vs {theirs.label}"
        for ours, theirs in pairs
    ]
    for row, ((ours, theirs), test) in enumerate(zip(pairs, tests, strict=True)):
        if test is None:
            _remark(axes, steps, row, "other units, so not tested")
            continue
        light, dark = test.p < ALPHA, test.corrected < ALPHA
        sides = (ours, row - 0.42, test.effect > 0.5), (theirs, row + 0.02, test.effect <= 0.5)
        for ahead, top, where in sides:
            place = top, 0.4
            style: dict[str, Any] = {"color": ahead.look.colour, "linewidth": 0}
            axes.broken_barh(spans(light & ~dark & where, steps), place, alpha=LIGHT, **style)
            axes.broken_barh(spans(dark & where, steps), place, **style)
        if can_differ(test):
            axes.axhline(row, color=PALE, linewidth=0.6, zorder=0)
        else:
            _remark(axes, steps, row, "too few runs for p < 0.05")
    axes.set_ylim(len(pairs) - 0.4, -0.6)
    axes.set_yticks(range(len(pairs)), labels if labelled else [""] * len(pairs))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _remark(axes: Axes, steps: np.ndarray, row: int, text: str) -> None:
    """Words in place of a pair's bars."""
    axes.text(steps[-1] / 2, row, text, color=FAINT, ha="center", va="center")
