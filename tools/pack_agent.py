"""Pack a run's agent into a folder of src/deepcs/trained_agents (see deepcs.runs.shipped).

python tools/pack_agent.py RUN NAME [--step N] [--precision auto|half|full] [--games N]

The newest checkpoint is packed, whether the run goes on or not, with the logs up to it. Weights of
more than a megabyte are stored in half precision. The evaluation is played with exactly the bytes
that are packed. A folder of that name is replaced.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save as save_arrays

from deepcs.analysis.published import METHODS, counterpart, published
from deepcs.envs.make import make_vec
from deepcs.runs.checkpoint import load_checkpoint, newest_checkpoint
from deepcs.runs.config import RunConfig
from deepcs.runs.evaluate import Evaluation, evaluate, save_evaluation
from deepcs.runs.folder import RunFolder, SavedRun, digest_of
from deepcs.runs.numbering import EVALUATION_SEED
from deepcs.runs.shipped import BOX, DIGESTS, FACTS, WEIGHTS, ShippedAgent
from deepcs.runs.trained import load_packed
from deepcs.runs.trust import code_of

RANDOM_GAMES = 1_000
HALF = {"auto": None, "half": True, "full": False}
LARGE = 1_000_000  # bytes in float32


def pack(
    run: Path,
    name: str,
    out: Path = BOX,
    *,
    step: int | None = None,
    half: bool | None = None,
    games: int = 100,
) -> ShippedAgent:
    """Make the folder out/name of a run's newest checkpoint, or of that at a step.

    half: store float16; None: if the weights are large.
    """
    folder = RunFolder(run)
    saved = folder.read_config()
    config = saved.config
    if code_of(config):
        raise ValueError(f"{run} needs code of its own ({', '.join(code_of(config))}).")
    if step is None:
        checkpoint, _ = newest_checkpoint(folder.checkpoints)
    else:
        checkpoint = load_checkpoint(folder.checkpoints, step)
    if checkpoint is None:
        raise ValueError(f"{run} has no checkpoint.")
    curve, games_log = (
        _rows_until(_log(run / log), checkpoint.step) for log in ("curve.csv", "games.csv")
    )
    beside = out / f".{name}.new"
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    if half is None:
        half = sum(4 * w.size for w in checkpoint.weights.values()) > LARGE
    kind = np.float16 if half else np.float32
    weights = {key: np.ascontiguousarray(w, kind) for key, w in checkpoint.weights.items()}
    (beside / WEIGHTS).write_bytes(save_arrays(weights))
    (beside / "config.json").write_text(_config_text(folder))
    (beside / "curve.csv").write_bytes(curve)
    (beside / "games.csv.gz").write_bytes(gzip.compress(games_log, mtime=0))
    _write_digests(beside)
    agent = load_packed(beside, checkpoint.step)
    result = evaluate(agent, games=games)
    save_evaluation(beside / "evaluation.csv", result)
    facts = _facts(name, config, checkpoint.step, result)
    (beside / FACTS).write_text(json.dumps(asdict(facts), indent=2) + "\n")
    (beside / "README.md").write_text(card(facts, saved, result, half))
    _write_digests(beside)
    shutil.rmtree(out / name, ignore_errors=True)
    beside.rename(out / name)
    return facts


def _config_text(folder: RunFolder) -> str:
    """config.json without its trainer's signature."""
    content = json.loads((folder.path / "config.json").read_bytes())
    content = {**content, "signature": None}
    content.pop("digest", None)
    return json.dumps({**content, "digest": digest_of(content)}, indent=2)


def _log(path: Path) -> bytes:
    """A run's log, which may be kept compressed."""
    kept = path.with_name(f"{path.name}.gz")
    if kept.is_file() and not path.is_file():
        return gzip.decompress(kept.read_bytes())
    return path.read_bytes()


def _rows_until(log: bytes, step: int) -> bytes:
    """A log without what came after a step; its first column is the step.

    Without a last row that is still being written too: of 123456 there may be 12 so far.
    """
    whole = log[: log.rfind(b"\n") + 1]
    head, *rows = whole.splitlines(keepends=True)
    return b"".join([head, *(row for row in rows if int(row.partition(b",")[0]) <= step)])


