"""Film the studio's page for the README: players side by side, a step at a time.

python tools/film_studio.py [PLAYER ...] [--folder FOLDER] [--out docs/images/studio.webp]

A player is as in the page's address: agent:NAME, or run:NAME@STEP of a run below the folder.

Needs deepcs[browser] and a chromium (`make test-browser` brings the former). The players are
stepped, not played, so the film is the same on a slow machine.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Page, sync_playwright

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu"]
SIZE = {"width": 1040, "height": 640}
PATIENCE = 600_000  # milliseconds
LAST = 2_000  # milliseconds that the last picture stays


def film(
    folder: Path, players: list[str], game: int, pictures: int, stride: int
) -> list[Image.Image]:
    """Pictures of the page, `stride` steps apart."""
    command = [sys.executable, "-m", "deepcs", "studio", str(folder), "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        found = re.search(r"http://\S+", server.stdout.readline())
        assert found is not None
        query = urlencode([*(("p", player) for player in players), ("game", game)])
        address = f"{found[0]}#/watch?{query}"
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            page = browser.new_page(viewport=SIZE, color_scheme="dark")
            page.set_default_timeout(PATIENCE)
            shots = _shoot(page, address, pictures, stride)
            browser.close()
            return shots
    finally:
        server.terminate()
        server.wait()


def _shoot(page: Page, address: str, pictures: int, stride: int) -> list[Image.Image]:
    page.goto(address)
    page.get_by_role("button", name="Pause", exact=True).click()
    page.get_by_role("button", name="Play", exact=True).wait_for()
    page.get_by_role("button", name="Again", exact=True).click()
    _wait_for_step(page, 0)
    shots = []
    for k in range(pictures):
        for step in range(k * stride + 1, (k + 1) * stride + 1):
            page.keyboard.press(".")
            _wait_for_step(page, step)
        shots.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
    return shots


def _wait_for_step(page: Page, step: int) -> None:
    """Playwright's own way of waiting needs eval, which the page's policy forbids."""
    shown = "document.querySelector('.n-step')?.textContent.replace(',', '')"
    while page.evaluate(shown) != str(step):
        page.wait_for_timeout(15)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("players", nargs="*", default=["agent:Freeway", "agent:Freeway-plain"])
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--out", type=Path, default=Path("docs/images/studio.webp"))
    parser.add_argument("--game", type=int, default=0)
    parser.add_argument("--pictures", type=int, default=60)
    parser.add_argument("--stride", type=int, default=3, help="steps between pictures")
    parser.add_argument("--milliseconds", type=int, default=120, help="that each picture stays")
    given = parser.parse_args()
    shots = film(given.folder, given.players, given.game, given.pictures, given.stride)
    durations = [*[given.milliseconds] * (len(shots) - 1), LAST]
    first, *rest = shots
    first.save(
        given.out,
        save_all=True,
        append_images=rest,
        duration=durations,
        loop=0,
        quality=70,
        method=4,
    )
    print(f"{given.out}: {len(shots)} pictures, {given.out.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
