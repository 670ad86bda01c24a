"""Every setting of a run, as one frozen dataclass that is saved with it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import tyro

from deepcs.agents.networks import check_network, plan_network
from deepcs.agents.plan import is_large_image
from deepcs.agents.replicas import check_memory
from deepcs.agents.rollout import RewardRules
from deepcs.agents.table import PAPERS_AGENT, find_agent, make_settings
from deepcs.agents.training import Training
from deepcs.curiosity.novelty import Novelty
from deepcs.curiosity.reward import Weight
from deepcs.envs.make import check_not_ataris, is_curious, look_at, world_name
from deepcs.envs.mazes import MAZES
from deepcs.envs.protocol import Protocol, protocol
from deepcs.envs.roms import atari_game
from deepcs.runs.choices import (
    checked_learner,
    fitting_device,
    fitting_shards,
    fitting_weight,
    maze_weight,
)
from deepcs.runs.config_checks import check_values
from deepcs.runs.counts import Count, World
from deepcs.runs.effects import check_effects
from deepcs.runs.novel import (
    DEFAULT,
    batch_novelty,
    check_graded,
    check_located,
    full_novelty,
    needs_position,
    novel_settings,
    saved_novelty,
    with_cells,
)
from deepcs.runs.precision import Choice, choose_here
from deepcs.runs.presets import check_preset, check_preset_is_whole, preset
from deepcs.runs.treatment import Treatment, treatment
from deepcs.system.importing import allow, check_allowed, is_path

PAPER_STEPS = 160_000_000
TEN_MINUTES = {"atari": 500_000, "maze": 10_000_000}  # steps, at what two cores reach


@dataclass(frozen=True)
class RunConfig:
    """Settings of one training run; all that can change a byte of its result."""

    world: World
    """a game, a maze, or module:NAME of a game or module:factory of an environment of your own"""
    treatment: str = "deepcs"
    """deepcs, plain, no-grid, no-intrinsic, never-reset, life-reset; counts, pseudo-counts, rnd,
    counts+grid, hybrid, deepcs-pixels, deepcs-hash or fading"""
    protocol: str = "paper"
    """Atari games: paper, baselines or machado; elsewhere there is nothing to choose"""
    steps: Count = PAPER_STEPS
    """agent steps over all actors (4 raw frames each), rounded up to whole updates"""
    seed: int = 0
    """of everything random in the run"""
    actors: int = 16
    """games played side by side (paper)"""
    weight: Weight | None = None
    """β, the game reward's share; 0.25:0.9, linear over the run; equal; sum:c; None: the world's"""
    tile: int | None = None
    """tile size in raw units; None: the game's own (paper)"""
    grid: Literal["plane", "stacked"] = "plane"
    """how a treatment that sees the grid sees it: one plane, or the last four (Atari games)"""
    compass: bool = False
    """mazes: show the way to the nearest untouched tile, beside the picture"""
    graded: bool = False
    """intrinsic reward of 1/√n at a tile's n-th entry, instead of 1 at the first"""
    novelty: Novelty = DEFAULT
    """other answers than the treatment's to what is new, and the numbers of its parts"""
    max_frames: int | None = None
    """raw frames per game (Atari games); None: the preset's, or the protocol's"""
    agent: str = PAPERS_AGENT
    """the learner: a2c, acktr (the paper's supplement, S3), ppo, or module:Class of your own"""
    learner: Annotated[Any, tyro.conf.Suppress] = None
    """the agent's own numbers, of its Settings class; None: their defaults"""
    network: str = "auto"
    """fast (built in), narrow (half its width), joint (for several arrays), module:function of your
    own; auto: what fits"""
    precision: Literal["float32", "bfloat16", "auto"] = "auto"
    """what networks fast and narrow multiply in; auto: bfloat16 for large images where the CPU has
    instructions for it, else float32"""
    shards: int = 0
    """parts of the batch whose gradients are computed apart, then added; 0: chosen, one per core"""
    threads: int = 1
    """torch threads per process"""
    device: str = "auto"
    """cpu, cuda, or auto: cuda if there is one"""
    log_every: Count = 8_000
    """steps between rows of curve.csv (100 updates of A2C, as in Baselines)"""
    checkpoint_every: Count = 0
    """steps between checkpoints; 0: about ten minutes' worth"""
    milestone_every: Count = 10_000_000
    """a checkpoint is kept for good whenever this many steps have passed"""
    preset: str | None = None
    """other defaults than the paper's: fast (games), maze; what is given beside it overrides it"""

    @classmethod
    def from_preset(cls, name: str, world: str, **settings: Any) -> RunConfig:
        """The settings of a preset for that world, but for those that are given.

        learner: the agent's settings, or a dict of some of them, such as {"epochs": 4}.
        """
        chosen = preset(name)
        numbers = chosen.numbers_in(world)
        learner = settings.pop("learner", {})
        if isinstance(learner, dict):
            learner = make_settings(chosen.agent, learner, numbers.learner)
        given = {"agent": chosen.agent, **numbers.settings, **settings}
        return cls(world, learner=learner, preset=name, **given)

    def resolved(self) -> RunConfig:
        """With every choice made that needs no look at the world, and checked.

        Imports what is named as module:name: of a config from a file only after `check_code`.
        Raises ValueError in one sentence.
        """
        self.check()
        allow((self.world, self.agent, self.network))
        self._check_preset()  # again: what a world of the user's own is was not known
        self.check_position()
        world = world_name(self.world)
        known = atari_game(world)
        settings = checked_learner(self)
        device = fitting_device(self)
        shards = self.shards or fitting_shards(self, settings, known is not None)
        chosen = dataclasses.replace(
            self,
            world=world,
            treatment=treatment(self.treatment).name,
            weight=fitting_weight(self, settings, known.weight if known else maze_weight(world)),
            tile=self._first(self.tile, known and known.tile, 1 if world in MAZES else None),
            novelty=saved_novelty(self.novelty, self.treatment_settings),
            max_frames=self._first(self.max_frames, known and self._longest_game()),
            learner=settings,
            shards=1 if device != "cpu" else shards,
            device=device,
        )
        agent = find_agent(self.agent)
        if self.precision == "bfloat16":  # refused where it would be emulated
            choose_here(self.precision, agent, self.network, device)
        agent.check_division(settings, chosen.actors, chosen.shards)
        often = self.checkpoint_every or TEN_MINUTES["maze" if world in MAZES else "atari"]
        return dataclasses.replace(
            chosen,
            steps=chosen.whole_updates(self.steps),
            log_every=chosen.whole_updates(self.log_every),
            checkpoint_every=chosen.whole_updates(often),
        )

    def _longest_game(self) -> int:
        """Raw frames of an Atari game at most: the preset's or the protocol's."""
        of_preset = preset(self.preset).max_frames if self.preset else None
        return of_preset or self.protocol_settings.max_frames

    def fitted(self) -> RunConfig:
        """With the weight and network that fit the world; refuses what cannot be trained there, or
        has no effect.
        """
        return self.fitted_and_why()[0]

    def fitted_and_why(self) -> tuple[RunConfig, Choice]:
        """As `fitted`; and the precision with what speaks for it."""
        check_effects(self)
        if not self.is_atari:
            asked = {"protocol": self.protocol, "max_frames": self.max_frames, "grid": self.grid}
            check_not_ataris(self.world, asked)
        novelty = with_cells(self.novelty, self.world, self.seed, self.actor_settings())
        self = dataclasses.replace(self, novelty=novelty)
        facts = look_at(self.world, **self.actor_settings())
        if not facts.spaces.cells and needs_position(self.full_novelty, self.treatment_settings):
            raise ValueError(
                f"{self.world} does not tell where the player is, by which treatment "
                f"{self.treatment} goes; wrap the environment in deepcs.CuriosityWrapper(env, "
                "locate=...), or choose --novelty.place pixels."
            )
        weight = fitting_weight(self, self.learner, facts.weight)
        config = dataclasses.replace(self, weight=weight)
        try:
            plan = plan_network(self.network, facts.spaces, config.training().rules.streams)
        except ValueError as error:
            if self.network != "auto":  # the message is about that choice
                raise
            raise ValueError(f"{self.world} cannot be trained in as it is: {error}") from error
        training = config.training()
        check_memory(training, plan)
        training.agent_type.vectors(self.learner, plan, self.shards)
        self._check_curious()
        small = not is_large_image(plan.shape)
        who = training.agent_type, plan.name, self.device
        chosen = choose_here(self.precision, *who, small=small)
        return dataclasses.replace(config, network=plan.name, precision=chosen.precision), chosen

    def _check_curious(self) -> None:
        """Refuse a treatment that needs curiosity where there is none."""
        wanted = self.treatment_settings
        needed = wanted.paid or wanted.sees_grid
        if needed and not is_curious(self.world, **self.actor_settings()):
            raise ValueError(
                f"{self.world} has no curiosity (no 'intrinsic' in its info), which treatment "
                f"{wanted.name} needs; wrap the environment in deepcs.CuriosityWrapper(env, "
                "locate=...), or choose treatment plain."
            )

    @staticmethod
    def _first(*choices: Any) -> Any:
        return next((choice for choice in choices if choice is not None), None)

    def check(self) -> None:
        """Raise ValueError for what can be refused without running code that is not allowed."""
        check_values(self)
        protocol(self.protocol)
        check_network(self.network)
        check_graded(self.graded, self.full_novelty, self.treatment_settings)
        world_name(self.world)
        self._check_preset()
        if not is_path(self.agent):
            checked_learner(self)

    def _check_preset(self) -> None:
        if self.preset is not None:
            world = world_name(self.world)
            kind = "games" if atari_game(world) else "mazes" if world in MAZES else None
            check_preset(self.preset, self.agent, kind)
            check_preset_is_whole(self.preset, self.learner)

    def check_position(self) -> None:
        """Raise ValueError where the treatment needs positions that are not known here."""
        world = world_name(self.world)
        game = None if is_path(world) else atari_game(world)
        if game is not None:
            check_located(game, self.full_novelty, self.treatment_settings)

    @property
    def full_novelty(self) -> Novelty:
        """The treatment's answers to what is new, and this run's own."""
        return full_novelty(self.novelty, self.treatment_settings)

    @property
    def update_steps(self) -> int:
        """Steps of one update, over all actors."""
        learner = self.learner  # of an agent of the user's own, as it was saved: a dict
        steps = learner["n_steps"] if isinstance(learner, dict) else learner.n_steps
        return self.actors * int(steps)

    def whole_updates(self, steps: int) -> int:
        """Steps rounded up to whole updates."""
        return -(-steps // self.update_steps) * self.update_steps

    def learning_rate(self, step: int, total: int) -> float:
        """The learning rate after so many steps of a total."""
        rate: float = self.learner.learning_rate
        return rate if self.learner.schedule == "constant" else rate * max(0, 1 - step / total)

    @property
    def treatment_settings(self) -> Treatment:
        return treatment(self.treatment)

    @property
    def protocol_settings(self) -> Protocol:
        return protocol(self.protocol)

    @property
    def how_games_end(self) -> dict[str, bool]:
        """What ends the learner's return, by the names of Protocol's settings.

        A maze's time limit is a rule of the maze; that of a user's own environment is not.
        """
        chosen = self.protocol_settings
        own = not self.is_atari and self.world not in MAZES
        return {
            "life_ends_return": chosen.life_ends_return,
            "bootstrap_cut": chosen.bootstrap_cut or own,
        }

    @property
    def is_atari(self) -> bool:
        """Whether the world is an Atari game, of which alone there are protocols and frames.

        Raises ValueError for module:name that is not allowed: only its code could tell.
        """
        check_allowed(self.world)
        return atari_game(self.world) is not None

    @property
    def agent_name(self) -> str:
        """The agent's name without its module."""
        return self.agent.rpartition(":")[2]

    @property
    def name(self) -> str:
        """A folder name for this run."""
        agent = "" if self.agent == PAPERS_AGENT else f"-{self.preset or self.agent_name}"
        world = self.world.replace(":", "-")
        return f"{world}{agent}-{self.treatment}-{self.protocol}-seed{self.seed}"

    def actor_settings(self) -> dict[str, Any]:
        """What make_vec needs to make this run's actors."""
        novelty = self.full_novelty
        settings: dict[str, Any] = {
            "grid": self.grid if self.treatment_settings.sees_grid else "none",
            "lifetime": "never" if novelty.lifetime == "fading" else novelty.lifetime,
            "tile": self.tile,
            "graded": self.graded,
            **novel_settings(novelty),
        }
        if self.is_atari:
            settings |= {"protocol": self.protocol, "max_frames": self.max_frames}
        elif settings["grid"] == "stacked":  # in runs of before it was refused
            settings["grid"] = "plane"
        return {**settings, "compass": True} if self.compass else settings

    def training(self) -> Training:
        """What the shards need to know of a resolved config."""
        assert self.weight is not None
        rules = RewardRules(self.weight, self.treatment_settings.paid, **self.how_games_end)
        return Training(
            self.world,
            self.actor_settings(),
            self.agent,
            self.learner,
            self.network,
            self.actors,
            self.shards,
            self.seed,
            rules,
            self.threads,
            self.device,
            self.precision,  # type: ignore[arg-type]  # auto is resolved before anything is built
            batch_novelty(self.full_novelty),
        )
