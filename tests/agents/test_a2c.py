"""A2C by hand, against autograd, and against Stable-Baselines3's own training step."""

import math
from collections.abc import Iterator

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3 import A2C
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.sb2_compat.rmsprop_tf_like import RMSpropTFLike
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import Tensor

from deepcs.agents.a2c import A2CSettings, Loss, RMSProp, clip_scale, loss_gradients, returns
from deepcs.agents.network import Network

SHAPE, ACTIONS, STEPS, ENVS = (5, 84, 84), 18, 3, 2
REWARDS = torch.tensor([[1.0] * 3, [2.0] * 3, [4.0] * 3])
BOOTSTRAP = torch.tensor([8.0, 8.0, 8.0])


def test_returns_by_hand_with_ends_in_the_middle_and_at_the_end() -> None:
    ends = torch.tensor([[False, False, False], [False, True, False], [False, False, True]])
    expected = [[4, 2, 3], [6, 2, 4], [8, 8, 4]]
    assert returns(REWARDS, ends, BOOTSTRAP, 0.5).tolist() == expected


def test_returns_by_hand_where_a_game_was_cut_short() -> None:
    ends = torch.tensor([[False, False, False], [False, True, True], [False, False, False]])
    final_values = torch.zeros(3, 3)
    final_values[1, 1] = 6
    expected = [[4, 3.5, 2], [6, 5, 2], [8, 8, 8]]
    assert returns(REWARDS, ends, BOOTSTRAP, 0.5, final_values).tolist() == expected


def test_loss_of_one_sample_by_hand() -> None:
    """Two equally likely actions, V = 1, R = 3: A = 2, and the entropy is at its peak."""
    d_logits, d_values, losses = loss_gradients(
        torch.zeros(1, 2), torch.ones(1), torch.tensor([0]), torch.tensor([3.0]), A2CSettings(), 1
    )
    assert d_logits.tolist() == [[-1, 1]]
    assert d_values.tolist() == [-1]
    loss = Loss(*losses)
    assert loss.policy == pytest.approx(2 * math.log(2))
    assert loss.value == pytest.approx(2)
    assert loss.entropy == pytest.approx(math.log(2))
    assert math.isnan(loss.explained_variance)  # a single return has no variance


def test_explained_variance_by_hand() -> None:
    """Returns 0, 2, 4, 6 (variance 5), values 1, 2, 3, 6: errors 1, 0, -1, 0 (variance ½)."""
    *_, losses = loss_gradients(
        torch.zeros(4, 2),
        torch.tensor([1.0, 2, 3, 6]),
        torch.zeros(4, dtype=torch.int64),
        torch.tensor([0.0, 2, 4, 6]),
        A2CSettings(),
        4,
    )
    assert Loss(*losses).explained_variance == pytest.approx(0.9)


def test_a_value_that_is_not_a_number_shows_in_the_losses() -> None:
    *_, losses = loss_gradients(
        torch.zeros(1, 2),
        torch.tensor([math.nan]),
        torch.tensor([0]),
        torch.ones(1),
        A2CSettings(),
        1,
    )
    assert not np.isfinite(losses).all()


