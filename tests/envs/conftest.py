"""What several test files need of the real emulator."""

from __future__ import annotations

import pytest
from playing import steps

from deepcs.envs.atari import AtariActor


@pytest.fixture(scope="session")
def montezuma_game():
    """A whole game of random play in MontezumaRevenge: the actor at its end, and all steps."""
    actor = AtariActor("MontezumaRevenge")
    actor.reset(seed=0)
    return actor, list(steps(actor, 5000))
