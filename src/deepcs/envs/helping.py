"""Work sharing between workers: some frames are drawn by whichever is free first.

The speed of cores varies, and a step of the pool takes as long as its slowest worker. Emulators
cannot move between processes, but their screens can be in shared memory. So a worker defers most
frames until all its actors are emulated, and puts a ticket for each into a pipe: whichever process
reads the ticket, the worker itself or one that has nothing left to do, draws the frame.
"""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from deepcs.envs.screen import PAIR, push_frame
from deepcs.envs.seats import Ended, Env, EnvFactory, PoolArrays, Seats, Spaces

EAGER = 4  # one in this many frames is drawn immediately, while its screens are in the cache
PATIENCE = 0.05  # seconds to poll for frames of others before going to sleep
TICKET_BYTES = 4


class HelpingArrays(PoolArrays):
    """Also holds the screens of frames still to be drawn, and each worker's progress."""

    def __init__(self, seats: int, spaces: Spaces, memory: mmap.mmap | None) -> None:
        super().__init__(seats, spaces, memory)
        self.screens = self._array((seats, 2, *PAIR), np.uint8)
        """Of each seat the newest pair of screens, and the pair that its newest frame shows."""
        self.drawn = self._array((seats,), np.int64)
        """Steps of each seat that have their frame."""
        self.done = self._array((seats,), np.int64)
        """Steps that each worker, by its number, has finished; there are no more than seats."""


class Tickets:
    """A pipe of tickets for each worker; each ticket goes to exactly one reader."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pipes: list[tuple[int, int]] = []
        try:
            for _ in range(workers):
                self._pipes.append(os.pipe())
                os.set_blocking(self._pipes[-1][0], False)
        except OSError:
            self.close()
            raise

    @property
    def descriptors(self) -> list[int]:
        return [end for pipe in self._pipes for end in pipe]

    def give(self, worker: int, ticket: int) -> None:
        os.write(self._pipes[worker][1], ticket.to_bytes(TICKET_BYTES, "little"))

    def take(self, worker: int) -> int | None:
        """The worker's next ticket; None: the pipe is empty."""
        try:
            return int.from_bytes(os.read(self._pipes[worker][0], TICKET_BYTES), "little")
        except BlockingIOError:
            return None

    def close(self) -> None:
        for end in self.descriptors:
            os.close(end)


class HelpingSeats(Seats):
    """A worker's seats, some frames of which others may draw."""

    def __init__(
        self,
        factories: Sequence[EnvFactory],
        first: int,
        arrays: HelpingArrays,
        worker: int,
        tickets: Tickets,
    ) -> None:
        """`worker`: the number of this one."""
        super().__init__(factories, first, arrays)
        self._arrays, self._worker, self._tickets = arrays, worker, tickets
        last = self.seats[len(self.seats) // EAGER :]
        self._leaving = {seat for seat in last if leaves_frames(seat.env)}
        for seat in self._leaving:
            cast(Any, seat.env).leave_frames(arrays.screens[seat.index])
        self._steps = 0

    def step(self) -> list[Ended]:
        self._steps += 1
        arrays, worker, tickets = self._arrays, self._worker, self._tickets
        ended = []
        for seat in self.seats:
            end = seat.step()
            if end is not None:
                ended.append(end)
            if end is None and seat in self._leaving:
                tickets.give(worker, seat.index)
            else:
                arrays.drawn[seat.index] += 1
        while (ticket := tickets.take(worker)) is not None:
            self._draw(ticket)
        arrays.done[worker] = self._steps
        return ended

    def _draw(self, seat: int) -> None:
        arrays = self._arrays
        push_frame(arrays.observations[""][seat], *arrays.screens[seat])
        # Seen by the parent after the frame, as x86 keeps the order of stores. Not this worker's
        # own count, because the other may be a step ahead by now.
        arrays.drawn[seat] += 1

    def idle(self, called: Callable[[], bool]) -> None:
        """Draw frames of the workers that are not done, until called."""
        done, late = self._arrays.done, [*range(self._tickets.workers)]
        until = time.monotonic() + PATIENCE
        while (late := [k for k in late if done[k] < self._steps]) and not called():
            tickets = (self._tickets.take(worker) for worker in late)
            ticket = next((ticket for ticket in tickets if ticket is not None), None)
            if ticket is not None:
                self._draw(ticket)
                until = time.monotonic() + PATIENCE
            elif time.monotonic() > until:
                return
            os.sched_yield()


def leaves_frames(env: Env) -> bool:
    """Whether others can draw its frames: it does not use them itself within a step."""
    return hasattr(env, "leave_frames") and not getattr(env, "needs_frame", False)


def build_seats(
    memory: mmap.mmap,
    factories: Sequence[EnvFactory],
    first: int,
    total: int,
    spaces: Spaces,
    worker: int,
    tickets: Tickets | None,
) -> Seats:
    """Seats in a worker process, writing into the pool's shared memory."""
    if tickets is None:
        return Seats(factories, first, PoolArrays(total, spaces, memory))
    arrays = HelpingArrays(total, spaces, memory)
    return HelpingSeats(factories, first, arrays, worker, tickets)
