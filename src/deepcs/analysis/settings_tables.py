"""What the runs were made with: settings of every group, versions of every library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from deepcs.agents.table import PAPERS_AGENT
from deepcs.analysis.groups import Results
from deepcs.analysis.style import look, short, spaced
from deepcs.analysis.tables import Cell, Table, words
from deepcs.runs.config import RunConfig
from deepcs.runs.saved_config import to_json
from deepcs.runs.treatment import treatment

LIFETIMES = {
    "game": "at every new game",
    "life": "at every lost life",
    "never": "never in all of training",
    "fading": "little by little, as visits fade",
}
IN_THE_GROUP = ("world", "treatment", "agent", "seed")  # told by a group's name, or not shared


def flat_settings(config: RunConfig) -> dict[str, str]:
    """Every setting by its full name, such as a2c.gamma."""
    flat: dict[str, str] = {}
    for name, value in to_json(config).items():
        if name == "learner":
            flat |= {f"{config.agent_name}.{key}": _text(each) for key, each in value.items()}
        elif name not in IN_THE_GROUP:
            flat[name] = _text(value)
    return flat


def _text(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1000:
        return short(value)
    return "the world's own" if value is None else str(value)


def settings_tables(results: Results) -> Iterator[Table]:
    """Settings that all groups with this agent share, then those that differ, a row a group."""
    settings = [
        flat_settings(group.runs[0].config if group.runs else group.config)
        for group in results.groups
    ]
    values: dict[str, dict[str, None]] = {}
    for each in settings:
        for name, value in each.items():
            values.setdefault(name, {})[value] = None
    varied = [name for name, found in values.items() if len(found) > 1]
    rows: list[list[Cell]] = [[n, *found] for n, found in values.items() if n not in varied]
    columns = words("setting"), words("value")
    yield Table("settings", "Settings that all runs share", columns, rows)
    if varied:
        yield Table(
            "settings-by-group",
            "Settings that differ",
            tuple(map(words, ("world", "group", *varied))),
            [
                [spaced(group.world), group.label, *(each.get(name) for name in varied)]
                for group, each in zip(results.groups, settings, strict=True)
            ],
        )


def treatments_table(results: Results) -> Table:
    """What each treatment of the study is."""
    found = dict.fromkeys(group.config.treatment for group in results.groups)
    rows: list[list[Cell]] = []
    for name in found:
        chosen = treatment(name)
        lifetime = LIFETIMES.get(chosen.lifetime, str(chosen.lifetime))
        sees, paid = ("yes" if each else "no" for each in (chosen.sees_grid, chosen.paid))
        across = "nothing" if chosen.across == "none" else f"{chosen.across} ({chosen.combine})"
        label = look(name, PAPERS_AGENT).label
        rows.append([label, name, sees, paid, chosen.place, lifetime, across, chosen.source])
    names = ("in figures", "treatment", "sees the grid", "is paid", "where it is, by", "new again")
    more = ("paid across training", "from")
    note = (
        "Intrinsic rewards are counted under every treatment, paid or not. Names are those with "
        "A2C; with another learner its name stands behind."
    )
    columns = tuple(map(words, (*names, *more)))
    return Table("treatments", "What the treatments are", columns, rows, note)


def versions_table(results: Results) -> Table:
    """Versions that the runs were made with; several where they differ."""
    runs = [run for group in results.groups for run in group.runs]
    names = list(dict.fromkeys(name for run in runs for name in run.versions))
    rows: list[list[Cell]] = [
        [name, ", ".join(dict.fromkeys(run.versions.get(name, "unknown") for run in runs))]
        for name in names
    ]
    return Table("versions", "Versions", (words("what"), words("version")), rows)
