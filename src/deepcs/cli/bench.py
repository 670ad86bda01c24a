"""`deepcs bench`: steps per second of training on this machine."""

from __future__ import annotations

from deepcs.runs.config import PAPER_STEPS, RunConfig
from deepcs.runs.timed import TimedTraining
from deepcs.system.limits import SECONDS
from deepcs.system.process import cores


def bench(world: str, seconds: float) -> None:
    """Print the speed of one run, on as many cores as it uses by default."""
    if not 0 < seconds <= SECONDS:
        raise ValueError(
            f"Got {seconds} seconds; give a time to measure for, such as 20, and {SECONDS:,} at "
            "most."
        )
    config = RunConfig(world).resolved()
    training = TimedTraining(config)
    training.rate(seconds / 10)
    speed = training.rate(seconds)
    training.close()
    days = PAPER_STEPS / speed / 86_400
    used = min(config.shards, cores())
    print(
        f"{world}: {speed:,.0f} steps/s on {used} of {cores()} cores; "
        f"160M steps take {days:.2f} days."
    )
