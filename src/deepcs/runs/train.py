"""Starting, resuming and extending a run."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from deepcs.agents.replicas import DivergedError, Replicas, check_workers
from deepcs.runs.checkpoint import (
    checkpoint_steps,
    clear_unfinished,
    newest_checkpoint,
    prune_checkpoints,
)
from deepcs.runs.choices import unused_weight
from deepcs.runs.config import RunConfig
from deepcs.runs.errors import RunError
from deepcs.runs.folder import RunFolder, SavedRun, Segment, check_settings, settings_digest
from deepcs.runs.lease import Terms
from deepcs.runs.load import read_curve
from deepcs.runs.logs import check_logs, curve_columns
from deepcs.runs.loop import KEPT, Logs, Run
from deepcs.runs.precision import check_precision_is_here
from deepcs.runs.progress import Display, Silence
from deepcs.runs.saved_config import ADDED, to_json
from deepcs.runs.stopping import (
    Heard,
    Renewing,
    StoppedError,
    in_sentences,
    stopping_on_signals,
)
from deepcs.runs.trust import changed_code, check_code, code_of
from deepcs.runs.versions import FORMAT, versions
from deepcs.system import limits
from deepcs.system.limits import check_whole

__all__ = ["StoppedError", "resume", "train"]  # with what they raise

BEFORE_CONFIG = {"lock", "lease", ".config.json.new"}  # all that a run killed at its birth leaves
WHAT_DECIDES = ("torch", "numpy", "ale-py", "gymnasium", "opencv-python-headless", "machine")
"""Of the recorded versions: those whose difference can change a run's bytes."""


def train(
    config: RunConfig,
    out: Path | str,
    *,
    workers: int | None = None,
    display: Display | None = None,
    lease: Terms | None = None,
    accept_changes: bool = False,
) -> int | None:
    """Train into a folder; goes on where a run of the same settings stands.

    lease: hold the folder by a lease, also against other machines that share its storage.
    accept_changes: as in `resume`. Returns the number of the signal that stopped it, or None when
    the run is finished. Raises ValueError (also RunError) for what cannot be done as asked,
    StoppedError when the run had to stop.
    """
    check_workers(workers)  # before anything is written, as all that can be refused
    chosen_shards = config.shards
    config = config.resolved()
    folder = RunFolder(out)
    display = display or Silence()
    if not folder.holds_run:
        asked_auto = config.precision == "auto"
        config, chosen = config.fitted_and_why()  # refuses what cannot be trained in
        if asked_auto:
            display.say(f"Precision {chosen.precision}: {chosen.why}.")
        if folder.path.is_dir() and not BEFORE_CONFIG.issuperset(os.listdir(folder.path)):
            raise RunError(
                f"{folder.path} holds files that are not a run's; give an empty or new --out."
            )
        folder.lock(lease)
        try:
            if not folder.holds_run:  # nobody was quicker
                return _begin(folder, config, workers, display)
        finally:
            folder.unlock()
    saved = folder.read_config(accept_changes=accept_changes)
    begun = ADDED | saved.settings
    # What was not asked for stays as it was chosen where the run began.
    asked = json.loads(json.dumps(to_json(config)))
    if "novelty" in asked:  # the picture of a cell was chosen where the run began
        was = begun.get("novelty") or {}
        asked["novelty"] = {n: was.get(n) if v is None else v for n, v in asked["novelty"].items()}
    kept = {"steps"} | ({"shards"} if chosen_shards == 0 else set())
    kept |= {"network"} if config.network == "auto" else set()
    kept |= {"weight"} if config.weight is None else set()
    kept |= {"precision"} if config.precision == "auto" else set()
    different = [
        f"{name} {begun.get(name)!r}, not {asked.get(name)!r}"
        for name in dict.fromkeys((*asked, *(["novelty"] if "novelty" in begun else [])))
        if name not in kept and begun.get(name) != asked.get(name)
    ]
    if different:
        raise RunError(
            f"{folder.path} holds a run of other settings ({'; '.join(different)}); "
            "give another --out."
        )
    return resume(
        folder.path,
        steps=config.steps,
        workers=workers,
        display=display,
        lease=lease,
        # A network that was chosen where the run began was not named by whoever calls this.
        allow_code=set(code_of(saved.config)) <= set(code_of(config)),
        accept_changes=accept_changes,
    )


def _begin(
    folder: RunFolder, config: RunConfig, workers: int | None, display: Display
) -> int | None:
    """Begin a run; one that fails before it has saved anything leaves the folder free."""
    segments = (Segment(0, config.steps),)
    try:
        with in_sentences(folder):
            folder.write_config(config, segments)
            return _go_on(folder, config, segments, workers, display)
    except BaseException:
        if not folder.was_saved and not checkpoint_steps(folder.checkpoints):
            folder.forget()
        raise


def resume(
    path: Path | str,
    *,
    steps: int | None = None,
    workers: int | None = None,
    display: Display | None = None,
    lease: Terms | None = None,
    allow_code: bool = False,
    accept_changes: bool = False,
) -> int | None:
    """Go on with a run, exactly; `steps`: a new, larger total. Returns and raises as `train`.

    allow_code: run what it names as module:name, though this user did not train it.
    accept_changes: go on although settings, logs or library versions are not as they were saved.
    """
    if steps is not None:
        check_whole("steps {}", steps, 1, limits.STEPS, refusal=RunError)
    check_workers(workers)
    folder = RunFolder(path)
    # Refuses what is no run before a lock is left there.
    saved = folder.read_config(accept_changes=accept_changes)
    check_code(folder.path, saved.config, saved.trained_here, allow_code)
    folder.lock(lease)
    try:
        saved = folder.read_config(accept_changes=accept_changes)
        check_code(folder.path, saved.config, saved.trained_here, allow_code)
        return _resume(folder, saved, steps, workers, display or Silence(), accept_changes)
    finally:
        folder.unlock()


