"""How often the report's tests cry wolf, and how often its intervals hold the truth.

    python benchmarks/coverage.py [--draws N] [--write]

Groups of n runs, some against others of m, are drawn from one distribution, so that every
difference found is a false alarm: normal; log-normal, as scores with a long tail; and tied, as
Montezuma's Revenge gives them (0, 100 or 400, most often 0). Prints a table; --write puts it into
docs/report.md.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro

from deepcs.analysis.intervals import Interval, median_interval, trimmed_interval
from deepcs.analysis.milestone_figures import reached
from deepcs.analysis.rank_tests import largest_test, rank_test
from deepcs.analysis.statistics import holm
from deepcs.analysis.tables import Cell, Column, Table, to_markdown, words

SIZES = ((3, 3), (5, 5), (10, 10), (25, 25), (3, 25))  # of two groups that are compared
ALPHA, STRICT = 0.05, 0.01
FAMILY = 5  # tests that are corrected together: DeepCS against five controls
POINTS = 20  # of a curve
REPORT = Path(__file__).parents[1] / "docs" / "report.md"
BLOCK = re.compile(r"(<!-- made: coverage -->\n).*?(<!-- end -->)", re.DOTALL)
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
TIED, SHARES = np.array([0.0, 100, 400]), np.array([0.55, 0.25, 0.2])


def tied(rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
    return rng.choice(TIED, size, p=SHARES)


DRAWS: dict[str, Draw] = {
    "normal": lambda rng, size: rng.normal(size=size),
    "log-normal": lambda rng, size: rng.lognormal(size=size),
    "tied": tied,
}


@dataclass(frozen=True)
class Settings:
    """Measure false alarms and coverage."""

    draws: int = 4_000
    """groups drawn for each figure; curves have a tenth of them"""
    write: bool = False
    """put the table into docs/report.md"""


def end_alarms(
    draw: Draw, n: int, draws: int, rng: np.random.Generator, m: int | None = None
) -> tuple[float, float]:
    """Of the rank test at the end of n runs against m (None: n), at either level."""
    m = n if m is None else m
    pairs = (np.split(draw(rng, (n + m,)), [n]) for _ in range(draws))
    p = np.array([rank_test(*pair)[1] for pair in pairs])
    return float((p < ALPHA).mean()), float((p < STRICT).mean())


def family_alarms(
    draw: Draw, n: int, draws: int, rng: np.random.Generator, m: int | None = None
) -> float:
    """Of any of several controls of m runs each against one group of n, after Holm."""
    m = n if m is None else m
    found = 0
    for _ in range(draws):
        ours, controls = draw(rng, (n,)), draw(rng, (FAMILY, m))
        found += bool(holm(np.array([rank_test(ours, c)[1] for c in controls])).min() < ALPHA)
    return found / draws


def curve_alarms(
    draw: Draw, n: int, draws: int, rng: np.random.Generator, m: int | None = None
) -> float:
    """Of a dark bar anywhere along a curve whose points hang together."""
    total = n + (n if m is None else m)
    found = 0
    for _ in range(draws):
        starts, ends = draw(rng, (2, total))
        turns = rng.integers(POINTS, size=total)  # a run has one value, then another
        runs = np.where(np.arange(POINTS) < turns[:, None], starts[:, None], ends[:, None])
        found += bool(np.nanmin(largest_test(runs[:n], runs[n:])) < ALPHA)
    return found / draws


def coverage(
    interval: Callable[[np.ndarray], Interval | None],
    truth: float,
    draw: Draw,
    n: int,
    draws: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Share of the intervals given that hold the truth, and share of draws that have none."""
    given = [interval(values) for values in draw(rng, (draws, n))]
    held = [each.low - 1e-9 <= truth <= each.high + 1e-9 for each in given if each is not None]
    return float(np.mean(held)) if held else float("nan"), 1 - len(held) / draws


