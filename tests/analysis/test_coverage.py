"""False alarms and coverage of all that a report prints, measured on drawn runs."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
DRAWS = 300


@pytest.fixture(scope="module")
def coverage() -> ModuleType:
    """benchmarks/coverage.py."""
    spec = importlib.util.spec_from_file_location("coverage_of", ROOT / "benchmarks/coverage.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def most(share: float) -> float:
    """What a share of so many draws hardly ever exceeds: three standard errors above."""
    return share + 3 * float(np.sqrt(share * (1 - share) / DRAWS))


@pytest.mark.parametrize("name", ["normal", "tied"])
@pytest.mark.parametrize("n", [3, 5])
def test_few_runs_cry_wolf_in_one_of_twenty_at_most(
    coverage: ModuleType, name: str, n: int
) -> None:
    draw, rng = coverage.DRAWS[name], np.random.default_rng(3)
    for alarms, level in zip(coverage.end_alarms(draw, n, DRAWS, rng), (0.05, 0.01), strict=True):
        assert alarms <= most(level)
    assert coverage.family_alarms(draw, n, DRAWS, rng) <= most(0.05)


@pytest.mark.parametrize("name", ["normal", "tied"])
def test_few_runs_against_many_cry_wolf_no_more_often(coverage: ModuleType, name: str) -> None:
    draw, rng = coverage.DRAWS[name], np.random.default_rng(5)
    alarms = coverage.end_alarms(draw, 3, DRAWS, rng, 25)
    assert alarms[0] <= most(0.05)
    assert alarms[1] <= most(0.01)


@pytest.mark.parametrize("name", ["log-normal", "tied"])
def test_the_medians_interval_covers_what_it_promises(coverage: ModuleType, name: str) -> None:
    draw, rng = coverage.DRAWS[name], np.random.default_rng(4)
    median, _ = coverage.truths(draw)
    for n in (3, 5, 10):
        interval = coverage.median_interval
        promised = interval(np.arange(float(n))).level
        held, none = coverage.coverage(interval, median, draw, n, DRAWS, rng)
        assert 1 - held <= most(1 - promised)
        assert none == 0


@pytest.mark.long
def test_the_whole_table_is_as_promised(coverage: ModuleType) -> None:
    draws = 1000
    slack = 3 * np.sqrt(0.05 * 0.95 / (draws // 10))
    for row in coverage.table(coverage.Settings(draws=draws)).rows:
        _, _, end, strict, family, curve, held, promised, trimmed, _ = row
        assert strict < 0.01 + 3 * np.sqrt(0.01 * 0.99 / draws)
        assert max(end, family) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / (draws // 4))
        assert curve < 0.05 + slack
        if held is None:  # groups of two sizes: intervals are of one
            continue
        assert held > promised - 3 * np.sqrt(promised * (1 - promised) / draws)
        assert np.isnan(trimmed) or trimmed > 0.6
