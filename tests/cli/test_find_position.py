"""`deepcs find-position` as a person meets it: the table, lines that run as pasted, a picture."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from deepcs import Bounds, Game, Screen, at, game, games
from deepcs.cli.find_position import game_lines
from deepcs.cli.main import main


def pasted(lines: str) -> dict[str, object]:
    names: dict[str, object] = {}
    exec(lines, names)
    return names


def test_it_prints_candidates_a_picture_and_lines_that_run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("deepcs.curiosity.games._registered", {})
    monkeypatch.setattr("deepcs.system.first._calls", {})
    main(["find-position", "frostbite", "--states", "24", "--exploration", "400"])
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= 100
    assert "0xE6" in said
    assert "0xE4" in said
    lines = said[said.index("from deepcs import") : said.index("register_game(FROSTBITE)")]
    frostbite = pasted(lines + "register_game(FROSTBITE)")["FROSTBITE"]
    assert isinstance(frostbite, Game)
    assert (frostbite.x, frostbite.y) == (0xE6, 0xE4)
    assert games()[12:] == ("Frostbite",)
    picture = cv2.imread(str(tmp_path / "Frostbite-position.png"))
    assert picture is not None
    assert picture.shape[1] == 20 + 4 * (320 + 20)
    assert np.any(np.all(picture == (66, 228, 240), 2))  # the cross, blue first


@pytest.mark.parametrize("name", ["Seaquest", "Tutankham", "Freeway", "MontezumaRevenge"])
def test_the_lines_make_the_game_that_they_were_made_of(name: str) -> None:
    facts = game(name)
    made = pasted(game_lines(facts))[facts.rom.upper()]
    assert isinstance(made, Game)
    for field in ("name", "x", "y", "bounds", "screen", "room", "tile", "window", "start"):
        assert getattr(made, field) == getattr(facts, field)


def test_lines_name_only_what_they_use_and_register_no_game_of_the_papers() -> None:
    assert "register_game" not in game_lines(game("Seaquest"))
    assert "at" not in game_lines(game("Seaquest")).splitlines()[0].split(", ")
    hero = Game("Hero", 0x9B, None, Bounds(15, 0, 123, 1), Screen(1, 3.5, 8, 90), at(0x9C))
    assert "y=None," in game_lines(hero)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["hiro"], "Got game 'hiro', which ale-py cannot play alone; the nearest is Hero: "),
        (["hero", "--states", "0"], "Got 0 states; give a whole number from 10 up."),
        (["hero", "--seed", "-1"], "Got seed -1; give a whole number from 0 up."),
        (["hero", "--out", "hero.jpg"], "Got --out hero.jpg; give the name of a file that ends"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exited:
        main(["find-position", *arguments])
    error = capsys.readouterr().err
    assert (exited.value.code, error.count("\n")) == (2, 1)
    assert words in error
