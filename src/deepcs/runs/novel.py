"""A run's novelty, from its treatment and settings, for its actors and its learner."""

from __future__ import annotations

import dataclasses
from typing import Any

from deepcs.curiosity.game import Game
from deepcs.curiosity.novelty import Novelty
from deepcs.envs.make import random_frames
from deepcs.envs.pictures import Hashed, Pixels, choose_cells
from deepcs.runs.treatment import TREATMENTS, Treatment

RANDOM_STEPS = 400  # of random play, from which the size of a cell's image is chosen
DEFAULT = Novelty()


def full_novelty(novelty: Novelty, wanted: Treatment) -> Novelty:
    """All settings, resolved; raises ValueError, in one sentence, for contradictions."""
    full = novelty.of_treatment(wanted.choices, sees=wanted.sees_grid)
    if not wanted.paid and full.across != "none":
        raise ValueError(
            f"Got novelty.across {full.across!r} for treatment {wanted.name}, which pays nothing "
            "intrinsic; choose another treatment, or leave it out."
        )
    return full


def saved_novelty(novelty: Novelty, wanted: Treatment) -> Novelty:
    """As it is saved with the run: nothing where it adds nothing to the treatment's name."""
    full = full_novelty(novelty, wanted)
    return DEFAULT if full == wanted.choices and wanted.is_of_the_paper else full


def check_graded(graded: bool, full: Novelty, wanted: Treatment) -> None:
    """Refuse `graded` where nothing is paid for visits."""
    if graded and full.combine == "across":
        raise ValueError(
            f"Got graded for treatment {wanted.name}, which pays nothing for novelty in this life; "
            "leave it out."
        )


def check_located(game: Game, full: Novelty, wanted: Treatment) -> None:
    """Refuse a treatment that goes by position in a game where none is known."""
    if game.is_located or not needs_position(full, wanted):
        return
    others = [name for name, each in TREATMENTS.items() if not needs_position(each.choices, each)]
    raise ValueError(
        f"Got {game.name}, a game of ale-py's in which deepcs does not know where the player is, "
        f"for treatment {wanted.name}, which goes by position; `deepcs find-position {game.name}` "
        f"helps to add that, or choose one that needs none: {', '.join(others)}."
    )


def needs_position(full: Novelty, wanted: Treatment) -> bool:
    """Whether the treatment needs the player's position."""
    return full.place == "position" and (wanted.sees_grid or (wanted.paid and full.counts_places))


def with_cells(novelty: Novelty, world: str, seed: int, settings: dict[str, Any]) -> Novelty:
    """With the size of a cell's image chosen from random play, where it is not given.

    settings: of the actors.
    """
    if novelty.place != "pixels" or None not in (novelty.width, novelty.height, novelty.levels):
        return novelty
    frames = random_frames(world, RANDOM_STEPS, seed, **settings)
    return dataclasses.replace(novelty, **vars(choose_cells(frames, novelty)))


def novel_settings(full: Novelty) -> dict[str, Any]:
    """Settings of the actors that are not their defaults."""
    settings: dict[str, Any] = {}
    if full.place == "pixels":
        size = full.width, full.height, full.levels
        settings["place"] = "pixels" if None in size else Pixels(*size)  # type: ignore[arg-type]
    elif full.place == "hash":
        assert full.code_bits is not None
        assert full.hash_bits is not None
        settings["place"] = Hashed(full.code_bits, full.hash_bits)
    if full.half_life is not None:
        settings["half_life"] = full.half_life
    if full.needs_frames:
        settings["frames"] = True
    return settings


def batch_novelty(full: Novelty) -> Novelty | None:
    """Novelty that needs the whole batch; None: there is none."""
    return full if full.across != "none" or full.place == "hash" else None
