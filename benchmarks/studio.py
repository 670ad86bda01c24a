"""The studio in a real browser: frames shown, memory beside a slow page, what it costs a training.

frames     how many frames a page shows of one agent, and of each of four
memory     the server's and a player's memory while a page draws hardly any of the frames
training   the speed of a training with its curves open in a page, against without, in turn
cost       processor time of server and browser while the curves of a training run are open
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from playwright.sync_api import Page, sync_playwright
from websockets.sync.client import connect

from deepcs.runs.config import RunConfig
from deepcs.runs.load import read_curve
from deepcs.runs.train import train

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
DEEPCS = (sys.executable, "-m", "deepcs")


@contextmanager
def studio(folder: Path) -> Iterator[tuple[str, psutil.Process]]:
    """A studio of a folder, as its command starts it: its address and its process."""
    command = [*DEEPCS, "studio", str(folder), "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None
        yield found[0], psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


@contextmanager
def browser_page() -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser.new_page(viewport={"width": 1400, "height": 900})
        browser.close()


def measure_frames(seconds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        train(RunConfig("MontezumaRevenge", steps=2_000), Path(folder) / "run")
        with studio(Path(folder)) as (address, _), browser_page() as page:
            for players in (1, 2, 4):
                page.goto("about:blank")
                page.goto(f"{address}#/watch?{'&'.join(['p=run:run'] * players)}")
                _wait_for_step(page, 5)
                shown = [_frames(page) for _ in range(seconds)]
                print(
                    f"{players} at normal speed: {statistics.median(shown)} frames/s of each, "
                    f"{min(shown)} in the slowest of {seconds} seconds",
                    flush=True,
                )


def _wait_for_step(page: Page, least: int) -> None:
    """Playwright's own way of waiting needs eval, which the page's policy forbids."""
    while int(page.evaluate("document.querySelector('.n-step')?.textContent || 0")) < least:
        page.wait_for_timeout(50)


def _frames(page: Page) -> int:
    page.wait_for_timeout(1000)
    return int(page.get_attribute(".rate", "data-frames") or 0)


def measure_memory(minutes: float) -> None:
    """A page that is far too slow, at the highest speed: whatever queued would show."""
    with tempfile.TemporaryDirectory() as folder, studio(Path(folder)) as (address, server):
        port = address.rstrip("/").rpartition(":")[2]
        opening = {"do": "open", "players": [{"kind": "you", "name": "Seaquest"}]}
        with connect(f"ws://127.0.0.1:{port}/play", origin=address.rstrip("/")) as socket:
            _say(socket, **opening, game=0, greedy=False)
            _say(socket, do="speed", times=2)
            _say(socket, do="play")
            _watch_slowly(socket, server, minutes)


def _say(socket: Any, **message: Any) -> None:
    socket.send(json.dumps(message))


def _watch_slowly(socket: Any, server: psutil.Process, minutes: float) -> None:
    until, frames = time.monotonic() + 60 * minutes, 0
    while time.monotonic() < until:
        data = socket.recv()
        if isinstance(data, str):
            if json.loads(data).get("over"):
                _say(socket, do="again", game=0, greedy=False)
                _say(socket, do="play")
            continue
        frames += 1
        time.sleep(1.5)  # a page that takes 1.5 s to draw a frame
        _say(socket, do="seen", frame=frames)
        if frames % 20 == 1:
            player = sum(child.memory_info().rss for child in server.children(recursive=True))
            print(
                f"{60 * minutes - (until - time.monotonic()):5.0f} s, {frames} frames: server "
                f"{server.memory_info().rss / 2**20:.1f} MB, player {player / 2**20:.1f} MB",
                flush=True,
            )


def measure_training(rounds: int, steps: int) -> None:
    ratios = []
    for k in range(rounds):
        speeds = {}
        for watched in (True, False) if k % 2 else (False, True):
            with tempfile.TemporaryDirectory() as folder:
                speeds[watched] = _speed(Path(folder), watched, steps)
        ratios.append(speeds[True] / speeds[False])
        print(f"{speeds[False]:,.0f} steps/s alone, {speeds[True]:,.0f} watched", flush=True)
    quartiles = statistics.quantiles(ratios, n=4) if rounds > 1 else ratios * 3
    low, middle, high = quartiles
    print(f"watched / alone: {middle:.3f} (quartiles {low:.3f} to {high:.3f}, {rounds} rounds)")


def _speed(folder: Path, watched: bool, steps: int) -> float:
    """Steps per second of a training of Freeway, logging as often as usual."""
    run = folder / "run"
    command = [*DEEPCS, "train", "Freeway", "--steps", str(steps), "--out", str(run)]

    def trained() -> float:
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        curve = read_curve(run)
        return float(curve["step"][-1] / curve["seconds"][-1])

    if not watched:
        return trained()
    with studio(folder) as (address, _), browser_page() as page:
        page.goto(f"{address}#/run?name=run")
        return trained()


def measure_cost(seconds: int) -> None:
    """Processor time hardly depends on what else the machine does, unlike a training's speed."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*DEEPCS, "train", "KeyHallway", "--steps", "400M", "--shards", "1"]
        command += ["--workers", "1", "--out", f"{folder}/run"]
        training = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            with studio(Path(folder)) as (address, server), browser_page() as page:
                page.goto(f"{address}#/run?name=run")
                page.wait_for_selector(".chart path.line", timeout=600_000)
                before = _processor_seconds(server)
                began = time.monotonic()
                page.wait_for_timeout(1000 * seconds)
                passed = time.monotonic() - began
                after = _processor_seconds(server)
        finally:
            training.terminate()
            training.wait()
    for name in ("server", "browser"):
        print(f"{name}: {(after[name] - before[name]) / passed:.2%} of a core, {passed:.0f} s")


def _processor_seconds(server: psutil.Process) -> dict[str, float]:
    """Used so far by the server, and by the browser, which are not each other's children."""
    own = psutil.Process()
    browser = [child for child in own.children(recursive=True) if "chrom" in child.name()]
    used = {"server": [server, *server.children(recursive=True)], "browser": browser}
    return {name: sum(sum(p.cpu_times()[:2]) for p in found) for name, found in used.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("frames", "memory", "training", "cost"))
    parser.add_argument("--seconds", type=int, default=15, help="of each count of frames")
    parser.add_argument("--minutes", type=float, default=10, help="of the look at memory")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--steps", type=int, default=40_000, help="of each training")
    given = parser.parse_args()
    if given.what == "frames":
        measure_frames(given.seconds)
    elif given.what == "memory":
        measure_memory(given.minutes)
    elif given.what == "cost":
        measure_cost(given.seconds)
    else:
        measure_training(given.rounds, given.steps)


if __name__ == "__main__":
    main()