def survival_error(n: int, draws: int, rng: np.random.Generator) -> float:
    """Mean of the estimated share that has reached something half of all runs reach by step 1,
    when half of the runs are censored at random steps before 2: 0.5 if it is unbiased."""
    found = []
    for _ in range(draws):
        events = rng.exponential(1 / np.log(2), n)
        ends = np.where(rng.random(n) < 0.5, rng.uniform(0.2, 2, n), 2.0)
        firsts = [int(1000 * e) if e <= end else None for e, end in zip(events, ends, strict=True)]
        estimate = reached(firsts, [int(1000 * end) for end in ends])
        before = np.flatnonzero(estimate.steps <= 1000)
        found.append(estimate.share[before[-1]] if len(before) else 0.0)
    return float(np.mean(found))


def truths(draw: Draw) -> tuple[float, float]:
    """Median and interquartile mean of the distribution itself."""
    values = np.sort(draw(np.random.default_rng(1), (2_000_000,)))
    quarter = len(values) // 4
    return float(np.median(values)), float(values[quarter:-quarter].mean())


def rows(settings: Settings) -> Iterator[list[Cell]]:
    rng = np.random.default_rng(0)
    for name, draw in DRAWS.items():
        median, middle = truths(draw)
        for n, m in SIZES:
            few = max(1, settings.draws // 10)
            yield [
                *(name, str(n) if n == m else f"{n}, {m}"),
                *end_alarms(draw, n, settings.draws, rng, m),
                family_alarms(draw, n, settings.draws // 4, rng, m),
                curve_alarms(draw, n, few, rng, m),
                *(
                    _intervals(draw, n, median, middle, settings.draws, rng)
                    if n == m
                    else [None] * 4
                ),
            ]


def _intervals(
    draw: Draw, n: int, median: float, middle: float, draws: int, rng: np.random.Generator
) -> list[Cell]:
    """Of the median's interval and the IQM's: how often they hold it, and what is promised."""
    held, _ = coverage(median_interval, median, draw, n, draws, rng)
    trimmed, none = coverage(trimmed_interval, middle, draw, n, draws, rng)
    return [held, median_interval(np.arange(float(n))).level, trimmed, none]


def table(settings: Settings) -> Table:
    def shown(share: float) -> str:
        return "–" if np.isnan(share) else f"{100 * share:.1f} %"

    names = (
        "test at the end",
        f"at {STRICT}",
        f"Holm over {FAMILY}",
        "dark bar anywhere",
        "median's interval",
    )
    more = ("it promises", "IQM's interval", "has none")
    columns = words("runs"), words("n"), *(Column(name, shown) for name in (*names, *more))
    survival = survival_error(25, settings.draws, np.random.default_rng(2))
    note = (
        f"False alarms at p < {ALPHA} between groups of n runs each, or of two sizes (at "
        f"{STRICT}: at p < {STRICT} instead; 5 %, or 1 %, at most is right), and how often an "
        "interval holds the truth: the median's at least as often as it promises, the IQM's 95 % "
        "if it were exact. IQM's interval: of those that were given; has "
        f"none: draws whose kept runs are all equal. {settings.draws:,} draws; a quarter of them "
        "for Holm and a tenth for bars, whose figures are so uncertain by "
        f"{100 * (ALPHA * (1 - ALPHA) / max(1, settings.draws // 10)) ** 0.5:.1f} points (standard "
        "error). Milestones have neither tests nor intervals; with 25 runs, "
        f"half of them cut off at random, a share that is 50 % is estimated as "
        f"{100 * survival:.1f} % on average."
    )
    return Table("coverage", "False alarms and coverage", columns, [*rows(settings)], note)


def _wrapped(line: str) -> list[str]:
    """Prose in lines of 100 columns; rows of the table as they are."""
    return [line] if line.startswith("|") or not line else textwrap.wrap(line, 100)


def main(settings: Settings) -> None:
    lines = to_markdown(table(settings)).splitlines()
    text = "\n".join(each for line in lines for each in _wrapped(line)) + "\n"
    print(text)
    if settings.write:
        report = REPORT.read_text()
        REPORT.write_text(BLOCK.sub(lambda found: f"{found[1]}{text}{found[2]}", report))


if __name__ == "__main__":
    main(tyro.cli(Settings))
