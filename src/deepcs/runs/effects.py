"""Settings that would change nothing a learner gets, refused where a run is asked for.

Runs that were saved before are not checked: they are read as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepcs.curiosity.novelty import Novelty
from deepcs.envs.mazes import MAZES
from deepcs.envs.roms import atari_game
from deepcs.runs.treatment import TREATMENTS

if TYPE_CHECKING:
    from deepcs.runs.config import RunConfig


def check_effects(config: RunConfig) -> None:
    """Raise ValueError, in one sentence, for a setting without effect in a resolved config.

    Only the tiles of treatments that go by position may be sized where they are neither paid nor
    shown: their logged number is then that of the runs they are compared with.
    """
    wanted, full = config.treatment_settings, config.full_novelty
    name, chosen = wanted.name, wanted.choices
    if chosen.across != "none" and full.across == "none":
        same = "deepcs" if wanted.sees_grid else "no-grid"
        raise ValueError(
            f"Got novelty.across 'none' for treatment {name}, which without {chosen.across} is "
            f"{same} under another name; choose treatment {same}."
        )
    if not wanted.paid and not wanted.sees_grid:
        for setting in ("place", "lifetime"):
            if (given := getattr(full, setting)) != getattr(chosen, setting):
                raise ValueError(
                    f"Got novelty.{setting} {given!r} for treatment {name}, which neither pays nor "
                    "shows novelty, so that only the logged intrinsic reward would change; leave "
                    "it out."
                )
    if config.graded and not wanted.paid:
        raise ValueError(
            f"Got graded for treatment {name}, which pays nothing intrinsic, so that only the "
            "logged intrinsic reward would change; leave it out."
        )
    if config.grid == "stacked" and not wanted.sees_grid:
        raise ValueError(
            f"Got grid 'stacked' for treatment {name}, which shows no grid; leave it out."
        )
    if config.grid == "stacked" and full.place != "position":
        raise ValueError(
            f"Got grid 'stacked' with novelty.place {full.place!r}, whose plane already shows the "
            "last cells; leave it out."
        )
    _check_tile(config, full.place)


def check_named(config: RunConfig) -> None:
    """Refuse choices that are another treatment under a false name, or are without effect.

    Of a single run, as it was asked for: a study may go through the values of a choice.
    """
    wanted, full = config.treatment_settings, config.full_novelty
    answers = _answers(full, wanted.sees_grid)
    if config.novelty.lifetime is not None and "lifetime" not in answers:
        raise ValueError(
            f"Got novelty.lifetime {config.novelty.lifetime!r} for treatment {wanted.name}, which "
            "pays nothing for novelty in this life, and shows none; leave it out."
        )
    for other in TREATMENTS.values():
        shown_and_paid = (other.sees_grid, other.paid) == (wanted.sees_grid, wanted.paid)
        same = shown_and_paid and _answers(other.choices, other.sees_grid) == answers
        if same and answers != _answers(wanted.choices, wanted.sees_grid):
            raise ValueError(
                f"Got choices for treatment {wanted.name} that make it {other.name} under another "
                f"name; choose treatment {other.name}."
            )


def _answers(full: Novelty, sees: bool) -> dict[str, str | None]:
    """The choices that have an effect."""
    answers: dict[str, str | None] = {"across": full.across, "combine": full.combine}
    if full.counts_places or sees:
        answers["place"] = full.place
    if full.combine != "across" or sees:
        answers["lifetime"] = full.lifetime
    return answers


def _check_tile(config: RunConfig, place: str | None) -> None:
    """Refuse a tile's size where there are cells instead, or no positions."""
    game = atari_game(config.world)
    own = game.tile if game else 1 if config.world in MAZES else None
    if config.tile in (None, own):
        return
    if game is not None and not game.is_located:
        raise ValueError(
            f"Got tile {config.tile} for {game.name}, in which deepcs does not know where the "
            "player is; leave it out."
        )
    if place != "position":
        raise ValueError(
            f"Got tile {config.tile} with novelty.place {place!r}, which goes by cells of the "
            "screen, so that only the logged number of tiles would change; leave it out."
        )