def test_loss_gradients_equal_autograd() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(7, 5, dtype=torch.float64, generator=generator).requires_grad_()
    values = torch.randn(7, dtype=torch.float64, generator=generator).requires_grad_()
    targets = torch.randn(7, dtype=torch.float64, generator=generator)
    actions = torch.randint(0, 5, (7,), generator=generator)
    policy = torch.distributions.Categorical(logits=logits)
    policy_loss = -((targets - values).detach() * policy.log_prob(actions)).mean()
    value_loss = ((values - targets) ** 2 / 2).mean()
    (policy_loss - 0.3 * policy.entropy().mean() + 0.7 * value_loss).backward()

    settings = A2CSettings(entropy=0.3, value=0.7)
    d_logits, d_values, losses = loss_gradients(
        logits.detach(), values.detach(), actions, targets, settings, 7
    )
    torch.testing.assert_close(d_logits, logits.grad, atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(d_values, values.grad, atol=1e-12, rtol=1e-12)
    loss = Loss(*losses)
    assert loss.policy == pytest.approx(policy_loss.item())
    assert loss.value == pytest.approx(value_loss.item())
    variance = 1 - ((targets - values).var() / targets.var()).item()
    assert loss.explained_variance == pytest.approx(variance)
    assert loss.entropy == pytest.approx(policy.entropy().mean().item())


def test_the_gradients_of_shards_add_up_to_that_of_the_batch() -> None:
    shape, envs = (4, 11, 11), 4
    generator = torch.Generator().manual_seed(0)
    observations = torch.rand(STEPS, envs, *shape, dtype=torch.float64, generator=generator)
    actions = torch.randint(0, ACTIONS, (STEPS, envs), generator=generator)
    targets = torch.randn(STEPS, envs, dtype=torch.float64, generator=generator)

    def gradient(part: slice) -> tuple[Tensor, np.ndarray]:
        width = len(range(envs)[part])
        network = Network(shape, ACTIONS, envs=width, steps=STEPS, dtype=torch.float64)
        network.initialise(0)
        for t in range(STEPS):
            network.forward(t, observations[t, part])
        d_logits, d_values, losses = loss_gradients(
            network.logits,
            network.values,
            actions[:, part].flatten(),
            targets[:, part].flatten(),
            A2CSettings(),
            STEPS * envs,
        )
        network.backward(d_logits, d_values)
        return network.gradient, losses

    whole, losses = gradient(slice(None))
    (first, some), (second, others) = gradient(slice(3)), gradient(slice(3, None))
    torch.testing.assert_close(first + second, whole, atol=1e-12, rtol=1e-12)
    np.testing.assert_allclose(some + others, losses)


def test_long_gradients_are_shortened_and_short_ones_left_alone() -> None:
    assert clip_scale(9.0, 0.6) == pytest.approx(0.2, rel=1e-6)
    assert clip_scale(0.04, 0.6) == 1
    assert clip_scale(0.0, 0.6) == 1


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """So that float32 rounds the same on every run."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class Still(gymnasium.Env[np.ndarray, int]):
    """Observations and actions of the right kind; the test fills the buffer itself."""

    observation_space = gymnasium.spaces.Box(0, 255, SHAPE, np.uint8)
    action_space = gymnasium.spaces.Discrete(ACTIONS)


class Peer:
    """Stable-Baselines3's A2C on one fixed rollout, and ours with the same weights.

    Its value loss is the whole squared error, ours the half: hence half its coefficient.
    """

    def __init__(self, dtype: torch.dtype, max_norm: float) -> None:
        self.settings = A2CSettings(max_gradient_norm=max_norm, schedule="constant")
        self.theirs = A2C(
            "CnnPolicy",
            DummyVecEnv([Still] * ENVS),
            n_steps=STEPS,
            ent_coef=0.01,
            vf_coef=0.25,
            max_grad_norm=max_norm,
            policy_kwargs={
                "normalize_images": False,
                "optimizer_class": RMSpropTFLike,
                "optimizer_kwargs": {"alpha": 0.99, "eps": 1e-5},
            },
            device="cpu",
        )
        self.theirs.set_logger(Logger(None, []))
        policy = self.theirs.policy.to(dtype)
        # Its own scaling goes through float32, which would hide what float64 is to show.
        policy.features_extractor.register_forward_pre_hook(
            lambda _, inputs: (inputs[0].to(dtype) / 255,)
        )
        self.ours = Network(SHAPE, ACTIONS, envs=ENVS, steps=STEPS, dtype=dtype)
        self.ours.initialise(0)
        # Biases of 0 would make the error of ten updates large beside the weights themselves.
        for layer in self.ours.layers:
            layer.bias.copy_(torch.linspace(-0.1, 0.1, len(layer.bias)))
        for _, mine, parameter in self.pairs(self.ours.named_parameters()):
            parameter.data.copy_(mine)
        self.optimiser = RMSProp(self.ours.parameters, decay=0.99, epsilon=1e-5)

        random = np.random.default_rng(0)
        self.dtype = dtype
        self.observations = random.integers(0, 256, (STEPS + 1, ENVS, *SHAPE), dtype=np.uint8)
        self.actions = random.integers(0, ACTIONS, (STEPS, ENVS))
        self.rewards = random.normal(size=(STEPS, ENVS)).astype(np.float32)
        self.ends = np.array([[False, False], [True, False], [False, True]])

    def pairs(self, ours: dict[str, Tensor]) -> Iterator[tuple[str, Tensor, torch.nn.Parameter]]:
        """Name, our tensor with columns in their order, and their parameter."""
        names = {
            "conv1": "features_extractor.cnn.0",
            "conv2": "features_extractor.cnn.2",
            "conv3": "features_extractor.cnn.4",
            "fc": "features_extractor.linear.0",
            "policy": "action_net",
            "value": "value_net",
        }
        for name, tensor in ours.items():
            layer, kind = name.split(".")
            if name == "fc.weight":
                tensor = tensor.view(512, 7, 7, 64).permute(0, 3, 1, 2).flatten(1)
            yield name, tensor, self.theirs.policy.get_parameter(f"{names[layer]}.{kind}")

    def train_theirs(self) -> None:
        policy, buffer = self.theirs.policy, self.theirs.rollout_buffer
        buffer.reset()
        wide = torch.empty(0, dtype=self.dtype).numpy().dtype
        for name in ("rewards", "returns", "values", "advantages", "log_probs", "episode_starts"):
            setattr(buffer, name, getattr(buffer, name).astype(wide))
        starts = np.ones(ENVS, dtype=bool)
        with torch.no_grad():
            for t in range(STEPS):
                values = policy.predict_values(torch.as_tensor(self.observations[t]))
                buffer.add(
                    self.observations[t],
                    self.actions[t],
                    self.rewards[t],
                    starts,
                    values,
                    torch.zeros(ENVS),
                )
                starts = self.ends[t]
            last = policy.predict_values(torch.as_tensor(self.observations[STEPS]))
        buffer.compute_returns_and_advantage(last, starts)
        self.theirs.train()

    def train_ours(self) -> float:
        observations = torch.from_numpy(self.observations)
        for t in range(STEPS):
            self.ours.forward(t, observations[t])
        _, bootstrap = self.ours.evaluate(observations[STEPS])
        targets = returns(
            torch.from_numpy(self.rewards).to(self.dtype),
            torch.from_numpy(self.ends),
            bootstrap,
            self.settings.gamma,
        )
        d_logits, d_values, _ = loss_gradients(
            self.ours.logits,
            self.ours.values,
            torch.from_numpy(self.actions).flatten(),
            targets.flatten(),
            self.settings,
            STEPS * ENVS,
        )
        self.ours.backward(d_logits, d_values)
        squared_norm = self.ours.gradient.dot(self.ours.gradient).item()
        scale = clip_scale(squared_norm, self.settings.max_gradient_norm)
        self.optimiser.step(self.ours.gradient, self.settings.learning_rate, scale)
        return scale


def relative_error(ours: Tensor, theirs: Tensor) -> float:
    return (torch.linalg.vector_norm(ours - theirs) / torch.linalg.vector_norm(theirs)).item()


both_precisions = pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)], ids=["32", "64"]
)


@both_precisions
@pytest.mark.parametrize("max_norm", [1e9, 0.5], ids=["free", "clipped"])
def test_the_gradient_equals_that_of_stable_baselines3(
    dtype: torch.dtype, tolerance: float, max_norm: float
) -> None:
    peer = Peer(dtype, max_norm)
    peer.train_theirs()
    scale = peer.train_ours()
    assert (scale < 1) == (max_norm < 1)
    for name, ours, theirs in peer.pairs(peer.ours.named_gradient()):
        assert theirs.grad is not None
        assert relative_error(scale * ours, theirs.grad) < tolerance, name


@both_precisions
def test_the_weights_after_ten_updates_equal_those_of_stable_baselines3(
    dtype: torch.dtype, tolerance: float
) -> None:
    peer = Peer(dtype, max_norm=0.5)
    start = peer.ours.parameters.clone()
    for _ in range(10):
        peer.train_theirs()
        peer.train_ours()
    assert relative_error(peer.ours.parameters, start) > tolerance
    for name, ours, theirs in peer.pairs(peer.ours.named_parameters()):
        assert relative_error(ours, theirs.detach()) < tolerance, name
