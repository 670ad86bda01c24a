"""The ledger in a few lines: which questions came out how."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from deepcs.analysis.claims import TOPICS
from deepcs.analysis.ledger import NOT_SEEN, OPPOSITE, SEEN, Entry


def summarise(entries: Sequence[Entry]) -> str:
    """How many rows have each verdict, and what those are about that have one."""
    counts = Counter(entry.verdict for entry in entries)
    text = f"At a laptop's budget, of {len(entries)} rows (a claim and a learner each): "
    told = ", ".join(f"{number} *{verdict}*" for verdict, number in counts.most_common())
    text += f"{told}."
    for verdict in (SEEN, OPPOSITE, NOT_SEEN):
        if counts[verdict]:
            own = [entry for entry in entries if entry.verdict == verdict]
            text += f" {verdict.capitalize()}: {', '.join(_topics(own, entries))}."
    return text


def _topics(own: Sequence[Entry], entries: Sequence[Entry]) -> Iterator[str]:
    """What these rows are about; their numbers where others of the question came out otherwise."""
    for question in dict.fromkeys(entry.claim.question for entry in own):
        mine = [entry for entry in own if entry.claim.question == question]
        every = sum(entry.claim.question == question for entry in entries)
        if len(mine) == every:
            yield TOPICS[question]
        else:
            rows = ", ".join(f"{entry.claim.number} {entry.learner}" for entry in mine)
            yield f"{TOPICS[question]} ({rows})"
