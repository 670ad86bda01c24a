"""What is paid across training: known answers, the same for any order and division of actors."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from deepcs.agents.across import BatchNovelty, novelty_vectors
from deepcs.agents.bonus import Batch, Bonus, combine, find_bonus, run_alone
from deepcs.agents.counting import Counts
from deepcs.agents.density import PixelDensity, PseudoCounts
from deepcs.agents.replicas import add_up
from deepcs.agents.rnd import RND, make_network
from deepcs.agents.visited import Visited
from deepcs.curiosity.novelty import Novelty
from deepcs.runs.treatment import TREATMENTS

FRAME = (3, 4)
walks = arrays.arrays(
    np.int64, st.tuples(st.integers(1, 6), st.just(4)), elements=st.integers(0, 3)
)


pytestmark = pytest.mark.usefixtures("one_thread")


def chosen(name: str, **given: Any) -> Novelty:
    return Novelty(**given).of_treatment(TREATMENTS[name].choices, sees=True)


def shards_of(kind: type[Bonus], novelty: Novelty, actors: int, shards: int) -> list[Any]:
    sizes = kind.vectors(novelty, FRAME, shards)
    vectors = {name: torch.zeros(vector.size) for name, vector in sizes.items()}
    edges = [actors * k // shards for k in range(shards + 1)]
    made = [
        kind(novelty, Batch(k, shards, range(edges[k], edges[k + 1]), actors, 0, FRAME, vectors))
        for k in range(shards)
    ]
    made[0].initialise()
    return made


def together(exchanges: list[Generator[Any, Any, Any]]) -> list[Any]:
    """Drive all shards in lockstep, as replicas do."""
    total: Any = None
    while True:
        parts, ends = [], []
        for exchange in exchanges:
            try:
                parts.append(exchange.send(total))
            except StopIteration as end:
                ends.append(end.value)
        if ends:
            assert not parts
            return ends
        total = add_up(parts)


def paid(shards: list[Any], cells: np.ndarray, frames: np.ndarray | None = None) -> np.ndarray:
    parts = []
    for each in shards:
        own = slice(each.batch.actors.start, each.batch.actors.stop)
        seen = None if frames is None else frames[:, own]
        parts.append(each.pay(Visited(cells[:, own], seen)))
    return np.concatenate(together(parts), 1)


def counts(actors: int = 4, shards: int = 1) -> list[Any]:
    return shards_of(Counts, chosen("counts"), actors, shards)


def pictures(steps: int, actors: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (steps, actors, *FRAME), dtype=np.uint8)


def test_counts_pay_by_all_visits_so_far_of_all_actors() -> None:
    one = counts(actors=2)
    first = paid(one, np.array([[7, 7], [7, 8], [0, 8]]))
    # Both are the first two visits of 7 at once; 7 again is its third; 8 its first, then second.
    expected = [[2**-0.5, 2**-0.5], [3**-0.5, 1], [0, 2**-0.5]]
    assert first == pytest.approx(np.array(expected))
    assert paid(one, np.array([[7, 8]])) == pytest.approx(np.array([[0.5, 3**-0.5]]))


@given(walks, st.permutations(range(4)))
def test_the_order_of_actors_does_not_matter_to_counts(cells: np.ndarray, order: Any) -> None:
    order = list(order)
    assert (paid(counts(), cells[:, order]) == paid(counts(), cells)[:, order]).all()


@given(walks, walks, st.sampled_from([2, 3, 4]))
def test_counts_are_the_same_in_any_number_of_shards_and_rollouts(
    first: np.ndarray, second: np.ndarray, shards: int
) -> None:
    one, divided = counts(), counts(shards=shards)
    whole = paid(one, np.concatenate((first, second)))
    parts = np.concatenate([paid(divided, cells) for cells in (first, second)])
    assert (parts == whole).all()
    assert all(each.counts == one[0].counts for each in divided)


@given(walks, walks)
def test_saved_counts_go_on_as_those_that_were_saved(before: np.ndarray, after: np.ndarray) -> None:
    one, other = counts(), counts()
    paid(one, before)
    other[0].load(one[0].state())
    assert (paid(one, after) == paid(other, after)).all()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"across": "counts", "combine": "across"}, [0.5, 1, 0.5]),
        ({"across": "counts", "combine": "product"}, [0.5, 0, 0.25]),
        ({"across": "counts", "combine": "product", "across_weight": 2.0}, [0.25, 0, 0.125]),
        ({"across": "counts", "combine": "product", "life_weight": 2.0}, [0.5, 0, 0.125]),
        ({"across": "counts", "combine": "sum"}, [1.5, 1, 1]),
        (
            {"across": "counts", "combine": "sum", "life_weight": 2.0, "across_weight": 0.5},
            [2.25, 0.5, 1.25],
        ),
    ],
)
def test_both_both_paidas_worked_out_by_hand(
    settings: dict[str, Any], expected: list[float]
) -> None:
    life, across = np.array([1, 0, 0.5]), np.array([0.5, 1, 0.5])
    assert combine(chosen("deepcs", **settings), life, across) == pytest.approx(np.array(expected))


def test_a_pseudo_count_is_worked_out_from_the_probabilities_of_each_pixel() -> None:
    model = PixelDensity(pixels=2, levels=2)
    model.add(np.array([[0, 0], [0, 0], [0, 1]]))
    # α = 1/2, n = 3: shade 0 of the first pixel was seen 3 times, shade 1 of the second once.
    before = (3.5 / 4) * (1.5 / 4)
    after = (4.5 / 5) * (2.5 / 5)
    expected = before * (1 - after) / (after - before)
    assert model.pseudo_counts(np.array([[0, 1]])) == pytest.approx([expected])


def test_a_picture_seen_alone_has_nearly_its_own_count() -> None:
    model = PixelDensity(pixels=5, levels=4)
    for n in (1, 10, 1_000):
        model.add(np.tile([[0, 1, 2, 3, 0]], (n - model.frames, 1)))
        (number,) = model.pseudo_counts(np.array([[0, 1, 2, 3, 0]]))
        assert 0.9 * n < number * 5 * (1 - 1 / 4) < 6 * n  # all pixels tell of the same n frames
    (new,) = model.pseudo_counts(np.array([[3, 3, 3, 0, 3]]))
    assert new < 1e-3


def test_pseudo_counts_pay_the_same_in_any_order_and_number_of_shards() -> None:
    novelty, frames, cells = chosen("pseudo-counts"), pictures(5, 4), np.ones((5, 4), np.int64)
    whole = paid(shards_of(PseudoCounts, novelty, 4, 1), cells, frames)
    assert ((whole > 0) & (whole <= 1)).all()
    for shards in (2, 4):
        assert (paid(shards_of(PseudoCounts, novelty, 4, shards), cells, frames) == whole).all()
    order = [2, 0, 3, 1]
    turned = paid(shards_of(PseudoCounts, novelty, 4, 1), cells, frames[:, order])
    assert (turned == whole[:, order]).all()


def test_rnd_stays_as_it_is_where_no_sample_is_chosen_to_train_it() -> None:
    (one,) = shards_of(RND, chosen("rnd"), 1, 1)
    weights, trained = one.batch.vectors["rnd.parameters"], 0
    for seed in range(30):  # of one step of one actor, which is chosen once in four times
        before, step = weights.clone(), one._step
        paid([one], np.ones((1, 1), np.int64), pictures(1, 1, seed))
        one._step, after = step, one._step
        is_chosen = bool(one._chosen(range(1), 1).any())
        one._step = after
        assert bool((weights != before).any()) == is_chosen
        trained += is_chosen
    assert 0 < trained < 30
    assert one.state()["numbers"].tolist() == [30, 30, trained]


def test_rnd_divides_its_errors_by_the_deviation_of_their_discounted_sums() -> None:
    (one,) = shards_of(RND, chosen("rnd", rnd_gamma=0.5), 2, 1)
    everyone = np.array([[1.0, 2.0], [3.0, 0.0]])
    sums = [1, 2, 3.5, 1]  # second step: 0.5·1 + 3 and 0.5·2 + 0
    assert one._deviation(everyone) == pytest.approx(np.std(sums))


@pytest.mark.parametrize("how", ["product", "sum"])
def test_rnd_beside_this_life_pays_what_it_pays_alone_times_or_plus_it(how: str) -> None:
    weights = {"life_weight": 2.0, "across_weight": 0.5}
    both = chosen("deepcs", across="rnd", combine=how, **weights)
    (alone,) = shards_of(RND, chosen("rnd"), 4, 1)
    sizes = novelty_vectors(both, FRAME, 1)
    vectors = {name: torch.zeros(vector.size) for name, vector in sizes.items()}
    shared = BatchNovelty(both, Batch(0, 1, range(4), 4, 0, FRAME, vectors))
    shared.initialise()
    rng, cells = np.random.default_rng(0), np.ones((5, 4), np.int64)
    for seed in range(3):
        life, frames = rng.random((5, 4)), pictures(5, 4, seed)
        across = paid([alone], cells, frames)
        found, _ = run_alone(shared.pay(Visited(cells, frames), life))
        expected = life**2 * np.sqrt(across) if how == "product" else 2 * life + across / 2
        assert found == pytest.approx(expected, rel=1e-12)


def test_rnd_pays_less_for_what_it_has_learned() -> None:
    novelty = chosen("rnd", rnd_learning_rate=1e-3)
    (one,) = shards_of(RND, novelty, 4, 1)
    frames, cells = pictures(5, 4), np.ones((5, 4), np.int64)
    for _ in range(400):
        paid([one], cells, frames)
    known, new = paid([one], cells, frames).mean(), paid([one], cells, pictures(5, 4, 1)).mean()
    assert new > 3 * known


@pytest.mark.parametrize("frame", [FRAME, (84, 84)])
def test_rnds_gradient_over_shards_is_that_of_the_whole_batch_by_autograd_in_float64(
    frame: tuple[int, int],
) -> None:
    novelty = chosen("rnd")
    networks = [make_network(frame, novelty, seed, deeper=seed == 1) for seed in (0, 1)]
    seen = torch.from_numpy(np.random.default_rng(0).standard_normal((6, 1, *frame)))
    target, predictor = (network.double() for network in networks)
    with torch.no_grad():
        wanted = target(seen)
    (predictor(seen) - wanted).square().mean(1).mean().backward()
    exact = torch.cat([each.grad.flatten() for each in predictor.parameters()])

    sizes = {n: torch.zeros(v.size) for n, v in RND.vectors(novelty, frame, 2).items()}
    total = torch.zeros(len(exact), dtype=torch.float64)
    for k, own in enumerate((range(2), range(2, 6))):
        shard = RND(novelty, Batch(k, 2, own, 6, 0, frame, sizes))
        flat = torch.cat([each.data.flatten() for each in predictor.parameters()])
        shard._weights.parameters.copy_(flat.float())
        part = slice(own.start, own.stop)
        shard._learn(seen[part].float(), wanted[part].float(), 6)
        total += shard._weights.gradient.double()
    assert torch.allclose(total, exact, rtol=1e-3, atol=1e-6 * float(exact.abs().max()))


@pytest.mark.parametrize("name", ["counts", "pseudo-counts", "rnd"])
def test_a_restored_bonus_pays_on_as_the_one_that_was_saved(name: str) -> None:
    novelty, kind = chosen(name), find_bonus(name)
    cells = np.random.default_rng(1).integers(0, 5, (6, 4))
    (one,) = shards_of(kind, novelty, 4, 1)
    (other,) = shards_of(kind, novelty, 4, 1)
    paid([one], cells, pictures(6, 4))
    for vector, saved in one.batch.vectors.items():
        other.batch.vectors[vector].copy_(saved)
    other.load({n: array.copy() for n, array in one.state().items()})
    after = pictures(6, 4, 2)
    assert (paid([one], cells, after) == paid([other], cells, after)).all()
