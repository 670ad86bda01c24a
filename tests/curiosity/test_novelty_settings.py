"""The three questions: what fits together, and what is refused in one sentence."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from deepcs.curiosity.novelty import Novelty
from deepcs.runs.treatment import TREATMENTS


@pytest.mark.parametrize("treatment", TREATMENTS.values(), ids=TREATMENTS)
def test_a_treatments_own_choices_resolve_and_stay_as_they_are(treatment: Any) -> None:
    full = Novelty().of_treatment(treatment.choices, sees=treatment.sees_grid)
    assert full.of_treatment(treatment.choices, sees=treatment.sees_grid) == full


def test_only_numbers_that_have_an_effect_are_filled_in() -> None:
    full = Novelty().of_treatment(TREATMENTS["rnd"].choices, sees=False)
    filled = {name for name, value in dataclasses.asdict(full).items() if value is not None}
    assert filled == {
        *("place", "lifetime", "across", "combine"),
        *("rnd_learning_rate", "rnd_gamma", "rnd_features"),
    }


@pytest.mark.parametrize(
    ("treatment", "given", "sentence"),
    [
        ("deepcs", {"place": "map"}, "Got novelty.place 'map'; choose one of position"),
        ("fading", {"half_life": 0}, "Got half_life 0; give the steps, above 0"),
        ("deepcs", {"half_life": 10.0}, "no effect without novelty.lifetime 'fading'"),
        ("deepcs", {"width": 8}, "no effect without novelty.place 'pixels'"),
        ("deepcs-pixels", {"levels": 1}, "give a whole number from 2 up"),
        ("deepcs", {"combine": "product"}, "with nothing paid across training"),
        ("counts", {"across_weight": 2.0}, "no effect without novelty.combine"),
        ("hybrid", {"across_weight": 0.0}, "give a finite number above 0"),
        ("counts", {"rnd_gamma": 0.9}, "no effect without novelty.across 'rnd'"),
        ("rnd", {"rnd_gamma": 1.0}, "above 0 and below 1"),
        ("rnd", {"place": "pixels"}, "no effect where rnd alone is paid"),
        ("counts", {"lifetime": "life"}, "no effect where counts alone is paid"),
        ("rnd", {"lifetime": "life"}, "no effect where rnd alone is paid"),
        ("deepcs-hash", {"lifetime": "never"}, "'never' with novelty.place 'hash', but a new code"),
        ("fading", {"place": "hash"}, "'fading' with novelty.place 'hash', but a new code"),
        ("counts+grid", {"place": "hash"}, "'counts' with novelty.place 'hash', but a new code"),
        ("hybrid", {"across_weight": 1e308}, "give a finite number above 0, 1,000,000 at most"),
        ("hybrid", {"life_weight": 1e6 + 1}, "give a finite number above 0, 1,000,000 at most"),
    ],
)
def test_what_makes_no_sense_is_refused(
    treatment: str, given: dict[str, Any], sentence: str
) -> None:
    wanted = TREATMENTS[treatment]
    with pytest.raises(ValueError, match=sentence):
        Novelty(**given).of_treatment(wanted.choices, sees=wanted.sees_grid)


def test_one_answer_can_be_changed_alone() -> None:
    hybrid = TREATMENTS["hybrid"].choices
    full = Novelty(across="rnd", combine="sum").of_treatment(hybrid, sees=True)
    assert (full.place, full.lifetime, full.across, full.combine) == (
        *("position", "game"),
        *("rnd", "sum"),
    )
    assert (full.life_weight, full.across_weight) == (1.0, 1.0)
