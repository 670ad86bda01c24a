"""The largest numbers allowed; larger ones are refused before memory is allocated."""

from __future__ import annotations

import os

ACTORS = 4_096
SHARDS = 1_024
THREADS = 1_024  # of torch, per process
WORKERS = 1_024  # processes
SAMPLES = 2**24  # of one update: actors × steps of each
STEPS = 10**15  # of a run, and of whatever is counted in steps
FRAMES = 10**12  # of one game
SEED = 2**63 - 1  # what every generator takes
TILE = 10**9  # units
GAMES = 1_000_000  # of an evaluation
GAME_NUMBER = 10**9  # of one among a seed's games
STUDY_RUNS = 100_000
RETRIES = 10_000  # of a run whose node was lost
NAME = 200  # characters of a run's name: file systems take 255, and endings are added
SECONDS = 10**7  # of any duration: four months
STATES = 1_000  # that find-position pushes from; a megabyte each
EXPLORATION = 1_000_000  # steps of find-position
LARGEST_WEIGHT = 10**6  # of a part of the intrinsic reward


def check_whole(
    what: str,
    number: object,
    least: int,
    most: int,
    hint: str = "",
    refusal: type[ValueError] = ValueError,
) -> None:
    """Raise a ValueError, in one sentence, for all but a whole number from `least` to `most`.

    what: "seed {}", with a place for the number. hint: what else may be given: ", or none".
    """
    if not isinstance(number, int) or isinstance(number, bool) or number < least:
        allowed = f"a whole number from {least} up{hint}"
    elif number > most:
        allowed = f"{most:,} at most"
    else:
        return
    raise refusal(f"Got {what.format(shown(number))}; give {allowed}.")


def shown(number: object) -> str:
    """A number as it was given, unless that would fill the screen."""
    try:
        text = str(number)
    except ValueError:  # Python does not print whole numbers of more than 4,300 digits
        return "a number of thousands of digits"
    return text if len(text) <= 40 else f"{text[:20]}… ({len(text)} characters)"


def machine_memory() -> int:
    """Bytes of memory that this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
