"""Tables: the right numbers, in four spellings."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from generated import ROWS, experiment, level, make_study, results_of
from scipy import stats

from deepcs.analysis import paper_table
from deepcs.analysis.groups import collect
from deepcs.analysis.paper_table import published_table
from deepcs.analysis.result_tables import (
    cost_table,
    differences_table,
    games_table,
    scores_table,
)
from deepcs.analysis.settings_tables import settings_tables, versions_table
from deepcs.analysis.tables import (
    Column,
    Table,
    escape_latex,
    number_text,
    probability_text,
    share_text,
    to_csv,
    to_html,
    to_latex,
    to_markdown,
    words,
)
from deepcs.curiosity.games import game
from deepcs.runs.config import RunConfig
from deepcs.runs.versions import versions

PAIR = experiment("Freeway", ["deepcs", "plain"], 5)
AWKWARD = Table(
    "awkward",
    "50 % & more",
    (words("who_is"), Column("score"), Column("quartiles"), Column("p", probability_text)),
    [["a|b <i>", 1234.5678, (0.1, 2000.25), 1e-9], ["c\\d", None, (1.0, 2.0), float("nan")]],
    "β ≥ 0.5 ~ #1\nAnd more.",
)


def cells(table: Table) -> list[dict[str, object]]:
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows]


def test_csv_has_all_digits_and_a_column_for_each_end_of_a_range() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(AWKWARD))))
    assert [float(row["quartiles high"]) for row in rows] == [2000.25, 2.0]
    assert float(rows[0]["score"]) == 1234.5678
    assert (rows[1]["score"], rows[1]["p"]) == ("", "")
    assert rows[0]["who_is"] == "a|b <i>"


def test_markdown_keeps_its_columns_whatever_the_cells_hold() -> None:
    title, _, header, rule, *rows, _, note, _, more = to_markdown(AWKWARD).splitlines()
    assert (title, note, more) == ("**50 % & more**", "β ≥ 0.5 ~ #1", "And more.")
    assert [len(re.findall(r"(?<!\\)\|", line)) for line in (header, rule, *rows)] == [5] * 4
    assert rows[0] == r"| a\|b <i> | 1,235 | 0.1 to 2,000 | <0.0001 |"
    assert rows[1] == r"| c\\d | – | 1 to 2 | – |"


def test_latex_escapes_all_that_it_would_read_as_a_command() -> None:
    latex = to_latex(AWKWARD)
    assert r"50 \% \& more." in latex
    assert r"who\_is" in latex
    assert r"c\textbackslash{}d" in latex
    assert r"$\beta$ $\geq$ 0.5 \textasciitilde{} \#1 And more." in latex
    bare = re.sub(r"\\[&%$#_{}]|\\[a-z]+(\{\})?|\$[^$]*\$", "", latex)
    assert not set(bare) & set("%$#_~^")
    assert all(
        line.count("&") == 3 for line in bare.splitlines() if line.startswith("  ") and "&" in line
    )
    assert latex.count("{") == latex.count("}")
    assert bare.isascii()


@pytest.mark.parametrize("character", "\\{}$&#^_~%<>|")
def test_every_special_character_is_escaped(character: str) -> None:
    assert escape_latex(f"a{character}b") != f"a{character}b"


def test_html_shows_what_is_meant_as_text_as_text() -> None:
    text = to_html(AWKWARD)
    assert "a|b &lt;i&gt;" in text
    assert "<i>" not in text
    assert text.endswith('<p class="note">β ≥ 0.5 ~ #1</p><p class="note">And more.</p>')


def test_numbers_for_people() -> None:
    assert [number_text(n) for n in (0, 33, 0.1234, 123.4, 12345.6, -186, float("nan"))] == [
        *("0", "33", "0.123", "123", "12,346", "−186", "–"),
    ]
    assert [share_text(s) for s in (-0.001, 0.256, -0.5)] == ["0 %", "26 %", "−50 %"]
    assert [share_text(s) for s in (0.125, 0.135, 0.005, 0.145)] == ["13 %", "14 %", "1 %", "15 %"]
    assert [probability_text(p) for p in (0, 0.00123, 0.0499, 0.5, 1)] == [
        *("<0.0001", "0.0012", "0.05", "0.50", "1.00"),
    ]


def test_scores_are_medians_quartiles_and_tests_of_the_finished_runs(tmp_path: Path) -> None:
    def scores(config: RunConfig) -> list[float]:
        start = {"deepcs": 12, "plain": 10}[config.treatment]
        rows = ROWS - (config.treatment == "plain" and config.seed == 4)
        return [float(start + config.seed**2)] * rows

    results = results_of(tmp_path, PAIR, scores=scores)
    ours, theirs = cells(scores_table(results))
    final = np.array([12, 13, 16, 21, 28])
    baseline = np.array([10, 11, 14, 19])  # the fifth is not finished
    assert (ours["n"], theirs["n"]) == ("5", "4 of 5")
    assert (ours["median"], ours["quartiles"], ours["min, max"]) == (16, (13, 21), (12, 28))
    assert ours["IQM"] == np.mean([13, 16, 21])
    assert (ours["its interval"], ours["covers"]) == ((12, 28), 1 - 2 / 2**5)
    low, high = ours["IQM 95 %"]  # type: ignore[misc]
    assert low < 13 < np.mean([13, 16, 21]) < 21 < high  # of three runs that count
    assert ours["human"] == pytest.approx(16 / 29.6)
    (table,) = differences_table(results)
    row, _ = cells(table)  # score and intrinsic reward
    test = stats.mannwhitneyu(final, baseline, method="exact")
    assert (row["group"], row["n"], row["against"], row["m"]) == ("DeepCS", "5", "A2C", "4 of 5")
    assert row["p"] == pytest.approx(test.pvalue)
    assert (row["U"], row["effect"]) == (test.statistic, pytest.approx(test.statistic / 20))


def test_scores_and_intrinsic_rewards_are_corrected_apart(tmp_path: Path) -> None:
    controls = ["plain", "no-grid", "no-intrinsic", "never-reset", "life-reset"]
    tables = [experiment("MontezumaRevenge", [name], 5) for name in ("deepcs", *controls[1:])]
    tables.append(experiment("MontezumaRevenge", ["plain"], 2))  # p of 2/21 at best

    def scores(config: RunConfig) -> list[float]:
        return [100.0 * (config.treatment == "deepcs") + config.seed] * ROWS

    (table,) = differences_table(results_of(tmp_path, *tables, scores=scores))
    apart = {(row["measure"], row["against"], row["group"]): row for row in cells(table)}
    assert len(apart) == 10
    for (_, *names), row in apart.items():
        few = "A2C" in names
        assert row["p"] == pytest.approx(2 / 21 if few else 2 / 252)
        assert row["p, Holm"] == row["least p"] == pytest.approx(2 / 21 if few else 4 * 2 / 252)


@pytest.mark.parametrize(
    ("world", "limits"),
    [("KeyHallway", (0, 1)), ("Freeway", (0, None)), ("Pitfall", (None, None))],
)
def test_no_interval_reaches_where_no_score_can_be(
    tmp_path: Path, world: str, limits: tuple[float | None, float | None]
) -> None:
    def scores(config: RunConfig) -> list[float]:
        return [float(config.seed > 1)] * ROWS  # two of 0 and two of 1: an interval far around

    results = results_of(tmp_path, experiment(world, ["deepcs"], 4), scores=scores)
    (row,) = cells(scores_table(results))
    for end, limit, beyond in zip(row["IQM 95 %"], limits, (-1, 1), strict=True):  # type: ignore[call-overload]
        assert end == limit if limit is not None else beyond * (end - 0.5) > 0.5


def test_table_1_has_ours_beside_the_published_with_budget_and_n(tmp_path: Path) -> None:
    study = make_study(tmp_path, PAIR, missing=["Freeway-deepcs-paper-seed0"])
    (table,) = published_table(collect(study, tmp_path))
    by_game = {row["game"]: row for row in cells(table)}
    assert len(by_game) == 13
    freeway = by_game["Freeway"]
    assert [freeway[name] for name in ("DQN", "A3C", "PC", "PCn", "R", "Ape-X", "DeepCS‡")] == [
        *("30", "0", "30", "31", "34", "33", "33"),
    ]
    assert freeway["ours‡"] == 1002.5  # seeds 1 to 4
    assert (freeway["our frames"], freeway["our runs"]) == ("320k†", "4 of 5")
    assert by_game["Amidar§"]["PCn"] == "~900"
    assert by_game["Amidar§"]["ours‡"] is None
    assert by_game["Pitfall§"]["DeepCS‡"] == "−186"
    assert "† Another budget than the paper's 640M frames" in table.note
    assert "RAM" in table.note


def test_table_1_has_the_papers_best_single_runs_and_ours(tmp_path: Path) -> None:
    def scores(config: RunConfig) -> list[float]:
        return [(700.0 if config.agent == "acktr" else 10.0) + config.seed] * ROWS

    both = experiment("MontezumaRevenge", ["deepcs", "plain"], 3, "agents = ['a2c', 'acktr']")
    (table,) = published_table(results_of(tmp_path, both, scores=scores))
    rows = {str(row["game"]).rstrip("§"): row for row in cells(table)}
    best = {
        name: row["its best run‡"] for name, row in rows.items() if row["its best run‡"] is not None
    }
    assert best == {"Amidar": "2,600", "MR": "6,600", "Seaquest": "80,000"}
    assert rows["MR"]["ours‡"] == 11  # the median of DeepCS on A2C, as the paper's 3,500 is
    assert rows["MR"]["our best run‡"] == 702  # on ACKTR, as the paper's 6,600 is
    assert "Montezuma's Revenge 6,600 (DeepCS on ACKTR" in table.note
    assert "the caption of its Table 1 names one" in table.note


def test_table_1_says_which_games_reward_other_bytes_than_the_papers(tmp_path: Path) -> None:
    (table,) = published_table(results_of(tmp_path, PAIR))
    marked = [str(row["game"]) for row in cells(table) if str(row["game"]).endswith("§")]
    assert len(marked) == 7
    (names,) = re.findall(r"§ Position or room .*? rewarded: (.*?)\. What and why: ", table.note)
    assert [f"{name}§" for name in names.split(", ")] == marked
    assert "What and why: deepcs games NAME." in table.note
    assert "the table in section S1 of its supplement" in table.note


def test_other_bytes_are_found_in_the_registry_and_told_for_the_studys_games_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = results_of(tmp_path, PAIR, experiment("Venture", ["deepcs"], 2))
    assert "other tiles are rewarded: Venture. What" in scores_table(results).note
    venture = game("Venture")
    monkeypatch.setattr(paper_table, "find_game", lambda name: replace(venture, differences=()))
    assert "other tiles" not in scores_table(results).note


def test_table_1_needs_a_game_of_the_paper(tmp_path: Path) -> None:
    results = results_of(tmp_path, experiment("KeyHallway", ["deepcs"], 2))
    assert list(published_table(results)) == []
    assert list(games_table(results)) == []


def test_the_games_table_has_the_tiles_and_weights_that_were_used(tmp_path: Path) -> None:
    world = "MontezumaRevenge"
    swept = experiment(world, ["deepcs"], 2, "sweep = { weight = [0.5], tile = [8] }")
    (table,) = games_table(results_of(tmp_path, experiment(world, ["deepcs"], 2), swept))
    (row,) = cells(table)
    assert (row["X"], row["Y"], row["grid"]) == ("0xAA", "0xAB", "153×122")
    assert (row["tile"], row["β"]) == ("8, 16", "0.25, 0.5")


def test_cost_is_summed_over_finished_and_unfinished_runs(tmp_path: Path) -> None:
    results = results_of(
        tmp_path,
        experiment("Freeway", ["deepcs"], 2, "settings = { shards = 2 }"),
        scores=lambda config: level(config)[: ROWS // 2 if config.seed else ROWS],
    )
    row, total = cells(cost_table(results))
    assert row["steps"] == total["steps"] == 80_000 + 40_000
    assert row["wall hours"] == pytest.approx((360 + 180) / 3600)  # 36 s a row
    assert row["core-hours"] == pytest.approx(2 * (360 + 180) / 3600)
    assert row["finished"] == "1 of 2"


def test_settings_that_differ_are_told_by_group_and_others_once(tmp_path: Path) -> None:
    results = results_of(
        tmp_path,
        experiment("Freeway", ["deepcs"], 2, "settings = { a2c.gamma = 0.9 }"),
        experiment("Seaquest", ["deepcs"], 2, "agents = ['a2c', 'acktr']"),
    )
    shared, varied = settings_tables(results)
    once = dict(map(tuple, shared.rows))  # type: ignore[arg-type]
    assert once["actors"] == "16"
    assert once["a2c.learning_rate"] == "0.0007"  # shared by all that have it
    assert once["acktr.learning_rate"] == "0.25"
    assert [row["a2c.gamma"] for row in cells(varied)] == ["0.9", "0.99", None]
    assert dict(map(tuple, versions_table(results).rows)) == versions()  # type: ignore[arg-type]
