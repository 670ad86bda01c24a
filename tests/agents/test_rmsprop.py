"""TensorFlow's RMSProp, by hand and in parts."""

import torch

from deepcs.agents.a2c import RMSProp


def test_two_steps_by_hand() -> None:
    weights = torch.tensor([10.0])
    optimiser = RMSProp(weights, decay=0.5, epsilon=3)
    optimiser.step(torch.tensor([1.0]), 0.5)
    # ms = 0.5·1 + 0.5·1² = 1; w = 10 - 0.5·1/√(1 + 3)
    assert optimiser.mean_square.item() == 1
    assert weights.item() == 9.75
    optimiser.step(torch.tensor([5.0]), 0.5)
    # ms = 0.5·1 + 0.5·5² = 13; w = 9.75 - 0.5·5/√(13 + 3)
    assert optimiser.mean_square.item() == 13
    assert weights.item() == 9.125


def test_the_scale_is_that_of_the_gradient() -> None:
    gradient = torch.linspace(-2, 2, 7)
    scaled, plain = (RMSProp(torch.ones(7), decay=0.99, epsilon=1e-5) for _ in range(2))
    scaled.step(gradient, 0.1, scale=0.25)
    plain.step(0.25 * gradient, 0.1)
    torch.testing.assert_close(scaled.parameters, plain.parameters)
    torch.testing.assert_close(scaled.mean_square, plain.mean_square)


def test_parts_give_the_same_bits_as_the_whole() -> None:
    size = 100_003
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(size, generator=generator)
    whole, parted = (RMSProp(start.clone(), decay=0.99, epsilon=1e-5) for _ in range(2))
    for _ in range(3):
        gradient = torch.randn(size, generator=generator)
        whole.step(gradient, 7e-4, 0.3)
        for part in (slice(50_001, None), slice(7), slice(7, 1001), slice(1001, 50_001)):
            parted.step(gradient, 7e-4, 0.3, part)
    assert torch.equal(whole.parameters, parted.parameters)
    assert torch.equal(whole.mean_square, parted.mean_square)


def test_a_mean_square_handed_in_is_the_whole_state() -> None:
    gradient = torch.linspace(-1, 1, 5)
    once = RMSProp(torch.zeros(5), decay=0.9, epsilon=1e-5)
    once.step(gradient, 0.1)
    resumed = RMSProp(
        once.parameters.clone(), decay=0.9, epsilon=1e-5, mean_square=once.mean_square.clone()
    )
    for optimiser in (once, resumed):
        optimiser.step(gradient, 0.1)
    assert torch.equal(once.parameters, resumed.parameters)
