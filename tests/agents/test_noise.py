"""Actions are drawn from the policy, with noise that knows only seed, step and actor."""

import numpy as np
import torch

from deepcs.agents.noise import ActionNoise, greedy, sample


def test_an_actors_noise_does_not_depend_on_its_company_or_on_the_past() -> None:
    together = ActionNoise(3)
    rows = {step: together(step, range(16)) for step in (0, 1, 2, 10**12)}
    for step, row in reversed(rows.items()):
        halves = [ActionNoise(3)(step, half) for half in (range(8), range(8, 16))]
        np.testing.assert_array_equal(np.concatenate(halves), row)
        np.testing.assert_array_equal(together(step, range(5, 6)), row[5:6])


def test_seeds_steps_and_actors_have_noise_of_their_own() -> None:
    numbers = [ActionNoise(seed)(step, range(40)) for seed in range(3) for step in range(50)]
    assert len(np.unique(numbers)) == 3 * 50 * 40


def test_noise_is_uniform() -> None:
    noise = ActionNoise(0)
    numbers = np.concatenate([noise(step, range(16)) for step in range(2000)])
    counts, _ = np.histogram(numbers, 20, (0, 1))
    expected = len(numbers) / 20
    # The 99.99 % point of chi-square with 19 degrees of freedom.
    assert ((counts - expected) ** 2 / expected).sum() < 50
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 0.03


def test_sampled_actions_are_as_frequent_as_the_policy_says() -> None:
    logits = torch.tensor([2.0, -1.0, 0.5, -30.0])
    uniforms = ActionNoise(1)(0, range(40_000))
    actions = sample(logits.expand(len(uniforms), -1), uniforms)
    frequencies = np.bincount(actions, minlength=4) / len(uniforms)
    np.testing.assert_allclose(frequencies, logits.softmax(0), atol=0.01)
    assert frequencies[3] == 0


def test_sampling_by_hand_on_the_borders() -> None:
    logits = torch.log(torch.tensor([[0.25, 0.5, 0.25]], dtype=torch.float64)).expand(6, -1)
    uniforms = np.array([0.0, 0.2499, 0.2501, 0.7499, 0.7501, np.nextafter(1, 0)])
    assert sample(logits, uniforms).tolist() == [0, 0, 1, 1, 2, 2]


def test_greedy_takes_the_likeliest() -> None:
    assert greedy(torch.tensor([[0.0, 2.0, 1.0], [3.0, 2.0, 1.0]])).tolist() == [1, 0]
