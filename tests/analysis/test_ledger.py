"""The ledger: each verdict from runs made to earn it, and who is compared with whom."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pytest
from generated import ROWS, experiment, make_study, results_of, write_run

from deepcs.analysis.claims import CLAIMS, TOPICS
from deepcs.analysis.groups import Results, gather
from deepcs.analysis.ledger import Entry, ledger, ledger_table
from deepcs.analysis.ledger_summary import summarise
from deepcs.cli.main import main
from deepcs.runs.config import RunConfig

MONTEZUMA = "MontezumaRevenge"


def judged(
    folder: Path,
    world: str,
    values: dict[str, Sequence[float]],
    number: str,
    more: dict[str, str] | None = None,
) -> Entry:
    """The entry of a claim in a study with these final scores, a list a treatment."""
    experiments = [
        experiment(world, [name], len(scores), (more or {}).get(name, ""))
        for name, scores in values.items()
    ]

    def scores(config: RunConfig) -> list[float]:
        return [values[config.treatment][config.seed]] * ROWS

    return entry_of(results_of(folder, *experiments, scores=scores), number)


def entry_of(results: Results, number: str) -> Entry:
    (entry,) = (each for each in ledger(results) if each.claim.number == number)
    return entry


HIGH, LOW = [501.0, 502, 503, 504, 505], [1.0, 2, 3, 4, 5]
EQUAL = [100.0, 200, 300, 400, 500]
NONE = [0.0] * 5


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict", "reason"),
    [
        (HIGH, LOW, "seen", ""),
        (LOW, HIGH, "opposite", ""),
        (EQUAL, EQUAL, "not seen", ""),
        (NONE, NONE, "too early to say", "neither ever scored"),
        (HIGH[:3], LOW[:3], "too early to say", "too few runs for p < 0.05"),
    ],
)
def test_more_is_judged(
    tmp_path: Path, ours: list[float], theirs: list[float], verdict: str, reason: str
) -> None:
    entry = judged(tmp_path, MONTEZUMA, {"deepcs": ours, "plain": theirs}, "1")
    assert (entry.verdict, entry.reason) == (verdict, reason)


@pytest.mark.parametrize(
    ("no_grid", "deepcs", "verdict"),
    [
        ([*range(10)], [*range(10)], "seen"),
        ([*range(10)], [*range(100, 110)], "opposite"),
        ([*range(10)], [*range(3, 13)], "not seen"),  # a difference, though p = 0.052
        (EQUAL, EQUAL, "too early to say"),
    ],
)
def test_no_difference_needs_enough_runs(
    tmp_path: Path, no_grid: list[float], deepcs: list[float], verdict: str
) -> None:
    entry = judged(tmp_path, "Seaquest", {"deepcs": deepcs, "no-grid": no_grid}, "8a")
    assert entry.verdict == verdict


@pytest.mark.parametrize(
    ("never", "deepcs", "verdict"),
    [
        (LOW, HIGH, "seen"),
        (HIGH, LOW, "opposite"),
        ([100.0, 101, 102, 103, 104], HIGH, "not seen"),  # it earns less, yet not nothing
        (EQUAL, EQUAL, "not seen"),
        (LOW, NONE, "too early to say"),
    ],
)
def test_nothing_is_judged_against_deepcs(
    tmp_path: Path, never: list[float], deepcs: list[float], verdict: str
) -> None:
    entry = judged(tmp_path, MONTEZUMA, {"deepcs": deepcs, "never-reset": never}, "9")
    assert entry.verdict == verdict


def test_a_value_that_a_run_reaches_is_seen_and_otherwise_needs_the_papers_budget(
    tmp_path: Path,
) -> None:
    reached = judged(tmp_path / "a", "Seaquest", {"deepcs": [1.0, 80_000]}, "18")
    assert (reached.verdict, reached.x.max()) == ("seen", 80_000)
    early = judged(tmp_path / "b", "Seaquest", {"deepcs": [1.0, 2.0]}, "18")
    assert early.verdict == "too early to say"
    long = experiment("Seaquest", ["deepcs"], 25).replace("80000", "160_000_000")
    results = results_of(tmp_path / "c", long, scores=lambda config: [1.0] * ROWS)
    assert entry_of(results, "18").verdict == "not seen"


def test_learners_may_differ_early_and_yet_end_alike(tmp_path: Path) -> None:
    pair = [
        experiment(MONTEZUMA, ["deepcs"], 5, f'agents = ["{agent}"]') for agent in ("a2c", "acktr")
    ]

    def scores(config: RunConfig) -> list[float]:
        return [(HIGH if config.agent == "acktr" else LOW)[config.seed]] * ROWS

    results = results_of(tmp_path / "short", *pair, scores=scores)
    assert entry_of(results, "11a").reason == "it is about the end of the paper's steps"
    early = entry_of(results, "11b")
    assert (early.verdict, early.corrected) == ("seen", early.p)
    long = [table.replace("80000", "160_000_000") for table in pair]
    results = results_of(tmp_path / "long", *long, scores=scores)
    assert entry_of(results, "11a").verdict == "opposite"


def test_claims_of_one_number_are_corrected_together(tmp_path: Path) -> None:
    tables = [experiment(w, ["deepcs", "plain"], 5) for w in (MONTEZUMA, "Seaquest")]

    def scores(config: RunConfig) -> list[float]:
        return [(HIGH if config.treatment == "deepcs" else LOW)[config.seed]] * ROWS

    results = results_of(tmp_path, *tables, scores=scores)
    exact = 2 / 252
    assert entry_of(results, "1").corrected == pytest.approx(exact)
    for number in ("12a", "12b"):
        entry = entry_of(results, number)
        assert (entry.p, entry.corrected) == pytest.approx((exact, 2 * exact))
        assert entry.least == pytest.approx(2 * exact)


def test_tests_that_cannot_be_found_do_not_weaken_the_others(tmp_path: Path) -> None:
    # 12a has five runs against five, 12b three against three, whose p is 0.1 at best.
    sizes = {MONTEZUMA: 5, "Seaquest": 3}
    tables = [experiment(world, ["deepcs", "plain"], n) for world, n in sizes.items()]

    def scores(config: RunConfig) -> list[float]:
        return [(HIGH if config.treatment == "deepcs" else LOW)[config.seed]] * ROWS

    results = results_of(tmp_path, *tables, scores=scores)
    strong, weak = (entry_of(results, number) for number in ("12a", "12b"))
    assert (strong.verdict, strong.corrected) == ("seen", pytest.approx(2 / 252))
    assert (weak.verdict, weak.reason) == ("too early to say", "too few runs for p < 0.05")


def test_other_budgets_are_never_compared(tmp_path: Path) -> None:
    short = experiment(MONTEZUMA, ["plain"], 5).replace("80000", "40_000")
    results = results_of(tmp_path, experiment(MONTEZUMA, ["deepcs"], 5), short)
    entry = entry_of(results, "1")
    assert (entry.ours, entry.reason) == (None, "no finished runs")


def test_every_claim_has_a_row_and_no_number_stands_twice(tmp_path: Path) -> None:
    results = results_of(tmp_path, experiment(MONTEZUMA, ["deepcs", "plain"], 2))
    (short,) = ledger_table(results)
    assert [row[0] for row in short.rows] == ["1", "12a", "15", "16"]
    assert "without finished runs: 2, 3, 4" in short.note
    (table,) = ledger_table(results, whole=True)
    numbers = [row[0] for row in table.rows]
    assert numbers == [claim.number for claim in CLAIMS]
    assert len({*numbers}) == len(numbers)


def test_runs_without_a_study_are_grouped_by_all_but_their_seed(tmp_path: Path) -> None:
    base = RunConfig(MONTEZUMA, steps=80_000, shards=1, device="cpu").resolved()
    paths = []
    for seed, steps in ((0, 80_000), (1, 80_000), (2, 40_000)):
        config = dataclasses.replace(base, seed=seed, steps=steps)
        paths.append(tmp_path / f"run{seed}")
        write_run(paths[-1], config, [1.0] * ROWS)
    whole, shorter = gather(paths).groups
    assert (len(whole.runs), whole.variant, len(shorter.runs)) == (2, "", 1)
    assert shorter.variant == "steps=40000"


def test_the_command_prints_the_ledger(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_study(tmp_path, experiment(MONTEZUMA, ["deepcs", "plain"], 2))
    main(["study", "claims", "demo", "--out", str(tmp_path)])
    assert "too early to say" in " ".join(capsys.readouterr().out.split())


def test_a_study_that_bears_on_no_claim_is_told_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_study(tmp_path, experiment("KeyHallway", ["no-grid"], 1))
    with pytest.raises(SystemExit):
        main(["study", "claims", "demo", "--out", str(tmp_path)])
    assert "bears on a claim" in capsys.readouterr().err


def test_the_summary_names_what_was_decided_and_how(tmp_path: Path) -> None:
    tables = [experiment(world, ["deepcs", "plain"], 5) for world in (MONTEZUMA, "Freeway")]

    def scores(config: RunConfig) -> list[float]:
        ahead = (config.treatment == "deepcs") == (config.world == MONTEZUMA)
        return [(HIGH if ahead else LOW)[config.seed]] * ROWS

    told = summarise(ledger(results_of(tmp_path, *tables, scores=scores)))
    assert "of 38 rows (a claim and a learner each): 35 *too early to say*" in told
    assert "Seen: Montezuma's Revenge, intrinsic reward (12a A2C). Opposite: Freeway." in told


def test_every_question_has_a_topic() -> None:
    assert {claim.question for claim in CLAIMS} == TOPICS.keys()


def test_a_run_left_the_first_room_if_its_curve_did(tmp_path: Path) -> None:
    values = {"deepcs": [400.0] * 5, "no-grid": [399.0, 0, 0, 0, 0]}
    entry = judged(tmp_path, MONTEZUMA, values, "8e")
    assert (entry.x.tolist(), entry.y.tolist(), entry.verdict) == ([0.0] * 5, [1.0] * 5, "seen")
    (table,) = ledger_table(results_of(tmp_path / "again", experiment(MONTEZUMA, ["deepcs"], 2)))
    shown = {row[0]: row for row in table.rows}
    assert shown["16"][5] == "0 of 2 runs"


def test_those_that_leave_are_compared_at_the_papers_steps_alone(tmp_path: Path) -> None:
    tables = [experiment(MONTEZUMA, [name], 12) for name in ("deepcs", "no-grid")]

    def scores(config: RunConfig) -> list[float]:
        return [500.0 + config.seed if config.seed > 1 else 0.0] * ROWS

    early = entry_of(results_of(tmp_path / "short", *tables, scores=scores), "8f")
    assert early.reason == "it is about the end of the paper's steps"
    long = [table.replace("80000", "160_000_000") for table in tables]
    entry = entry_of(results_of(tmp_path / "long", *long, scores=scores), "8f")
    assert (len(entry.x), len(entry.y), entry.verdict) == (10, 10, "seen")
