"""The figures of docs/results.md: training curves of a few runs, a row of panels per world.

    python docs/images/curves.py docs/images/acktr-freeway.png \\
        --runs 'ACKTR=runs/a,runs/b' 'ACKTR, thrifty=runs/c,runs/d'

One line per run, one colour per label; each point is the mean of the actors' latest games.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro
from matplotlib.lines import Line2D

import deepcs
from deepcs.analysis.style import (
    DPI,
    from_zero,
    legend_above,
    new_figure,
    shorten_ticks,
    spaced,
    styled,
)
from deepcs.runs.counts import Count

COLOURS = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
PANELS = {"score": "score", "intrinsic": "intrinsic reward"}  # of a game
ROW = 2.3  # inches


@dataclass(frozen=True)
class Settings:
    """Draw training curves."""

    out: tyro.conf.Positional[Path]
    """the picture to write"""
    runs: tuple[str, ...]
    """label=folder,folder,... for each line of the legend"""
    until: Count | None = None
    """steps to draw; all if not given"""


@styled
def main(settings: Settings) -> None:
    labelled = [
        (label, colour, deepcs.load_run(folder))
        for (label, _, folders), colour in zip(
            (text.partition("=") for text in settings.runs), COLOURS, strict=False
        )
        for folder in folders.split(",")
    ]
    worlds = list(dict.fromkeys(run.config.world for _, _, run in labelled))
    figure = new_figure(height=ROW * len(worlds) + 0.4)
    grid = figure.subplots(len(worlds), len(PANELS), squeeze=False)
    for world, row in zip(worlds, grid, strict=True):
        for axes, (column, title) in zip(row, PANELS.items(), strict=True):
            for _, colour, run in labelled:
                if run.config.world == world:
                    shown = run.curve["step"] <= (settings.until or run.curve["step"][-1])
                    axes.plot(
                        run.curve["step"][shown], run.curve[column][shown], color=colour, lw=1.5
                    )
            axes.set_title(f"{spaced(world)}: {title}", loc="left")
            from_zero(axes)
            axes.set_xlim(0)
            shorten_ticks(axes)
    for axes in grid[-1]:
        axes.set_xlabel("steps")
    colours = {label: colour for label, colour, _ in labelled}
    legend_above(figure, [Line2D([], [], color=c, label=name) for name, c in colours.items()])
    figure.savefig(settings.out, dpi=DPI)


if __name__ == "__main__":
    main(tyro.cli(Settings))
