"""Novelty across training for other libraries' vector environments, of whichever kind: what is new
to all actors together, paid by the same code as in `deepcs train`.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Container, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch

from deepcs.agents.bonus import Arrays, Batch, Visited, combine, find_bonus, run_alone
from deepcs.curiosity.novelty import ACROSS, DEFAULTS, Across, Novelty
from deepcs.curiosity.reward import Weight, check_weight, mix_rewards

SETTINGS = ("combine", *DEFAULTS["combined"], *DEFAULTS["pseudo-counts"], *DEFAULTS["rnd"])
"""Those of Novelty that are for all actors together; the others are each actor's own."""

ABOUT = "learned with"
"""In a state, JSON: the kind of novelty, its numbers, and whatever else it belongs to."""


class Paid(NamedTuple):
    """What one step of each actor is worth, float64 (actors,)."""

    reward: np.ndarray
    """R and I, mixed"""
    intrinsic: np.ndarray
    """I"""
    across: np.ndarray
    """its part across training"""


class SharedNovelty:
    """Shared counts, pseudo-counts or RND of a number of actors that are stepped together."""

    def __init__(
        self, actors: int, across: Across, weight: Weight, seed: int, settings: dict[str, Any]
    ) -> None:
        """`settings`: of Novelty, those in SETTINGS."""
        if across not in ACROSS or across == "none":
            allowed = ", ".join(name for name in ACROSS if name != "none")
            raise ValueError(f"Got across {across!r}; choose one of {allowed}.")
        _check_settings(settings)
        choices = Novelty("position", "game", across, "across")
        self.novelty = Novelty(**settings).of_treatment(choices, sees=True)
        self.weight = check_weight(weight)
        self.needed = "cell" if across == "counts" else "frame"
        """what each actor's info must have"""
        self._actors, self._kind, self._seed = actors, find_bonus(across), seed
        self._bonus: Any = None

    def check_infos(self, infos: Container[str]) -> None:
        """Refuse infos without what is needed."""
        if self.needed == "frame" and "frame" not in infos:
            raise ValueError(
                f"Got infos without 'frame', which {self.novelty.across} needs; wrap each "
                "environment in deepcs.CuriosityWrapper(env, frames=True), or make them by "
                "deepcs.make_vec(..., frames=True)."
            )
        counts = self.needed == "cell"
        if (counts or self.novelty.combine != "across") and "cell" not in infos:
            who = "counts" if counts else f"combine {self.novelty.combine!r}"
            raise ValueError(
                f"Got infos without 'cell', which {who} needs, because nothing tells where an "
                "actor is; wrap each environment in deepcs.CuriosityWrapper with locate=... or "
                "place='pixels', or choose place='pixels' in deepcs.make_vec."
            )

    def pay(
        self,
        seen: np.ndarray,
        own: np.ndarray,
        game: np.ndarray,
        began: np.ndarray | None = None,
    ) -> Paid:
        """Count a step of each actor, and learn from it.

        seen: the cells, int64 (actors,), or frames, uint8 (actors, height, width). own: what each
        actor's own curiosity pays. game: R. began: bool (actors,), whose step only began a game,
        which is no visit and pays nothing; None: nobody's.
        """
        across, paid = np.zeros((2, self._actors))
        some = began is not None and bool(began.any())
        who = np.flatnonzero(~began) if began is not None and some else np.arange(self._actors)
        if len(who):
            cells = seen[who] if self.needed == "cell" else np.zeros(len(who), np.int64)
            frames = None if self.needed == "cell" else seen[who][None]
            visited = Visited(cells[None], frames, who if some else None)
            across[who] = run_alone(self._bonus_for(seen).pay(visited))[0]
            paid[who] = combine(self.novelty, own[who].astype(np.float64), across[who])
        return Paid(mix_rewards(game.astype(np.float64), paid, self.weight), paid, across)

    def _bonus_for(self, seen: np.ndarray) -> Any:
        """Made when first needed: before that, the size of frames is unknown."""
        frame = (seen.shape[1], seen.shape[2]) if seen.ndim == 3 else None
        if self._bonus is None:
            self._bonus = self._made(frame)
            self._bonus.initialise()
        elif frame != self._bonus.batch.frame:
            raise ValueError(
                f"Got frames of {_size(frame)} pixels, but novelty was learned from those of "
                f"{_size(self._bonus.batch.frame)}; give frames of that size, or load({{}}) to "
                "begin anew."
            )
        return self._bonus

    def _made(self, frame: tuple[int, int] | None) -> Any:
        """The bonus, with vectors of zeros. frame: height and width."""
        sizes = self._kind.vectors(self.novelty, frame, 1)
        vectors = {name: torch.zeros(vector.size) for name, vector in sizes.items()}
        batch = Batch(0, 1, range(self._actors), self._actors, self._seed, frame, vectors)
        return self._kind(self.novelty, batch)

    @property
    def _of(self) -> dict[str, Any]:
        """What a state must have been learned with, to go on with it here."""
        across = str(self.novelty.across)
        needed = {name: getattr(self.novelty, name) for name in DEFAULTS.get(across, {})}
        if across == "rnd":  # its target network is of the seed, and each actor has a return
            needed |= {"seed": self._seed, "num_envs": self._actors}
        return {"across": across, **needed}

    def state(self) -> Arrays:
        """All that was learned, by name; empty before the first step."""
        if self._bonus is None:
            return {}
        batch = self._bonus.batch
        return {
            ABOUT: np.array(json.dumps({**self._of, "frame": batch.frame}, default=int)),
            **{f"vector {name}": v.numpy().copy() for name, v in batch.vectors.items()},
            **{name: array.copy() for name, array in self._bonus.state().items()},
        }

    def load(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore a saved state; an empty one forgets all."""
        if not state:
            self._bonus = None
            return
        frame = self._check(state)
        bonus = self._made(frame)
        names = [f"vector {name}" for name in bonus.batch.vectors]
        missing = [name for name in (*names, *bonus.state()) if name not in state]
        if missing:
            raise ValueError(
                f"Got a state without {', '.join(map(repr, missing))}; give all that state() "
                "returned."
            )
        for name, vector in bonus.batch.vectors.items():
            vector.copy_(torch.from_numpy(state[f"vector {name}"]))
        bonus.load({name: state[name] for name in bonus.state()})
        self._bonus = bonus

    def _check(self, state: Mapping[str, np.ndarray]) -> tuple[int, int] | None:
        """Refuse a state of something else; returns the height and width of its frames."""
        if ABOUT not in state:
            raise ValueError(
                f"Got a state without {ABOUT!r}, which is not one of novelty across training; "
                "give what state() returned."
            )
        about: dict[str, Any] = json.loads(str(state[ABOUT]))
        for name, here in self._of.items():
            if (there := about.get(name)) != here:
                raise ValueError(
                    f"Got a state that was learned with {name} {there!r}, but this wrapper has "
                    f"{here!r}; load it where {name} is {there!r}."
                )
        height, width = about["frame"] or (0, 0)
        frame = (int(height), int(width)) if height else None
        if self._bonus is not None and frame != self._bonus.batch.frame:
            raise ValueError(
                f"Got a state that was learned from frames of {_size(frame)} pixels, but those "
                f"here have {_size(self._bonus.batch.frame)}; load it where frames have that size."
            )
        return frame


def _size(frame: tuple[int, int] | None) -> str:
    height, width = frame or (0, 0)
    return f"{width}x{height}"


def _check_settings(settings: dict[str, Any]) -> None:
    """Refuse settings that would have no effect."""
    actors_own = {each.name for each in dataclasses.fields(Novelty)} - {*SETTINGS}
    for name, value in settings.items():
        if name in actors_own:
            raise ValueError(
                f"Got {name} {value!r}, which has no effect on what all actors share (it takes "
                f"{', '.join(SETTINGS)}); choose each actor's own place, lifetime and half_life in "
                "deepcs.CuriosityWrapper or deepcs.make_vec."
            )
        if name not in SETTINGS:
            raise ValueError(f"Got setting {name!r}; choose from {', '.join(SETTINGS)}.")
