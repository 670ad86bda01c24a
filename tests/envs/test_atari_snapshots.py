"""A restored actor goes on exactly as the saved one would; what does not fit is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playing import digest, play_on, steps

from deepcs.envs.atari import AtariActor
from deepcs.system.snapshot import SnapshotError, from_arrays, to_arrays


@pytest.fixture(scope="module")
def pair(request):
    """Two actors of a game and a protocol, whose games end after some 50 steps."""
    game, protocol = request.param
    return [AtariActor(game, protocol=protocol, max_frames=200) for _ in range(2)]


FREEZABLE = ["MontezumaRevenge", "Amidar", "Tutankham", "Venture", "Seaquest"]
PAIRS = [*product(FREEZABLE, ["paper", "machado"]), ("Seaquest", "baselines")]


@pytest.mark.parametrize("pair", PAIRS, indirect=True, ids=str)
@settings(max_examples=2, deadline=None)
@given(before=st.integers(0, 60), seed=st.integers(0, 1000))
def test_a_restored_actor_goes_on_identically(pair, before, seed):
    actor, other = pair
    actor.reset(seed=seed)
    play_on(actor, before, seed)
    arrays, tree = to_arrays(actor.snapshot())
    frozen = from_arrays(arrays, json.loads(json.dumps(tree)))
    expected = play_on(actor, 55, seed + 1)
    assert len(expected) > 55, "a game must end on the way"
    other.reset(seed=seed + 7)
    play_on(other, 5, seed)
    other.restore(frozen)
    assert digest(play_on(other, 55, seed + 1)) == digest(expected)
    np.testing.assert_array_equal(actor.render(), other.render())


def test_a_snapshot_goes_on_identically_after_a_real_game_over(montezuma_game):
    _, played = montezuma_game
    twin = AtariActor("MontezumaRevenge")
    twin.reset(seed=0)
    for out in steps(twin, len(played) - 20):
        last = out[4]
    assert last["lives"] == played[-21][4]["lives"]
    frozen = twin.snapshot()
    other = AtariActor("MontezumaRevenge")
    other.restore(frozen)
    expected = play_on(twin, 60, seed=5)
    assert any(len(out) == 2 for out in expected), "no game over"
    assert digest(play_on(other, 60, seed=5)) == digest(expected)


RESTORE = """
import json, sys
import numpy as np
sys.path.insert(0, sys.argv[2])
from playing import digest, play_on
from deepcs.system.snapshot import from_arrays
from deepcs.envs.atari import AtariActor
with np.load(sys.argv[1]) as saved:
    arrays = {name: saved[name] for name in saved.files}
tree = json.loads(arrays.pop("tree").tobytes())
actor = AtariActor(sys.argv[3], protocol="machado", max_frames=200)
actor.restore(from_arrays(arrays, tree))
print(digest(play_on(actor, 55, 3)))
"""


@pytest.mark.parametrize("game", FREEZABLE)
def test_a_snapshot_goes_on_identically_in_a_fresh_process(game, tmp_path):
    actor = AtariActor(game, protocol="machado", max_frames=200)
    actor.reset(seed=2)
    play_on(actor, 50, seed=2)
    arrays, tree = to_arrays(actor.snapshot())
    file = tmp_path / "snapshot.npz"
    np.savez(file, tree=np.frombuffer(json.dumps(tree).encode(), np.uint8), **arrays)
    command = [sys.executable, "-c", RESTORE, str(file), str(Path(__file__).parent), game]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == digest(play_on(actor, 55, seed=3))


def test_the_screen_after_a_restore_is_the_one_saved():
    actor = AtariActor("MontezumaRevenge")
    actor.reset(seed=0)
    for _ in steps(actor, 20):
        pass
    screen, frozen = actor.render(), actor.snapshot()
    for _ in steps(actor, 20):
        pass
    assert (actor.render() != screen).any()
    actor.restore(frozen)
    np.testing.assert_array_equal(actor.render(), screen)
    np.testing.assert_array_equal(actor.snapshot()["screen"], screen)


def cut_emulator(snapshot):
    return {**snapshot, "emulator": snapshot["emulator"][:-100]}


def cut_screen(snapshot):
    return {**snapshot, "screen": snapshot["screen"][:100]}


def no_generator(snapshot):
    return {**snapshot, "generator": {}}


def without_tracker(snapshot):
    return {key: value for key, value in snapshot.items() if key != "tracker"}


@pytest.mark.parametrize(
    ("game", "different", "change", "words"),
    [
        ("Freeway", {}, cut_emulator, "damaged or truncated"),
        ("Freeway", {}, cut_screen, "screen is .100, 160, 3."),
        ("Freeway", {}, no_generator, "damaged .ValueError"),
        ("Freeway", {}, without_tracker, "lacks tracker"),
        ("Freeway", {}, list, "Got list"),
        ("Seaquest", {}, dict, "actor of Freeway"),
        ("Freeway", {"grid": "none"}, dict, "has grid 'plane', this one 'none'"),
        ("Freeway", {"protocol": "machado"}, dict, "protocol 'paper', this one 'machado'"),
        ("Freeway", {"lifetime": "never"}, dict, "lifetime 'game', this one 'never'"),
        ("Freeway", {"graded": True}, dict, "graded False, this one True"),
        ("Freeway", {"tile": 10}, dict, "has tile 20, this one 10"),
    ],
)
def test_a_snapshot_that_does_not_fit_is_refused_in_a_sentence(game, different, change, words):
    saved = AtariActor("Freeway")
    saved.reset(seed=0)
    play_on(saved, 9, seed=1)
    actor = AtariActor(game, **different)
    actor.reset(seed=0)
    before = repr(actor.snapshot())
    with pytest.raises(SnapshotError, match=words) as raised:
        actor.restore(change(saved.snapshot()))
    assert "\n" not in str(raised.value)
    assert repr(actor.snapshot()) == before
