"""What the tests of the page in a real browser share."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
MARKUP = "<img src=x onerror=document.title='pwned'>"
ONE = "#/watch?p=run:hall"
TWO = "#/watch?p=run:hall&p=run:plain"
FOUR = "#/watch?p=run:hall@4000&p=run:hall&p=run:plain@4000&p=run:plain"
PATIENCE = 60_000  # milliseconds


def step_of(page: Page, player: int = 0) -> int:
    return int(page.locator(".n-step").nth(player).inner_text().replace(",", "") or 0)


def until(page: Page, expression: str) -> None:
    """Wait till it is true; Playwright's own way needs eval, which the policy forbids."""
    end = time.monotonic() + PATIENCE / 1000
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(20)


def wait_for_step(page: Page, least: int) -> None:
    shown = "document.querySelector('.n-step')?.textContent"
    until(page, f"{shown} && Number({shown}.replace(',', '')) >= {least}")


def button(page: Page, name: str) -> Any:
    return page.get_by_role("button", name=name, exact=True)


def players() -> set[psutil.Process]:
    """The players' processes of every server that this process runs."""
    found = set()
    for child in psutil.Process().children():
        with suppress(psutil.Error):  # it has ended, and nobody has waited for it yet
            if "deepcs.system.process" in child.cmdline():
                found.add(child)
    return found


def kill_players() -> None:
    for player in players():
        player.kill()
