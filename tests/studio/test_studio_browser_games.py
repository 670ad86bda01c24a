"""The page in a real browser: games that are left, that fail, or whose players are gone."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browsing import ONE, PATIENCE, button, kill_players, players, step_of, until, wait_for_step
from serving import Address, serving

from deepcs.cli.studio import Watch
from deepcs.runs.folder import RunFolder

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

FREEWAY = "#/watch?p=you:Freeway"  # needs no torch
HIDE = """hidden => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_a_game_that_is_left_and_chosen_again_begins_again(studio: Address, page: Page) -> None:
    before = players()
    page.goto(f"{studio.http}/#/play?world=KeyHallway&beside=nobody")
    page.wait_for_selector("text=Press an arrow key")
    (ends,) = players() - before
    page.keyboard.press("ArrowRight")
    wait_for_step(page, 1)
    page.get_by_role("link", name="Other games").click()
    page.wait_for_selector(".worlds")
    ends.wait(30)
    page.go_back()
    page.wait_for_selector("text=Press an arrow key")
    assert step_of(page) == 0


def test_a_game_is_changed_in_the_address(studio: Address, page: Page) -> None:
    page.goto(f"{studio.http}/{FREEWAY}&game=4")
    wait_for_step(page, 2)
    page.evaluate("location.hash = location.hash.replace('game=4', 'game=5')")
    page.wait_for_selector("text=The players are on their way")
    wait_for_step(page, 2)
    assert page.get_by_label("game", exact=True).input_value() == "5"
    assert "game=5" in page.url


def test_a_reload_with_another_game_in_the_address_opens_that_one(
    studio: Address, page: Page
) -> None:
    page.goto(f"{studio.http}/{FREEWAY}&game=4")
    wait_for_step(page, 2)
    page.evaluate("history.replaceState(null, '', location.hash.replace('game=4', 'game=5'))")
    page.reload()
    wait_for_step(page, 1)
    assert page.get_by_label("game", exact=True).input_value() == "5"


def test_a_player_that_was_killed_is_told_and_begins_again(root: Path, page: Page) -> None:
    with serving(root) as studio:
        page.goto(f"{studio.http}/{FREEWAY}&game=3")
        wait_for_step(page, 3)
        kill_players()
        page.wait_for_selector("text=was killed by SIGKILL; begin again.")
        page.wait_for_timeout(500)
        assert "SIGKILL" in page.locator(".message").inner_text()  # and nothing has replaced it
        button(page, "Begin again").click()
        page.locator(".message").wait_for(state="hidden")
        wait_for_step(page, 3)
        assert page.get_by_label("game", exact=True).input_value() == "3"


def test_a_picture_that_cannot_be_shown_is_told_and_others_follow(
    studio: Address, browser: Any
) -> None:
    page = browser.new_page()
    page.add_init_script(
        """let shown = 0;
        const decode = window.createImageBitmap;
        window.createImageBitmap = (blob) =>
            (shown += 1) === 5 ? Promise.reject(new Error("this one is broken")) : decode(blob);"""
    )
    page.goto(f"{studio.http}/{FREEWAY}")
    page.wait_for_selector("text=could not show something: this one is broken", timeout=PATIENCE)
    at = step_of(page)
    wait_for_step(page, at + 5)
    page.close()


def test_a_pruned_checkpoint_is_refused_and_the_slider_has_those_that_are_left(
    root: Path, tmp_path: Path, page: Page
) -> None:
    run = tmp_path / "runs" / "hall"
    shutil.copytree(root / "hall", run)
    with serving(run.parent) as studio:
        page.goto(f"{studio.http}/{ONE}")
        wait_for_step(page, 2)
        slider, told = page.locator(".checkpoint input"), page.locator(".checkpoint output")
        assert told.inner_text() == "newest"
        most = int(slider.get_attribute("max") or 0)
        for pruned in RunFolder(run).checkpoints.glob("*4000*"):
            shutil.rmtree(pruned) if pruned.is_dir() else pruned.unlink()
        slider.focus()
        page.keyboard.press("Home")
        page.wait_for_selector("text=no checkpoint of step 4000")
        until(page, f"Number(document.querySelector('.checkpoint input').max) < {most}")
        assert told.inner_text() == "newest"
        assert "%40" not in page.url
        at = step_of(page)
        wait_for_step(page, at + 2)  # who played goes on