def _resume(
    folder: RunFolder,
    saved: SavedRun,
    steps: int | None,
    workers: int | None,
    display: Display,
    accept_changes: bool,
) -> int | None:
    _check_made_by(folder, saved, display, accept_changes)
    check_precision_is_here(folder.path, saved.config.precision)
    config, segments = saved.config.resolved(), saved.segments
    checkpoint, _ = newest_checkpoint(folder.checkpoints)
    check_settings(folder, saved, settings_digest(config), checkpoint, accept_changes)
    if checkpoint is None and (folder.was_saved or _has_logged_past_a_save(folder, config)):
        raise RunError(
            f"The checkpoints of {folder.path} are gone, so it cannot go on; its logs are safe. "
            "Restore them from a copy; to begin anew, give another --out or delete the folder."
        )
    if steps is not None and config.whole_updates(steps) != config.steps:
        total = config.whole_updates(steps)
        begins = 0 if checkpoint is None else checkpoint.step
        if total < begins:
            raise RunError(
                f"Got {steps} steps, but {folder.path} has {begins} already; give a larger total."
            )
        config = dataclasses.replace(config, steps=total)
        segments = (*segments, Segment(begins, total))
    with in_sentences(folder):
        if accept_changes:
            known = () if checkpoint is None else (checkpoint.state["settings"],)
            folder.write_config(config, segments, accepted=[*saved.accepted, *known])
        elif segments != saved.segments or (code_of(config) and not saved.trained_here):
            folder.write_config(config, segments, saved, saved.accepted)
        return _go_on(folder, config, segments, workers, display, accept_changes)


def _has_logged_past_a_save(folder: RunFolder, config: RunConfig) -> bool:
    """Whether the logs go on after a step at which a checkpoint must have been saved."""
    steps = read_curve(folder.path, ("step",))["step"]
    return bool(len(steps)) and steps[-1] > config.whole_updates(config.checkpoint_every)


def _check_made_by(
    folder: RunFolder, saved: SavedRun, display: Display, accept_changes: bool
) -> None:
    """Refuse a run of another format or other libraries; say it where other sources made it."""
    ours = versions()
    if saved.format != FORMAT:
        raise RunError(
            f"{folder.path} was trained by deepcs {saved.versions['deepcs']} (format "
            f"{saved.format}), this is {ours['deepcs']} (format {FORMAT}); it can be evaluated, "
            "recorded and reported here, but to go on, install that version."
        )
    others = [
        f"{name} {saved.versions.get(name)}, here {ours[name]}"
        for name in WHAT_DECIDES
        if saved.versions.get(name) != ours[name]
    ]
    if others and not accept_changes:
        raise RunError(
            f"{folder.path} was trained with other versions ({'; '.join(others)}), so it would not "
            "go on exactly; install those, or go on all the same with --accept-changes."
        )
    if saved.versions.get("sources") != ours["sources"]:
        display.say(
            f"{folder.path} was begun by other sources of deepcs ({saved.versions['deepcs']}) than "
            f"these ({ours['deepcs']}): it goes on, but not promised to the bit."
        )
    elif changed := changed_code(saved.config, saved.versions):
        display.say(
            f"{changed} has changed since {folder.path} was begun: it goes on, but not promised to "
            "the bit."
        )
    elif saved.versions.get("cpu") != ours["cpu"]:
        display.say(
            f"{folder.path} was begun on another CPU ({saved.versions.get('cpu')}, here "
            f"{ours['cpu']}): it goes on, but not promised to the bit."
        )


def _go_on(
    folder: RunFolder,
    config: RunConfig,
    segments: Sequence[Segment],
    workers: int | None,
    display: Display,
    accept_changes: bool = False,
) -> int | None:
    with stopping_on_signals() as stop, ExitStack() as opened:
        display = opened.enter_context(closing(Heard(display, stop)))
        clear_unfinished(folder.checkpoints)
        checkpoint, damaged = newest_checkpoint(folder.checkpoints)
        for sentence in damaged:
            display.say(f"{sentence} Going on from the one before it.")
        if checkpoint is not None:
            folder.note_saved()
            if not damaged:  # what a run killed before it could prune has left
                prune_checkpoints(
                    folder.checkpoints,
                    checkpoint.step,
                    KEPT,
                    config.milestone_every,
                    folder.staging,
                )
        if checkpoint is not None and checkpoint.step >= config.steps:
            if not accept_changes:
                check_logs(folder.path, checkpoint.step, checkpoint.state)
            display.say(f"{folder.path} is finished: {checkpoint.step:,} steps.")
            return None
        replicas = opened.enter_context(closing(Replicas(config.training(), workers)))
        if checkpoint is not None and checkpoint.actors is None:
            display.say("This environment has no snapshot(): games under way start afresh.")
        elif not replicas.freezable:
            display.say("This environment has no snapshot(): a resumed run will not be exact.")
        for name in replicas.unseen:
            display.say(
                f"The network does not see {name!r} of the observation, which is text; if it "
                "matters, turn it into numbers in the factory."
            )
        if unused := unused_weight(config, replicas.weight):
            display.say(unused)
        columns = curve_columns(config.agent)
        logs = opened.enter_context(closing(Logs(folder, columns, checkpoint, accept_changes)))
        shown = display if folder.lease is None else Renewing(display, folder.lease)
        run = Run(folder, config, segments, checkpoint, replicas, logs, stop, shown)
        try:
            run.go()
        except DivergedError as error:
            raise DivergedError(f"{error} at step {run.progress.step:,}", error.advice) from error
        return stop.signal if run.progress.step < config.steps else None
