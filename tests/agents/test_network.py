"""The network against plain PyTorch: shapes, initial weights, forward and backward."""

from math import sqrt

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from deepcs.agents.network import Network, parameter_count
from deepcs.agents.plan import Conv, layers_for

SHAPES = {"nature": (5, 84, 84), "maze": (4, 11, 11), "hallway": (3, 1, 21), "flat": (7,)}
KINDS = {**{name: (shape, False) for name, shape in SHAPES.items()}, "narrow": ((5, 84, 84), True)}
ACTIONS, ENVS, STEPS = 4, 2, 3
of_each_kind = pytest.mark.parametrize(("shape", "narrow"), KINDS.values(), ids=KINDS)


def plain_forward(
    parameters: dict[str, Tensor], shape: tuple[int, ...], observations: Tensor
) -> tuple[Tensor, Tensor]:
    """The same network as a reader of the paper would write it."""
    hidden = observations
    names = [name.removesuffix(".weight") for name in parameters if name.endswith(".weight")]
    for name, spec in zip(names, layers_for(shape), strict=False):
        weight, bias = parameters[f"{name}.weight"], parameters[f"{name}.bias"]
        if isinstance(spec, Conv):
            hidden = F.conv2d(hidden, weight, bias, spec.stride, spec.padding).relu()
        else:
            columns = hidden.permute(0, 2, 3, 1) if hidden.dim() == 4 else hidden
            hidden = F.linear(columns.flatten(1), weight, bias).relu()
    logits = F.linear(hidden, parameters["policy.weight"], parameters["policy.bias"])
    values = F.linear(hidden, parameters["value.weight"], parameters["value.bias"])
    return logits, values[:, 0]


def network(shape: tuple[int, ...], narrow: bool = False) -> Network:
    """A float64 network with weights, biases too, that keep about half of its units awake."""
    made = Network(shape, ACTIONS, envs=ENVS, steps=STEPS, narrow=narrow, dtype=torch.float64)
    made.parameters.normal_(0, 0.1, generator=torch.Generator().manual_seed(2))
    return made