def _write_digests(folder: Path) -> None:
    files = sorted(path for path in folder.iterdir() if path.name != DIGESTS)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / DIGESTS).write_text("".join(lines))


def _facts(name: str, config: RunConfig, step: int, result: Evaluation) -> ShippedAgent:
    row = published(config.world)
    return ShippedAgent(
        name,
        config.world,
        config.treatment,
        config.agent,
        config.protocol,
        step,
        games=len(result.games),
        seed=EVALUATION_SEED,
        greedy=False,
        median=float(np.median(result.scores)),
        lowest=float(result.scores.min()),
        highest=float(result.scores.max()),
        tiles=float(np.median(result.tiles)),
        random=random_score(config) if row is None else row.random,
    )


def random_score(config: RunConfig) -> float:
    """Mean score of uniformly random play."""
    envs = make_vec(config.world, num_envs=16, seed=1, workers=0, **config.actor_settings())
    envs.reset()
    rng, scores = np.random.default_rng(1), []
    while len(scores) < RANDOM_GAMES:
        actions = rng.integers(envs.single_action_space.n, size=16)
        infos = envs.step(actions)[-1]
        if "game" in infos:
            scores += [game.score for game in infos["game"][infos["_game"]]]
    envs.close()
    return float(np.mean(scores))


CARD = """\
---
library_name: deepcs
license: mit
pipeline_tag: reinforcement-learning
tags:
- deep-reinforcement-learning
- reinforcement-learning
- exploration
- {world}
model-index:
- name: {name}
  results:
  - task:
      type: reinforcement-learning
      name: reinforcement-learning
    dataset:
      name: {world}
      type: {world}
    metrics:
    - type: mean_reward
      value: {mean:.2f} +/- {deviation:.2f}
      name: mean_reward
      verified: false
---

# {name}

An agent for {world}, trained by deepcs {version}: treatment `{treatment}`, learner `{learner}`,
protocol `{protocol}`, seed {run_seed}, {step:,} steps. Weights are float{bits}; the evaluation was
played with these bytes.{limit}

| | score |
| --- | --- |
| this agent, median of {games} games | {median:,.6g} ({lowest:,.6g} to {highest:,.6g}) |
| random play, mean | {random:,.4g} |
{paper}
It touches {tiles:g} tiles a game in the median. One run, one seed: this tells what the agent does,
not what the method does. Its evaluation is `deepcs evaluate agents:{name}` (seed {seed}), game by
game in `evaluation.csv`; `config.json` has all settings and versions, `curve.csv` and
`games.csv.gz` are the logs of its training, `sha256.txt` the digests of all files.

    deepcs watch {name}
    deepcs record agents:{name}
"""


def card(facts: ShippedAgent, saved: SavedRun, result: Evaluation, half: bool) -> str:
    """README.md, with the head that model hubs read."""
    beside, paper = counterpart(facts.world, facts.treatment), ""
    if beside is not None:
        frames = next(m.frames for m in METHODS if m.label == beside.method) // 1_000_000
        who = f"{beside.method} in the paper, {frames} million frames"
        paper = f"| {who} | {beside.score.points:,} |\n"
    most, limit = saved.config.max_frames, ""
    if most is not None and most < saved.config.protocol_settings.max_frames:
        limit = f" Its games end after {most:,} raw frames at the latest."
    return CARD.format(
        **asdict(facts),
        limit=limit,
        mean=result.scores.mean(),
        deviation=result.scores.std(),
        bits=16 if half else 32,
        version=saved.versions["deepcs"],
        run_seed=saved.config.seed,
        paper=paper,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("name")
    parser.add_argument("--step", type=int)
    parser.add_argument("--precision", choices=HALF, default="auto", help="of the stored weights")
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--out", type=Path, default=BOX)
    given = parser.parse_args()
    torch.set_num_threads(1)
    half = HALF[given.precision]
    facts = pack(given.run, given.name, given.out, step=given.step, half=half, games=given.games)
    size = sum(path.stat().st_size for path in given.out.rglob("*") if path.is_file())
    print(f"{facts.name}: median {facts.median:g}; all agents together: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
