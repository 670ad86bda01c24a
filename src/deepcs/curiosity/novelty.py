"""How new a state is: three questions, answered independently.

Where am I (`place`), when is it new again (`lifetime`), and what does it pay: 1 for a first
visit or 1/√n within a lifetime (`graded`, a setting of the run), something across all of training
and all actors (`across`), or both together (`combine`). A treatment answers all three; these
settings change one of its answers, or the numbers of a part.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from deepcs.curiosity.fading import check_half_life
from deepcs.system.limits import LARGEST_WEIGHT, check_whole

Place = Literal["position", "pixels", "hash"]
New = Literal["game", "life", "never", "fading"]
Across = Literal["none", "counts", "pseudo-counts", "rnd"]
Combine = Literal["across", "product", "sum"]
PLACES: tuple[Place, ...] = get_args(Place)
NEWS: tuple[New, ...] = get_args(New)
ACROSS: tuple[Across, ...] = get_args(Across)
COMBINES: tuple[Combine, ...] = get_args(Combine)
SIDE = 84  # pixels, of the largest picture that a frame is made into
MOST_LEVELS = 256


@dataclass(frozen=True)
class Novelty:
    """Answers to the three questions, and the numbers of their parts."""

    place: Place | None = None
    """where am I: position, pixels or hash; None: the treatment's"""
    lifetime: New | None = None
    """when is it new again: game, life, never or fading; None: the treatment's"""
    across: Across | None = None
    """paid across training: none, counts, pseudo-counts or rnd; None: the treatment's"""
    combine: Combine | None = None
    """across (alone), or product or sum with what this lifetime pays; None: the treatment's"""
    half_life: float | None = None
    """fading: steps of an actor after which an entry counts half; None: 100 (ours)"""
    width: int | None = None
    """pixels: of the downscaled frame; None: chosen from random play, as in Go-Explore"""
    height: int | None = None
    """pixels: of the downscaled frame; None: chosen from random play, as in Go-Explore"""
    levels: int | None = None
    """pixels: shades of grey; None: chosen from random play, as in Go-Explore"""
    life_weight: float | None = None
    """sum: factor of what this lifetime pays; product: its exponent; None: 1"""
    across_weight: float | None = None
    """sum: factor of what is paid across training; product: its exponent; None: 1"""
    density_side: int | None = None
    """pseudo-counts: pixels across and down of the modelled frame; None: 42 (Bellemare et al.)"""
    density_levels: int | None = None
    """pseudo-counts: its shades of grey; None: 8 (Bellemare et al.)"""
    rnd_learning_rate: float | None = None
    """rnd: learning rate of Adam for the trained network; None: 1e-4 (Burda et al.)"""
    rnd_gamma: float | None = None
    """rnd: discount of the returns whose deviation divides I; None: 0.99 (Burda et al.)"""
    rnd_features: int | None = None
    """rnd: outputs of the networks; None: 128 (ours; Burda et al.: 512)"""
    code_bits: int | None = None
    """hash: bits of the learned code; None: 64 (ours; Tang et al.: 512)"""
    hash_bits: int | None = None
    """hash: bits that the code is hashed to; fewer give fewer cells; None: 16 (ours)"""
    code_learning_rate: float | None = None
    """hash: learning rate of Adam for the autoencoder; None: 1e-3 (Tang et al.)"""
    code_every: int | None = None
    """hash: updates after which actors get the newest encoder; None: 200 (ours)"""

    def check(self) -> None:
        """Raise ValueError for what is invalid under every treatment."""
        choices = {"place": PLACES, "lifetime": NEWS, "across": ACROSS, "combine": COMBINES}
        for name, allowed in choices.items():
            if (given := getattr(self, name)) is not None and given not in allowed:
                raise ValueError(
                    f"Got novelty.{name} {given!r}; choose one of {', '.join(allowed)}."
                )
        if self.half_life is not None:
            check_half_life(self.half_life)
        for name, (least, most) in WHOLE.items():
            if (given := getattr(self, name)) is not None:
                check_whole(f"novelty.{name} {{}}", given, least, most)
        for name in POSITIVE:
            given = getattr(self, name)
            if given is None:
                continue
            if isinstance(given, bool) or not isinstance(given, (int, float)):
                raise ValueError(f"Got novelty.{name} {given!r}; give a number.")
            if name in WEIGHTS and not 0 < given <= LARGEST_WEIGHT:
                raise ValueError(
                    f"Got novelty.{name} {given!r}; give a finite number above 0, "
                    f"{LARGEST_WEIGHT:,} at most."
                )
            if not (0 < given < math.inf) or (name == "rnd_gamma" and given >= 1):
                limits = "above 0 and below 1" if name == "rnd_gamma" else "above 0"
                raise ValueError(f"Got novelty.{name} {given!r}; give a finite number {limits}.")

    @property
    def counts_places(self) -> bool:
        """Whether tiles or cells matter: to this lifetime's reward, or to `counts`."""
        return self.across in ("none", "counts") or self.combine != "across"

    @property
    def needs_frames(self) -> bool:
        """Whether a bonus or a code is learned from the frames of all actors."""
        return self.across in ("pseudo-counts", "rnd") or self.place == "hash"

    def of_treatment(self, choices: Novelty, *, sees: bool) -> Novelty:
        """With a treatment's choices where none is made here, and with the numbers of the parts.

        sees: the network is shown the plane. Refuses contradictory settings with one sentence.
        """
        self.check()
        chosen = dataclasses.replace(
            self,
            **{
                name: getattr(choices, name) if getattr(self, name) is None else getattr(self, name)
                for name in ("place", "lifetime", "across", "combine", "half_life")
            },
        )
        if chosen.across == "none" and self.across == "none" and self.combine is None:
            chosen = dataclasses.replace(chosen, combine=None)
        elif chosen.across != "none" and chosen.combine is None:
            chosen = dataclasses.replace(chosen, combine="across")
        if chosen.lifetime != "fading" and self.half_life is None:
            chosen = dataclasses.replace(chosen, half_life=None)
        chosen._refuse(sees, self.lifetime not in (None, choices.lifetime))
        numbers: dict[str, Any] = {}
        for part in chosen._parts():
            numbers |= DEFAULTS.get(part, {})
        open_ones = {name: n for name, n in numbers.items() if getattr(chosen, name) is None}
        return dataclasses.replace(chosen, **open_ones)

    def _parts(self) -> list[str]:
        """Those parts whose numbers have an effect."""
        parts = [str(self.place), str(self.lifetime), str(self.across)]
        return parts + ["combined"] * (self.combine in ("product", "sum"))

    def _refuse(self, sees: bool, given_lifetime: bool) -> None:
        if self.across == "none" and self.combine is not None:
            raise ValueError(
                f"Got novelty.combine {self.combine!r} with nothing paid across training; choose "
                "novelty.across too, or leave combine out."
            )
        if self.combine == "across" and not sees and given_lifetime:
            raise ValueError(
                f"Got novelty.lifetime {self.lifetime!r}, which has no effect where {self.across} "
                "alone is paid and no plane is seen; leave it out."
            )
        if self.place != "position" and not self.counts_places and not sees:
            raise ValueError(
                f"Got novelty.place {self.place!r}, which has no effect where {self.across} alone "
                "is paid and no plane is seen; leave it out."
            )
        if self.place == "hash":
            self._refuse_of_a_code()
        parts = self._parts()
        for part, numbers in DEFAULTS.items():
            for name in numbers:
                if part not in parts and (given := getattr(self, name)) is not None:
                    raise ValueError(
                        f"Got novelty.{name} {given!r}, which has no effect without "
                        f"{NEEDS[part]}; leave it out."
                    )

    def _refuse_of_a_code(self) -> None:
        """Refuse memories that outlive a game: cells get other numbers with each new code."""
        forgets = "a new code renumbers the cells while the run goes on, so that all would be new"
        if self.lifetime in ("never", "fading"):
            raise ValueError(
                f"Got novelty.lifetime {self.lifetime!r} with novelty.place 'hash', but {forgets}; "
                "choose game or life, or novelty.place pixels."
            )
        if self.across == "counts":
            raise ValueError(
                f"Got novelty.across 'counts' with novelty.place 'hash', but {forgets}; choose "
                "pseudo-counts or rnd, or novelty.place pixels."
            )


