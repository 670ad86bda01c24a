"""Only what is recorded in the same units is tested, and only groups of the same settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from generated import experiment, group_of, results_of

from deepcs.analysis.comparable import comparable, recorded, recorded_words, same_units
from deepcs.analysis.curve_figures import curve_figures
from deepcs.analysis.findings import findings
from deepcs.analysis.groups import Group
from deepcs.analysis.ledger import ledger
from deepcs.analysis.result_tables import differences_table
from deepcs.curiosity.novelty import Novelty
from deepcs.runs.config import RunConfig

MONTEZUMA = "MontezumaRevenge"


def group(treatment: str, world: str = MONTEZUMA, **settings: object) -> Group:
    config = RunConfig(world, treatment=treatment, **settings)  # type: ignore[arg-type]
    return Group(config.resolved(), "", 1, ())


@pytest.mark.parametrize(
    ("treatment", "same", "words"),
    [
        ("plain", True, "tiles new in this game"),
        ("no-grid", True, "tiles new in this game"),
        ("no-intrinsic", True, "tiles new in this game"),
        ("never-reset", True, "tiles new to their actor in all of training"),
        ("life-reset", True, "tiles new in this life"),
        ("fading", False, "tiles by how long ago they were entered"),
        ("counts", False, "1/√N of all visits in training"),
        ("counts+grid", False, "1/√N of all visits in training"),
        ("hybrid", False, "tiles new in this game × 1/√N of all visits in training"),
        ("rnd", False, "errors of RND's network"),
        ("deepcs-pixels", False, "cells of the small picture new in this game"),
        ("deepcs-hash", False, "cells of the learned code new in this game"),
    ],
)
def test_deepcs_shares_its_units_with_the_papers_controls_only(
    treatment: str, same: bool, words: str
) -> None:
    other = group(treatment)
    assert same_units(group("deepcs"), other) is same
    assert recorded(other.config) == words


def test_larger_tiles_and_graded_pay_are_other_units() -> None:
    assert not same_units(group("deepcs"), group("deepcs", tile=8))
    assert not same_units(group("deepcs"), group("deepcs", graded=True))
    assert same_units(group("deepcs"), group("deepcs", tile=16))  # the game's own
    assert same_units(group("rnd"), group("rnd", tile=16))
    slow = group("fading", novelty=Novelty(half_life=1_000))
    assert not same_units(group("fading"), slow)


def test_what_all_record_alike_needs_no_words() -> None:
    assert recorded_words([group("deepcs"), group("plain")]) == ""
    both = [group("deepcs"), group("life-reset"), group("plain")]
    told = "tiles new in this game (DeepCS; A2C), tiles new in this life (Life reset)"
    assert recorded_words(both) == told


@pytest.mark.parametrize("setting", ["actors = 8", "weight = 0.5", "network = 'narrow'"])
def test_groups_of_other_settings_are_not_compared(tmp_path: Path, setting: str) -> None:
    other = experiment(MONTEZUMA, ["plain"], 3, f"settings = {{ {setting} }}")
    results = results_of(tmp_path, experiment(MONTEZUMA, ["deepcs", "no-grid"], 3), other)
    ours = group_of(results, "deepcs")
    assert not comparable(ours, group_of(results, "plain"))
    (table,) = differences_table(results)
    assert {row[4] for row in table.rows} == {"No grid"}
    assert "other settings, so not tested" in " ".join(findings(results))
    (claim,) = (entry for entry in ledger(results) if entry.claim.number == "1")
    assert claim.theirs is None


def test_a_grid_that_needs_the_joint_network_makes_no_other_setting() -> None:
    assert comparable(group("deepcs", network="joint"), group("plain", network="fast"))
    assert not comparable(group("deepcs", network="narrow"), group("plain", network="fast"))


def test_intrinsic_rewards_are_tested_where_they_have_the_same_units(tmp_path: Path) -> None:
    treatments = ["deepcs", "plain", "no-grid", "no-intrinsic", "never-reset", "life-reset", "rnd"]
    results = results_of(tmp_path, experiment(MONTEZUMA, treatments, 3))
    (table,) = differences_table(results)
    by_measure = {m: [row[4] for row in table.rows if row[1] == m] for m in ("score", "intrinsic")}
    assert len(by_measure["score"]) == 6
    assert by_measure["intrinsic"] == [name for name in by_measure["score"] if name != "RND"]
    assert "tiles new in this life (Life reset), errors of RND's network (RND)" in table.note


def test_no_bar_is_drawn_between_units_and_the_picture_says_so(tmp_path: Path) -> None:
    results = results_of(tmp_path, experiment("KeyHallway", ["deepcs", "rnd", "no-grid"], 5))
    (drawing,) = curve_figures(results.of("KeyHallway"))
    score, intrinsic = drawing.figure.axes[2:]
    assert not score.texts
    assert [text.get_text() for text in intrinsic.texts] == ["other units, so not tested"]
    tested = {(row[0], row[2]) for row in drawing.data[1].rows}
    assert ("Intrinsic reward", "RND") not in tested
    assert {("Game score", "RND"), ("Intrinsic reward", "No grid")} <= tested
    assert "units differ" in [text.get_text() for text in drawing.figure.axes[1].texts]
    assert "errors of RND's network (RND)" in drawing.caption


def test_claims_about_the_intrinsic_reward_need_the_same_units(tmp_path: Path) -> None:
    pixels = "settings = { novelty.place = 'pixels' }"
    results = results_of(
        tmp_path,
        experiment(MONTEZUMA, ["deepcs"], 3, pixels),
        experiment(MONTEZUMA, ["plain"], 3),
    )
    by_number = {entry.claim.number: entry for entry in ledger(results)}
    assert by_number["12a"].theirs is None
    assert by_number["1"].theirs is not None
