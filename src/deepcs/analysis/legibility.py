"""Readable figures despite outliers and coinciding lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from deepcs.analysis.statistics import Bands
from deepcs.analysis.style import FAINT, short

FLATTENED = 8.0  # times the highest median from which extremes would flatten all else
LINEAR = 3.0  # the linear part of a bent axis, in decades of its logarithmic part
ON_EACH_OTHER = 0.01  # of the axis: medians nearer than this are one line to the eye
MOSTLY = 0.9  # of the points


def bend_axis(axes: Axes, found: Sequence[Bands]) -> str:
    """Make an axis partly logarithmic where one run would flatten the others; returns a note.

    It is linear up to twice the highest median, or where that is 0 the highest quartile, and
    logarithmic above, with a line where it bends.
    """
    medians = _most(band.median for band in found)
    typical = medians if medians > 0 else _most(band.high for band in found)
    far = _most(band.most for band in found)
    low = min((float(np.nanmin(b.least)) for b in found if np.any(b.runs)), default=0.0)
    if typical <= 0 or far <= FLATTENED * typical or low < 0:
        return ""
    bend = _round(2 * typical)
    axes.set_yscale("symlog", linthresh=bend, linscale=LINEAR)
    powers = [bend * 10**k for k in range(1, 9) if bend * 10**k <= far]
    top = powers or [_round(far)]
    axes.yaxis.set_major_locator(FixedLocator([0, bend / 2, bend, *top]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda number, _: short(number)))
    axes.set_ylim(-0.06 * bend, 1.3 * max(far, *top))
    axes.axhline(bend, color=FAINT, linewidth=0.8, linestyle=(0, (1, 3)), zorder=0.5)
    place = axes.get_yaxis_transform()
    words = axes.text(0.01, bend, "log above", color=FAINT, fontsize=7, va="bottom", zorder=1.9)
    words.set(transform=place, bbox={"facecolor": "white", "linewidth": 0, "pad": 0.8})
    return f"the axis is logarithmic above {short(bend)}, as a run is far up"


def _most(values: Iterable[np.ndarray]) -> float:
    """The largest of arrays, NaN apart; 0 of nothing."""
    found = [array[~np.isnan(array)] for array in values]
    return max((float(array.max()) for array in found if len(array)), default=0.0)


def _round(number: float) -> float:
    """Up to 1, 2 or 5 times a power of ten."""
    power = 10 ** np.floor(np.log10(number))
    return float(next(k * power for k in (1, 2, 5, 10) if k * power >= number))


def hidden(medians: Mapping[str, np.ndarray]) -> list[tuple[str, str]]:
    """(under, over): lines that coincide with another at nearly all points; topmost first."""
    known = [m[~np.isnan(m)] for m in medians.values()]
    values = np.concatenate([*known, [0.0]])
    near = ON_EACH_OTHER * (np.ptp(values) or 1.0)
    found: list[tuple[str, str]] = []
    labels = [*medians]
    for place, under in enumerate(labels):
        for over in labels[:place]:
            apart = np.abs(medians[under] - medians[over])
            both = ~np.isnan(apart)
            if both.any() and np.mean(apart[both] <= near) >= MOSTLY:
                found.append((under, over))
                break
    return found


def hidden_words(medians: Mapping[str, np.ndarray]) -> str:
    """Which lines lie beneath which; nothing where none does."""
    under: dict[str, list[str]] = {}
    for below, over in hidden(medians):
        under.setdefault(over, []).append(below)
    return "; ".join(
        f"{' and '.join(names)} {'lies' if len(names) == 1 else 'lie'} beneath {over}"
        for over, names in under.items()
    )


def explain(figure: Figure, text: str) -> None:
    """How to read a figure, in small type beneath it."""
    figure.supxlabel(text, x=0.01, ha="left", fontsize=7, color=FAINT)
