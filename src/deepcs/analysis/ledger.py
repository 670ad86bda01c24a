"""The ledger: each claim of the paper beside what our runs show, with one of four verdicts.

The rule is in docs/claims.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from deepcs.analysis.claims import CLAIMS, PAPER_STEPS, Claim, Measure
from deepcs.analysis.comparable import comparable, same_units
from deepcs.analysis.groups import Group, Results, RunResult
from deepcs.analysis.intervals import Interval, median_interval
from deepcs.analysis.rank_tests import MOST_EXACT, rank_test, smallest_p
from deepcs.analysis.room_figures import numbers, usual_way, ways_out
from deepcs.analysis.scores import final_score, reached
from deepcs.analysis.statistics import holm_where_possible
from deepcs.analysis.style import agent_name, short
from deepcs.analysis.tables import Cell, Column, Table, number_text, probability_text, words

ALPHA = 0.05
ENOUGH = 10  # runs a side, without which "no difference" says nothing
ALIKE = (0.3, 0.7)  # effects that are no difference to speak of; 0.5 is none at all
COUNTED = "left room 1", "went west"  # measures that a run has or has not
NOTHING = 10.0  # points a game below which a treatment earns nothing: a key in ten games

Verdict = Literal["seen", "not seen", "opposite", "too early to say"]
SEEN: Verdict = "seen"
NOT_SEEN: Verdict = "not seen"
OPPOSITE: Verdict = "opposite"
TOO_EARLY: Verdict = "too early to say"


@dataclass(frozen=True, eq=False)
class Entry:
    """A claim, and what the runs of one learner and budget say to it."""

    claim: Claim
    ours: Group | None
    theirs: Group | None
    x: np.ndarray
    """the measure of each finished run of ours, (n,)"""
    y: np.ndarray
    """of theirs, (m,)"""
    effect: float = float("nan")
    """probability that a run of ours is higher than one of theirs, ties half"""
    p: float = float("nan")
    corrected: float = float("nan")
    """p after Holm, over those entries of the same question that can reach 0.05"""
    least: float = float("nan")
    """the least that `corrected` can be with this number of runs"""
    verdict: Verdict = TOO_EARLY
    reason: str = ""
    """why it is too early"""

    @property
    def learner(self) -> str:
        """The runs' own; empty where there are none."""
        groups = [group for group in (self.ours, self.theirs) if group is not None]
        names = dict.fromkeys(agent_name(group.config.agent) for group in groups)
        return " and ".join(names)


def ledger(results: Results) -> list[Entry]:
    """Every claim, once for each learner that its runs were made with."""
    entries = [_tested(claim, *pair) for claim in CLAIMS for pair in _pairs(claim, results)]
    return [_judged(entry) for entry in _corrected(entries)]


def _pairs(claim: Claim, results: Results) -> list[tuple[Group | None, Group | None]]:
    """(ours, theirs) of the same settings but for treatment and learner; (None, None): no runs.

    Of several budgets with one learner, that with most finished runs, then that with most steps.
    """
    best: dict[tuple[str, str], tuple[Group, Group | None]] = {}
    groups = [g for g in results.groups if g.world == claim.world and g.finished]
    for ours in groups:
        if ours.config.treatment != claim.ours:
            continue
        rivals = [g for g in groups if g.config.treatment == claim.theirs and g is not ours]
        for theirs in rivals if claim.theirs else [None]:
            key = ours.config.agent, (theirs or ours).config.agent
            fits = key[0] == key[1] if claim.agents is None else key == claim.agents
            if not fits or (theirs is not None and not _testable(claim, ours, theirs)):
                continue
            if key not in best or _weight(ours, theirs) > _weight(*best[key]):
                best[key] = ours, theirs
    return [*best.values()] or [(None, None)]


def _testable(claim: Claim, ours: Group, theirs: Group) -> bool:
    """Whether these groups can bear on the claim."""
    alike = claim.measure != "intrinsic" or same_units(ours, theirs)
    return alike and comparable(ours, theirs)