DEFAULTS: dict[str, dict[str, Any]] = {
    "fading": {"half_life": 100.0},
    "pixels": {"width": None, "height": None, "levels": None},
    "combined": {"life_weight": 1.0, "across_weight": 1.0},
    "pseudo-counts": {"density_side": 42, "density_levels": 8},
    "rnd": {"rnd_learning_rate": 1e-4, "rnd_gamma": 0.99, "rnd_features": 128},
    "hash": {"code_bits": 64, "hash_bits": 16, "code_learning_rate": 1e-3, "code_every": 200},
}
"""What has an effect with each part, and its default; None: chosen where the run begins."""
NEEDS = {
    "fading": "novelty.lifetime 'fading'",
    "pixels": "novelty.place 'pixels'",
    "combined": "novelty.combine 'product' or 'sum'",
    "pseudo-counts": "novelty.across 'pseudo-counts'",
    "rnd": "novelty.across 'rnd'",
    "hash": "novelty.place 'hash'",
}
WHOLE = {
    "width": (1, SIDE),
    "height": (1, SIDE),
    "levels": (2, MOST_LEVELS),
    "density_side": (1, SIDE),
    "density_levels": (2, MOST_LEVELS),
    "rnd_features": (1, 4096),
    "code_bits": (1, 4096),
    "hash_bits": (1, 62),
    "code_every": (1, 10**9),
}
WEIGHTS = ("life_weight", "across_weight")
POSITIVE = (*WEIGHTS, "rnd_learning_rate", "rnd_gamma", "code_learning_rate")
