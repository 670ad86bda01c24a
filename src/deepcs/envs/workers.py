"""The worker processes of a pool, as the parent has them: started, asked together, let go.

What they do is in `seats.py`; how they draw each other's frames, in `helping.py`.
"""

from __future__ import annotations

import itertools
import mmap
import os
import select
from collections.abc import Sequence
from typing import Any

from deepcs.envs.helping import HelpingArrays, Tickets, build_seats
from deepcs.envs.seats import Ended, EnvFactory, PoolArrays, Spaces
from deepcs.system.process import Process, cores, shared_memory
from deepcs.system.snapshot import SnapshotError


class Workers:
    """Processes that share the actors of a pool, and the memory in which these are seen."""

    def __init__(
        self,
        factories: Sequence[EnvFactory],
        spaces: Spaces,
        count: int,
        *,
        helping: bool,
        first_actor: int,
    ) -> None:
        """Start them, for as many actors as factories, numbered from `first_actor`.

        helping: they draw each other's frames.
        """
        self._spaces = spaces
        self.processes: list[Process] = []
        self._any_answer = select.poll()
        self._shares: list[slice] = []  # the seats of each worker
        self._steps = 0  # taken so far
        total = len(factories)
        layout = HelpingArrays if helping else PoolArrays
        memory_fd = shared_memory(layout(total, spaces, None).size)
        tickets: Tickets | None = None
        try:
            if helping:
                tickets = Tickets(count)
            pipes = tickets.descriptors if tickets is not None else ()
            self.arrays = layout(total, spaces, mmap.mmap(memory_fd, 0))
            edges = [round(total * k / count) for k in range(count + 1)]
            for k, (first, end) in enumerate(itertools.pairwise(edges)):
                actors = range(first_actor + first, first_actor + end)
                name = f"Worker {k} (actors {actors[0]} to {actors[-1]})"
                order = list(factories[first:end]), first, total, spaces, k, tickets
                spins = count < cores()
                self.processes.append(
                    Process(name, memory_fd, spins, build_seats, *order, keep_open=pipes)
                )
                self._any_answer.register(self.processes[-1].line, select.POLLIN)
                self._shares.append(slice(first, end))
            for process in self.processes:
                process.answer()
        except BaseException:
            self.close()
            raise
        finally:
            os.close(memory_fd)
            if tickets is not None:
                tickets.close()

    def deal(self, items: Sequence[Any]) -> list[Sequence[Any]]:
        """The items of each worker's seats."""
        return [items[share] for share in self._shares]

    def do(self, verb: str, args: Sequence[tuple[Any, ...]] | None) -> list[Any]:
        """Do a verb of Seats in all at once, with each one's args.

        The answers; where a snapshot was refused, the SnapshotError is in its place.
        """
        for k, process in enumerate(self.processes):
            process.ask(verb, *(args[k] if args else ()))
        answers: list[Any] = []
        for process in self.processes:
            try:
                answers.append(process.answer())
            except SnapshotError as error:
                answers.append(error)
        return answers

    def begin_step(self) -> None:
        """Let all step their actors by the actions in the arrays."""
        for process in self.processes:
            process.ask("step")

    def end_step(self) -> list[Ended]:
        """Wait for the step, and for all its frames."""
        # Once one worker is done there is a core to spare, on which to spin.
        if len(self.processes) >= cores():
            self._any_answer.poll()
        ended = [end for process in self.processes for end in process.answer(True)]
        self._wait_for_frames()
        return ended

    def _wait_for_frames(self) -> None:
        """A worker that has answered may still be drawing a frame of another."""
        arrays = self.arrays
        self._steps += 1
        while isinstance(arrays, HelpingArrays) and (arrays.drawn != self._steps).any():
            for process in self.processes:
                if process.line.has_news():  # nothing was asked, so it is gone
                    process.answer()
            os.sched_yield()

    def close(self) -> None:
        """Let all go, and the memory shared with them."""
        for process in self.processes:
            process.close()
        self.arrays = PoolArrays(0, self._spaces, None)
