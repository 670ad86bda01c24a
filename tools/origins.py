"""Where the runs in docs/data come from: their commands, and the commits of their sources.

python tools/origins.py    # look through the history for the commits of new runs' sources

A run writes down a digest of the sources that made it. docs/data/commits.csv has a commit for each,
the newest with these sources. `tools/docs_results.py --add` does the same.
"""

from __future__ import annotations

import csv
import io
import subprocess
import tarfile
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path, PurePosixPath

from deepcs.agents.table import find_agent
from deepcs.analysis.tables import Table, words
from deepcs.curiosity.novelty import Novelty
from deepcs.runs.choices import unpaid_numbers, weighs
from deepcs.runs.config import RunConfig
from deepcs.runs.folder import RunFolder
from deepcs.runs.novel import full_novelty
from deepcs.runs.saved_config import to_json
from deepcs.runs.versions import SUFFIXES, digest_of_sources

ROOT = Path(__file__).parents[1]
PACKAGE = "src/deepcs"
COMMITS = "commits.csv"  # in docs/data
DIGITS = 12  # of a digest


def origins(runs: Iterable[Path], commits: dict[str, str]) -> Table:
    """Where runs come from; a row where they differ by seed alone."""
    seeds = defaultdict(list)
    for path in runs:
        saved = RunFolder(path).read_config()
        sources = sources_of(path)
        made = f"deepcs {saved.versions['deepcs']}"
        if sources and sources not in commits:
            raise ValueError(f"{path} has sources of no commit here; take it out, or commit them.")
        if sources:
            made += f", sources {sources}, commit {commits[sources]}"
        name = path.name.replace(f"-seed{saved.config.seed}", "-seed*")
        line = command(replace(saved.config, seed=0))
        cpu = saved.versions.get("cpu", "unknown")
        seeds[f"`{name}`", f"`{line}`", made, cpu].append(saved.config.seed)
    rows = [[name, _ranges(found), *rest] for (name, *rest), found in sorted(seeds.items())]
    columns = map(words, ("folders", "seeds", "command, with `--seed`", "made by", "CPU"))
    return Table("runs", "Runs", tuple(columns), rows)


def sources_of(run: Path) -> str:
    """The first digits of the digest of a run's sources; empty for runs of 0.1."""
    return RunFolder(run).read_config().versions.get("sources", "")[:DIGITS]


def _ranges(numbers: Iterable[int]) -> str:
    """0, 1, 2, 5 as `0 to 2, 5`."""
    stretches: list[list[int]] = []
    for number in sorted(numbers):
        if stretches and number == stretches[-1][-1] + 1:
            stretches[-1].append(number)
        else:
            stretches.append([number])
    return ", ".join(f"{s[0]} to {s[-1]}" if len(s) > 1 else f"{s[0]}" for s in stretches)


def command(config: RunConfig) -> str:
    """The command line that gives a run its settings; no preset, whose numbers may change."""
    settings, plain = to_json(replace(typed(config), preset=None)), to_json(_default(config))
    parts = [f"deepcs train {config.world}"]
    for name, value in settings.items():
        if name == "learner":
            defaults = vars(find_agent(config.agent).Settings())
            agent = config.agent_name
            changed = {f"{agent}.{k}": v for k, v in value.items() if v != defaults.get(k)}
        else:
            changed = {name: value} if value != plain.get(name) else {}
        if name == "novelty":
            usual = vars(full_novelty(Novelty(), config.treatment_settings))
            changed = {f"novelty.{k}": v for k, v in value.items() if v not in (None, usual[k])}
        parts += [f"--{key.replace('_', '-')} {each}" for key, each in changed.items()]
    return " ".join(parts)


def typed(config: RunConfig) -> RunConfig:
    """The same training, as one can ask for it: where nothing intrinsic is paid, a weight that only
    clips R, and no numbers that are of no effect.
    """
    if config.treatment_settings.paid:
        return config
    usual = find_agent(config.agent).Settings()
    unused = [name for name in unpaid_numbers(config.learner) if hasattr(usual, name)]
    learner = replace(config.learner, **{name: getattr(usual, name) for name in unused})
    weight = "equal" if weighs(config.weight) else config.weight
    return replace(config, weight=weight, learner=learner)


def _default(config: RunConfig) -> RunConfig:
    """What a command line that names only the world gets, but for shards in Atari: they are as
    many as the machine has cores.
    """
    plain = RunConfig(config.world, device="cpu", shards=1).resolved()
    return replace(plain, shards=0) if plain.is_atari else plain


def read_commits(data: Path) -> dict[str, str]:
    """The commit of each digest of sources."""
    with (data / COMMITS).open() as file:
        return dict(csv.reader(file))


def find_commits(wanted: set[str]) -> dict[str, str]:
    """For each digest the newest commit with these sources."""
    found: dict[str, str] = {}
    for commit in _git("log", "--format=%h", "--", PACKAGE).decode().split():
        digest = digest_at(commit)[:DIGITS]
        if digest in wanted:
            found.setdefault(digest, commit)
            if found.keys() == wanted:
                break
    return found


def digest_at(commit: str) -> str:
    """The digest of the sources at a commit."""
    sources = {}
    with tarfile.open(fileobj=io.BytesIO(_git("archive", commit, PACKAGE))) as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is not None and Path(member.name).suffix in SUFFIXES:
                sources[PurePosixPath(member.name).relative_to(PACKAGE)] = file.read()
    return digest_of_sources(sources)


def _git(*words: str) -> bytes:
    return subprocess.run(["git", "-C", ROOT, *words], check=True, capture_output=True).stdout


def update(data: Path) -> set[str]:
    """Look for the commits of sources that commits.csv lacks; returns those that no commit has."""
    runs = [path.parent for path in data.rglob("config.json")]
    wanted = set(filter(None, map(sources_of, runs)))
    commits = {digest: commit for digest, commit in read_commits(data).items() if digest in wanted}
    if lacking := wanted - commits.keys():
        commits |= find_commits(lacking)
    with (data / COMMITS).open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(sorted(commits.items()))
    return wanted - commits.keys()


def main() -> None:
    lacking = update(ROOT / "docs" / "data")
    print(f"Sources of no commit: {', '.join(sorted(lacking)) or 'none'}.")


if __name__ == "__main__":
    main()