def _weight(ours: Group, theirs: Group | None) -> tuple[int, int]:
    runs = min(len(group.finished) for group in (ours, theirs) if group is not None)
    return runs, ours.config.steps


def measured(group: Group | None, measure: Measure) -> np.ndarray:
    """The measure of each finished run that has it, (n,)."""
    if group is None:
        return np.zeros(0)
    values = np.array([_of_run(run, measure) for run in group.finished], np.float64)
    return values[~np.isnan(values)]


def _of_run(run: RunResult, measure: Measure) -> float:
    if measure in ("score", "intrinsic"):
        return final_score(run.steps, run.score if measure == "score" else run.intrinsic)
    if measure == "went west":
        return float(usual_way(ways_out(run.room_orders)) == "west")
    if measure == "most rooms":
        return float(max((len(numbers(order)) for order in run.room_orders), default=0))
    left = bool(reached([run.score])[0])
    if measure == "left room 1":
        return float(left)
    return final_score(run.steps, run.score) if left else float("nan")


def _tested(claim: Claim, ours: Group | None, theirs: Group | None) -> Entry:
    x, y = measured(ours, claim.measure), measured(theirs, claim.measure)
    entry = Entry(claim, ours, theirs, x, y)
    if claim.theirs is None or not len(x) or not len(y) or not _long_enough(entry):
        return entry
    u, p = rank_test(x, y)
    return dataclasses.replace(entry, effect=u / (len(x) * len(y)), p=p)


def _long_enough(entry: Entry) -> bool:
    """Whether the runs are long enough to bear on the claim."""
    steps = 0 if entry.ours is None else entry.ours.config.steps
    return not entry.claim.at_the_end or steps >= PAPER_STEPS


def _corrected(entries: Sequence[Entry]) -> Iterator[Entry]:
    """p after Holm over each question's tests of one pair of learners.

    Tests of so few runs that they can never be found count for nothing in it (Tarone 1990).
    """
    questions = [(entry.claim.question, entry.learner) for entry in entries]
    p, least = np.array([entry.p for entry in entries]), np.array([*map(_least, entries)])
    for entry, question in zip(entries, questions, strict=True):
        family = np.array([each == question for each in questions])
        mine = np.array([each is entry for each in entries])[family]
        found = (holm_where_possible(each[family], least[family], ALPHA) for each in (p, least))
        corrected, lowest = (float(each[mine][0]) for each in found)
        yield dataclasses.replace(entry, corrected=corrected, least=lowest)


def _least(entry: Entry) -> float:
    """The least p, uncorrected, that so many runs allow; NaN: there is no test."""
    if np.isnan(entry.p):
        return float("nan")
    return smallest_p(len(entry.x), len(entry.y))


def _judged(entry: Entry) -> Entry:
    if entry.claim.expected == "reaches":
        verdict, reason = _judge_reached(entry)
    else:
        verdict, reason = _judge(entry)
    return dataclasses.replace(entry, verdict=verdict, reason=reason)


def _judge_reached(entry: Entry) -> tuple[Verdict, str]:
    if not len(entry.x):
        return TOO_EARLY, "no finished runs"
    assert entry.ours is not None
    if entry.x.max() >= entry.claim.value:
        return SEEN, ""
    if entry.ours.config.steps < PAPER_STEPS or len(entry.x) < (entry.claim.paper_runs or 0):
        return TOO_EARLY, "less than the paper's runs or steps"
    return NOT_SEEN, ""


