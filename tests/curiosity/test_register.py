"""Games that users add: registered, announced by a package, or named as module:NAME."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

import deepcs
from deepcs import Bounds, Game, Screen, at, game, games, register_game
from deepcs.curiosity.games import find_game, game_named


def frostbite(**changes: object) -> Game:
    facts = {
        "name": "Frostbite",
        "x": 0xE6,
        "y": 0xE4,
        "bounds": Bounds(23, 22, 118, 110),
        "screen": Screen(1, 3.5, 1, 38),
        "room": at(0xF1),
    }
    return Game(**{**facts, **changes})  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is gone after it, in processes started later too."""
    monkeypatch.setattr("deepcs.curiosity.games._registered", {})
    monkeypatch.setattr("deepcs.system.first._calls", {})


def test_a_registered_game_is_known_by_every_clear_spelling_and_stands_after_the_twelve() -> None:
    ours = register_game(frostbite())
    assert games()[12:] == ("Frostbite",)
    for spelling in ("Frostbite", "frostbite", "ALE/Frostbite-v5", "frost"):
        assert game(spelling) is ours


def test_the_same_facts_may_be_registered_again_as_a_notebooks_cell_does() -> None:
    register_game(frostbite())
    register_game(frostbite())
    assert games().count("Frostbite") == 1


def test_a_name_that_is_taken_is_refused_unless_it_is_to_be_replaced() -> None:
    register_game(frostbite())
    with pytest.raises(ValueError, match=r"^Got a game named Frostbite, but .*replace=True"):
        register_game(frostbite(tile=8))
    assert game("Frostbite").tile == 16
    register_game(frostbite(tile=8), replace=True)
    assert game("Frostbite").tile == 8


@pytest.mark.parametrize("replace", [False, True])
def test_the_papers_games_stay_as_they_are(replace: bool) -> None:
    pitfall = dataclasses.replace(game("Pitfall"), tile=8)
    with pytest.raises(ValueError, match="Pitfall, which is one of the paper's"):
        register_game(pitfall, replace=replace)
    assert register_game(game("Pitfall")).tile == 16
    assert len(games()) == 12


def test_only_games_can_be_registered() -> None:
    with pytest.raises(ValueError, match=r"^Got 'Frostbite' to register; give a deepcs.Game"):
        register_game("Frostbite")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"name": "frost_bite"}, "Got game name 'frost_bite'; give it as in Gymnasium"),
        ({"x": 102}, "Got 0x66 for Frostbite's x; give an address of RAM, from 0x80 to 0xFF"),
        ({"x": None, "y": None}, "Got Frostbite without x, y and place"),
        ({"tile": 0}, "Got a tile size of 0"),
        ({"weight": 2}, "Got reward weight 2"),
    ],
)
def test_facts_that_cannot_be_are_refused_where_they_are_given(
    changes: dict[str, object], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        frostbite(**changes)


def test_a_room_of_two_bytes_has_two_numbers() -> None:
    ram = bytes(range(0x80, 0x100))
    assert at(0x83, 0x90)(ram) == (0x83, 0x90)
    with pytest.raises(ValueError, match="Got 0x3 for room"):
        at(3)


def test_a_game_without_a_way_up_is_at_height_0() -> None:
    assert frostbite(y=None).locate([7] * 128) == deepcs.Position(7, 0, (7,))


def test_letters_before_a_colon_are_a_module_and_never_a_games_beginning() -> None:
    assert find_game("mo") is game("MontezumaRevenge")
    assert find_game("mo:n") is None
    assert find_game("montezuma_revenge:game") is None


def test_a_game_of_ones_own_module_needs_no_registration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "winter.py").write_text(
        "from deepcs import Bounds, Game, Screen\n"
        "GAME = Game('Frostbite', 0xE6, 0xE4, Bounds(23, 22, 118, 110), Screen(1, 3.5, 1, 38))\n"
        "OTHER = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    assert find_game("winter:GAME") is None  # whoever only asks imports nothing
    assert "winter" not in sys.modules
    assert game("winter:GAME").bounds.width == 118
    assert games()[12:] == ()
    with pytest.raises(ValueError, match=r"^Got 'winter:OTHER', which is 3; give module:NAME"):
        game("winter:OTHER")
    with pytest.raises(ValueError, match=r"^Got 'summer:GAME', but .*'summer' in .*; give"):
        game("summer:GAME")


def test_a_games_whole_name_is_never_the_beginning_of_another() -> None:
    register_game(Game("Atlantis2", 0x80, None, Bounds(0, 0, 160, 1), Screen(1, 0, 8, 100)))
    assert find_game("atlan") is not None
    assert game_named("Atlantis") is None  # as an ALE environment is asked for


PACKAGE = """\
from deepcs import Bounds, Game, Screen
GAME = Game("Frostbite", 0xE6, 0xE4, Bounds(23, 22, 118, 110), Screen(1, 3.5, 1, 38))
"""
ENTRIES = "[deepcs.games]\nfrostbite = winter:GAME\nbroken = winter:MISSING\n"


def test_installed_packages_announce_games_and_a_broken_one_is_warned_of(tmp_path: Path) -> None:
    (tmp_path / "winter.py").write_text(PACKAGE)
    metadata = tmp_path / "winter_games-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: winter-games\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRIES)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import deepcs; print('winter' in sys.modules)\n"
        "print(deepcs.games()[12:], deepcs.game('frostbite').tile)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["False", "('Frostbite',) 16"]
    assert "winter-games announces the game broken as winter:MISSING, which is" in done.stderr
