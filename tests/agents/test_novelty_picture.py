"""The picture of docs/novelty.md shows what the treatments pay now."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

IMAGES = Path(__file__).parents[2] / "docs/images"
LEARNED = ("deepcs-hash", "rnd")  # for a hundred games, as differently as CPUs round


@pytest.fixture(scope="module")
def drawn() -> dict[str, Any]:
    with Image.open(IMAGES / "novelty.png") as picture:
        numbers: dict[str, Any] = json.loads(picture.info["numbers"])
    return numbers


@pytest.fixture(scope="module")
def script() -> Any:
    found = importlib.util.spec_from_file_location("novelty_picture", IMAGES / "novelty.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_its_numbers_are_current(script: Any, drawn: dict[str, Any]) -> None:
    assert list(drawn) == list(script.TREATMENTS)
    for treatment, (first, last) in drawn.items():
        games = script.paid(treatment, 1 if treatment in LEARNED else script.GAMES)
        assert games[0] == pytest.approx(np.array(first), abs=1e-3), treatment
        if treatment not in LEARNED:
            assert games[1] == pytest.approx(np.array(last), abs=1e-3), treatment


def test_counts_with_the_grid_pay_what_its_caption_says(script: Any) -> None:
    one, other = (script.paid(name, 3) for name in ("counts", "counts+grid"))
    assert (np.array(one) == np.array(other)).all()