def test_a_run_whose_name_has_an_at_is_watched(root: Path, tmp_path: Path, page: Page) -> None:
    run = tmp_path / "runs" / "hall@100"
    shutil.copytree(root / "hall", run)
    with serving(run.parent) as studio:
        page.goto(f"{studio.http}/#/runs")
        page.get_by_role("link", name="Watch hall@100").click()
        wait_for_step(page, 2)
        page.locator(".checkpoint input").focus()
        page.keyboard.press("Home")
        page.wait_for_selector(".player header >> text=4k steps")
        page.reload()
        page.wait_for_selector(".player header >> text=4k steps")


def test_the_page_reads_players_as_the_command_and_older_addresses_write_them(
    studio: Address, root: Path, tmp_path: Path, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(root / "hall", tmp_path / "foo@100")
    shutil.copytree(root / "hall", tmp_path / "foo@")
    opened: list[str] = []
    monkeypatch.setattr(Watch, "serve", lambda self, folder, place: opened.append(place))
    for name, step in (("foo@100", None), ("foo@100", 4_000), ("foo@", None)):
        Watch(names=(str(tmp_path / name),), step=step).run()
    page.goto(f"{studio.http}/#/runs")
    read = page.evaluate(
        """async (places) => {
            const { parsePlayer, playerText } = await import("/page/place.js");
            const texts = places.map((place) => new URLSearchParams(place.split("?")[1]).get("p"));
            const all = [...texts, "run:foo", "run:foo@7", "run:foo@bar", "agent:a@7"];
            return all.map((text) => [parsePlayer(text), playerText(parsePlayer(text)) === text]);
        }""",
        opened,
    )
    assert [player for player, _ in read] == [
        {"kind": "run", "name": "foo@100"},
        {"kind": "run", "name": "foo@100", "step": 4_000},
        {"kind": "run", "name": "foo@"},
        {"kind": "run", "name": "foo"},
        {"kind": "run", "name": "foo", "step": 7},
        {"kind": "run", "name": "foo@bar"},
        {"kind": "agent", "name": "a@7"},
    ]
    assert [same for _, same in read] == [True, True, True, True, True, False, True]


def test_a_page_that_was_hidden_for_long_has_its_game_back_when_it_is_shown(
    studio: Address, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deepcs.studio.session.HIDDEN_SECONDS", 0.5)
    monkeypatch.setattr("deepcs.studio.session.KEPT_SECONDS", 0.5)
    before = players()
    page.goto(f"{studio.http}/{FREEWAY}&game=6")
    wait_for_step(page, 2)
    (ends,) = players() - before
    page.evaluate(HIDE, True)
    ends.wait(30)
    page.wait_for_timeout(2_500)  # longer than a page waits before it connects again
    assert not players() - before
    assert page.locator("#banner").is_hidden()
    page.evaluate(HIDE, False)
    until(page, "document.querySelector('.cards').getAttribute('aria-busy') === null")
    wait_for_step(page, 2)
    assert page.get_by_label("game", exact=True).input_value() == "6"


@pytest.mark.parametrize(("view", "api", "shown"), [("runs", "overview", "table.runs")])
def test_a_list_that_is_refused_stays_with_the_reason_above(
    studio: Address, page: Page, view: str, api: str, shown: str
) -> None:
    refused = {"status": 422, "json": {"problem": "The folder cannot be read."}}
    page.goto(f"{studio.http}/#/{view}")
    page.wait_for_selector(shown)
    page.route(f"**/api/{api}*", lambda route: route.fulfill(**refused))
    page.wait_for_selector("[role=alert] >> text=The folder cannot be read.")
    assert page.locator(shown).count() == 1
    page.unroute(f"**/api/{api}*")
    page.locator(".message.problem").wait_for(state="hidden")