def pixels(shape: tuple[int, ...], seed: int = 3) -> Tensor:
    """Observations of a whole rollout, (T, N, *shape)."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (STEPS, ENVS, *shape), dtype=torch.uint8, generator=generator)


def test_five_planes_and_eighteen_actions_make_the_parameter_count_of_baselines() -> None:
    assert parameter_count((5, 84, 84), 18) == 1_695_923
    shapes = {
        name: tuple(view.shape)
        for name, view in Network((5, 84, 84), 18, envs=1, steps=1).named_parameters().items()
    }
    assert shapes == {
        "conv1.weight": (32, 5, 8, 8),
        "conv1.bias": (32,),
        "conv2.weight": (64, 32, 4, 4),
        "conv2.bias": (64,),
        "conv3.weight": (64, 64, 3, 3),
        "conv3.bias": (64,),
        "fc.weight": (512, 3136),
        "fc.bias": (512,),
        "policy.weight": (18, 512),
        "policy.bias": (18,),
        "value.weight": (1, 512),
        "value.bias": (1,),
    }


def test_the_narrow_network_has_half_the_channels_and_units_and_is_for_large_images_only() -> None:
    wide, narrow = ([spec.out for spec in layers_for((5, 84, 84), narrow=n)] for n in (False, True))
    assert [2 * out for out in narrow] == wide
    with pytest.raises(ValueError, match=r"'narrow' for observations of shape \(3, 1, 21\)"):
        layers_for(SHAPES["hallway"], narrow=True)


def test_named_parameters_are_views_that_cover_the_flat_vector() -> None:
    made = network(SHAPES["maze"])
    for view in made.named_parameters().values():
        view.fill_(7)
    assert (made.parameters == 7).all()


@pytest.mark.parametrize("shape", [(3, 30, 30), (84, 84), (1, 84, 10)])
def test_a_shape_without_a_network_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="No network for observations of shape"):
        layers_for(shape)


def test_parameters_that_do_not_fit_are_refused() -> None:
    count = parameter_count((7,), ACTIONS)
    for wrong in (torch.zeros(count - 1), torch.zeros(count).double(), torch.zeros(count + 1)[1:]):
        with pytest.raises(ValueError, match=f"give \\({count},\\) of torch.float32"):
            Network((7,), ACTIONS, envs=1, steps=1, parameters=wrong)


def test_initial_weights_are_orthogonal_with_the_scales_of_baselines() -> None:
    made = Network(SHAPES["nature"], 18, envs=1, steps=1)
    made.initialise(0)
    gains = dict.fromkeys(("conv1", "conv2", "conv3", "fc"), sqrt(2)) | {"policy": 0.01, "value": 1}
    for name, gain in gains.items():
        rows = made.named_parameters()[f"{name}.weight"].flatten(1)
        torch.testing.assert_close(
            rows @ rows.t(), gain**2 * torch.eye(len(rows)), atol=1e-5, rtol=0
        )
        assert not made.named_parameters()[f"{name}.bias"].any()


def test_initial_weights_depend_on_the_seed_alone() -> None:
    def weights(seed: int, threads: int) -> Tensor:
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        made = Network((5, 40, 40), ACTIONS, envs=1, steps=1)
        made.initialise(seed)
        torch.set_num_threads(before)
        return made.parameters

    state = torch.get_rng_state()
    assert torch.equal(weights(5, threads=1), weights(5, threads=2))
    assert not torch.equal(weights(5, threads=1), weights(6, threads=1))
    assert torch.equal(torch.get_rng_state(), state)


@of_each_kind
def test_forward_and_evaluate_equal_plain_pytorch(shape: tuple[int, ...], narrow: bool) -> None:
    made = network(shape, narrow)
    rollout = pixels(shape)
    for t, observations in enumerate(rollout):
        expected = plain_forward(made.named_parameters(), shape, observations.double() / 255)
        for got in (made.forward(t, observations), made.evaluate(observations)):
            torch.testing.assert_close(got, expected, atol=1e-12, rtol=1e-12)
    logits, values = made.evaluate(rollout.flatten(0, 1))
    torch.testing.assert_close(made.logits, logits, atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(made.values, values, atol=1e-12, rtol=1e-12)


def test_float_observations_are_not_scaled() -> None:
    made = network(SHAPES["flat"])
    observations = pixels(SHAPES["flat"])[0]
    torch.testing.assert_close(
        made.evaluate(observations.double() / 255), made.evaluate(observations)
    )


def test_what_evaluate_returns_outlives_the_next_call() -> None:
    made = network(SHAPES["flat"])
    first, second = pixels(SHAPES["flat"])[:2]
    logits, values = made.evaluate(first)
    kept = logits.clone(), values.clone()
    made.evaluate(second)
    torch.testing.assert_close((logits, values), kept, atol=0, rtol=0)


@of_each_kind
def test_backward_equals_autograd(shape: tuple[int, ...], narrow: bool) -> None:
    made = network(shape, narrow)
    rollout = pixels(shape)
    for t, observations in enumerate(rollout):
        made.forward(t, observations)
        made.evaluate(rollout[0, :1])
    d_logits = torch.randn(STEPS * ENVS, ACTIONS, dtype=torch.float64)
    d_values = torch.randn(STEPS * ENVS, dtype=torch.float64)
    made.backward(d_logits, d_values)

    leaf = made.parameters.clone().requires_grad_()
    parameters = Network(
        shape, ACTIONS, envs=1, steps=1, narrow=narrow, parameters=leaf, dtype=torch.float64
    ).named_parameters()
    logits, values = plain_forward(parameters, shape, rollout.flatten(0, 1).double() / 255)
    ((logits * d_logits).sum() + (values * d_values).sum()).backward()
    assert leaf.grad is not None
    torch.testing.assert_close(made.gradient, leaf.grad, atol=1e-10, rtol=1e-10)


@of_each_kind
def test_inputs_and_output_gradients_of_each_layer_make_up_its_gradient(
    shape: tuple[int, ...], narrow: bool
) -> None:
    """What K-FAC builds on: a layer's gradient is Σ d_output · inputᵀ over samples and places."""
    made = network(shape, narrow)
    for t, observations in enumerate(pixels(shape)):
        made.forward(t, observations)
    d_logits, d_values = torch.randn_like(made.logits), torch.randn_like(made.values)
    written = made.backward(d_logits, d_values)
    for layer, inputs, d_outputs in zip(made.layers, made.inputs, written, strict=True):
        columns = inputs
        if isinstance(layer.spec, Conv):
            # unfold's rows are (channel, height, width); ours are (height, width, channel).
            size, rest = layer.spec.kernel, (layer.spec.padding, layer.spec.stride)
            columns = F.unfold(inputs.permute(0, 3, 1, 2), size, 1, *rest).transpose(1, 2)
            columns = columns.unflatten(2, (-1, size * size)).transpose(2, 3).flatten(0, 1)
        rows = d_outputs.reshape(-1, layer.spec.out)
        expected = (rows.t() @ columns.flatten(1)).view(layer.weight.shape)
        torch.testing.assert_close(layer.d_weight, expected, atol=1e-10, rtol=1e-10)
        torch.testing.assert_close(layer.d_bias, rows.sum(0), atol=1e-10, rtol=1e-10)


def test_output_gradients_leave_the_gradient_alone() -> None:
    made = network(SHAPES["maze"])
    for t, observations in enumerate(pixels(SHAPES["maze"])):
        made.forward(t, observations)
    made.gradient.fill_(3)
    made.output_gradients(made.logits, made.values)
    assert (made.gradient == 3).all()


def test_two_networks_over_the_same_vectors_are_one() -> None:
    first = network(SHAPES["flat"])
    second = Network(
        SHAPES["flat"],
        ACTIONS,
        envs=1,
        steps=1,
        parameters=first.parameters,
        gradient=first.gradient,
        dtype=torch.float64,
    )
    second.initialise(9)
    observations = pixels(SHAPES["flat"])[0]
    torch.testing.assert_close(first.evaluate(observations), second.evaluate(observations))
    second.forward(0, observations[:1])
    second.backward(torch.ones(1, ACTIONS).double(), torch.ones(1).double())
    assert first.gradient.any()