def _judge(entry: Entry) -> tuple[Verdict, str]:
    """The rule of docs/claims.md."""
    x, y, expected = entry.x, entry.y, entry.claim.expected
    if not len(x) or not len(y):
        return TOO_EARLY, "no finished runs"
    if not _long_enough(entry):
        return TOO_EARLY, "it is about the end of the paper's steps"
    if not np.any(x) and not np.any(y):
        return TOO_EARLY, "neither ever scored" if entry.claim.measure == "score" else "all are 0"
    found = entry.corrected < ALPHA
    if expected == "alike":
        if found:
            return OPPOSITE, ""
        if min(len(x), len(y)) < ENOUGH:
            return TOO_EARLY, f"fewer than {ENOUGH} runs a side"
        near = ALIKE[0] <= entry.effect <= ALIKE[1]
        return (SEEN if near and entry.p >= ALPHA else NOT_SEEN), ""
    if expected == "nothing" and max(np.median(x), np.median(y)) < NOTHING:
        return TOO_EARLY, "DeepCS earns nothing yet either"
    if not found and entry.least >= ALPHA:
        return TOO_EARLY, "too few runs for p < 0.05"
    if not found:
        return NOT_SEEN, ""
    if expected == "differs":
        return SEEN, ""
    as_said = (entry.effect > 0.5) == (expected == "higher")
    if not as_said:
        return OPPOSITE, ""
    small = expected != "nothing" or np.median(x) < NOTHING
    return (SEEN if small else NOT_SEEN), ""


def ledger_table(results: Results, *, whole: bool = False) -> Iterator[Table]:
    """The ledger as a table; none where the runs bear on no claim.

    whole: with a row for claims without finished runs too; else a sentence names them.
    """
    everything = ledger(results)
    told = [entry for entry in everything if len(entry.x)]
    if not told and not whole:
        return
    entries = everything if whole else told
    missing = [entry.claim.number for entry in everything if entry not in entries]
    tests = sum(_least(entry) < ALPHA for entry in entries)
    columns = (
        *map(words, ("no.", "verdict", "claim", "learner", "measure", "ours", "theirs")),
        *(Column("effect"), Column("p, Holm", probability_text)),
        *(Column("least p", probability_text), words("n"), Column("our steps", short)),
        *(words("its n"), Column("its steps", short), words("in the paper")),
    )
    note = (
        "n: our runs of either side; its n, its steps: the paper's. ours, theirs: medians over "
        "runs and, in brackets, the interval that holds the true median; its coverage depends on "
        "n alone: 75 % for three runs, 94 % for five, 95 % or more from six on. effect: "
        "probability that a run of ours is higher than one of theirs, ties half. p, Holm: rank "
        f"tests, exact up to {MOST_EXACT} runs of both sides, corrected over the claims of one "
        "number and learner that have runs enough to reach 0.05. least p: what so many runs allow "
        "at best, corrected. A2C in a claim: the learner alone, without curiosity; learner: which "
        "one our runs have.\n"
        f"Verdicts by the rule in docs/claims.md. {tests} of the tests have runs enough for p < "
        f"0.05; were none of the claims true, at most about {tests * ALPHA:.1f} of them would have "
        "it before the correction."
    )
    if missing:
        note += f"\nToo early to say, without finished runs: {', '.join(missing)}."
    yield Table("claims", "The paper's claims and our runs", columns, _rows(entries), note)


def _rows(entries: Sequence[Entry]) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for entry in entries:
        claim = entry.claim
        verdict = f"{entry.verdict} ({entry.reason})" if entry.reason else entry.verdict
        ran = claim.paper_runs is not None
        rows.append(
            [
                *(claim.number, verdict, claim.sentence, entry.learner or None, claim.measure),
                *(_middle(entry.x, claim), _middle(entry.y, claim)),
                *(entry.effect, entry.corrected, entry.least, _sizes(entry)),
                None if entry.ours is None else entry.ours.config.steps,
                *((str(claim.paper_runs), PAPER_STEPS) if ran else (None, None)),
                claim.where,
            ]
        )
    return rows


def _sizes(entry: Entry) -> str:
    if entry.claim.theirs is None:
        return str(len(entry.x))
    return f"{len(entry.x)}, {len(entry.y)}"


def _middle(values: np.ndarray, claim: Claim) -> str | None:
    """A median with its interval; where one run is enough, the best; or how many runs did it."""
    if not len(values):
        return None
    if claim.measure in COUNTED:
        return f"{int(values.sum())} of {len(values)} runs"
    if claim.theirs is None:
        return f"best {number_text(float(values.max()))}"
    around: Interval = median_interval(values)
    low, high = number_text(around.low), number_text(around.high)
    return f"{number_text(float(np.median(values)))} [{low}, {high}]"
