"""The studio's page in a real browser: `make test-browser`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browsing import FOUR, MARKUP, ONE, PATIENCE, TWO, button, step_of, until, wait_for_step
from serving import Address, serving

from deepcs.runs.folder import RunFolder, digest_of
from deepcs.runs.shipped import shipped_agents

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
WIDTHS = (400, 1000, 2000)


VIEWS = {
    "watch": ("#/watch", ".choice"),
    "one": (ONE, ".screen"),
    "two": (TWO, ".screen"),
    "play": ("#/play", ".worlds"),
    "game": ("#/play?world=Freeway", ".screen"),
    "runs": ("#/runs", "table.runs"),
    "run": ("#/run?name=hall", ".chart svg"),
    "compared": ("#/run?name=hall&name=plain", ".chart svg"),
    "study": ("#/study?name=study", "table.matrix"),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_opens_and_fits_its_width(
    studio: Address, browser: Any, scheme: str, tmp_path: Path
) -> None:
    pictures = Path(os.environ.get("SCREENSHOTS", tmp_path))
    for width in WIDTHS:
        size = {"width": width, "height": 900}
        page = browser.new_page(viewport=size, color_scheme=scheme)
        for name, (place, selector) in VIEWS.items():
            page.goto("about:blank")
            page.goto(f"{studio.http}/{place}")
            page.wait_for_selector(selector, timeout=PATIENCE)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)
            page.screenshot(path=pictures / f"{name}-{width}-{scheme}.png")
        page.close()


def test_an_agent_is_watched_until_its_score_changes(studio: Address, page: Page) -> None:
    page.goto(f"{studio.http}/#/watch?p=run:alien&speed=4")
    page.wait_for_selector(".screen")
    until(page, "Number(document.querySelector('.n-score').textContent) > 0")
    assert page.locator(".numbers .n-lives").inner_text() == "3"
    until(page, "document.querySelector('.rate').dataset.frames > 0")


def test_the_hallway_is_solved_by_hand_with_an_agent_beside(studio: Address, page: Page) -> None:
    page.goto(f"{studio.http}/#/play?world=KeyHallway&beside=run:hall")
    page.wait_for_selector(".screen")
    for key, times in (("ArrowRight", 10), ("ArrowLeft", 20)):  # to the key, then to the door
        for _ in range(times):
            before = step_of(page)
            page.keyboard.press(key)
            wait_for_step(page, before + 1)
    assert page.locator(".n-score").first.inner_text() == "1"
    assert step_of(page, 0) == 30
    assert step_of(page, 1) >= 30  # it plays on alone


def test_it_is_paused_and_stepped_by_exactly_one(studio: Address, page: Page) -> None:
    page.goto(f"{studio.http}/{TWO}")
    wait_for_step(page, 5)
    button(page, "Pause").click()
    button(page, "Play").wait_for()
    page.wait_for_timeout(300)
    at = step_of(page)
    page.wait_for_timeout(500)
    assert [step_of(page, 0), step_of(page, 1)] == [at, at]
    button(page, "Step").click()
    wait_for_step(page, at + 1)
    page.wait_for_timeout(300)
    assert [step_of(page, 0), step_of(page, 1)] == [at + 1, at + 1]
    page.keyboard.press(".")
    wait_for_step(page, at + 2)
    assert [step_of(page, 0), step_of(page, 1)] == [at + 2, at + 2]


@pytest.mark.parametrize(("place", "agents"), [(TWO, 2), (FOUR, 4)])
def test_agents_play_side_by_side_in_step(
    studio: Address, page: Page, place: str, agents: int
) -> None:
    page.goto(f"{studio.http}/{place}")
    wait_for_step(page, 3)
    seen = page.evaluate(
        """async () => {
            const steps = () => [...document.querySelectorAll(".n-step")].map((e) => e.textContent);
            const found = [];
            while (found.length < 40) {
                found.push(steps());
                await new Promise((done) => setTimeout(done, 25));
            }
            return found;
        }"""
    )
    assert all(len(steps) == agents and len(set(steps)) == 1 for steps in seen)
    assert seen[0] != seen[-1]


def test_the_featured_pair_plays_side_by_side(studio: Address, page: Page) -> None:
    page.goto(studio.http)
    page.get_by_role("link", name="Freeway with curiosity, and without").click()
    wait_for_step(page, 3)
    names = page.locator(".player h2").all_inner_texts()
    assert names == ["Freeway", "Freeway-plain"]
    told = page.locator(".player header p").all_inner_texts()
    assert ["deepcs" in told[0], "plain" in told[1]] == [True, True]


def edges(page: Page, selector: str) -> tuple[float, float]:
    """Top and bottom of the first such element, in pixels of the window."""
    box = page.locator(selector).first.bounding_box()
    assert box is not None
    return box["y"], box["y"] + box["height"]


def test_the_invitation_to_play_covers_nothing_of_a_hallway(studio: Address, page: Page) -> None:
    page.goto(f"{studio.http}/#/play?world=KeyHallway&beside=nobody")
    page.wait_for_selector("text=Press an arrow key")
    page.wait_for_selector(".player.broad")
    for width in (400, 1900):
        page.set_viewport_size({"width": width, "height": 900})
        top, bottom = edges(page, ".caption")
        assert edges(page, ".screen")[1] <= top
        assert bottom <= edges(page, ".side")[0]


def test_what_was_ticked_far_below_is_watched_without_scrolling_back(
    studio: Address, page: Page
) -> None:
    page.set_viewport_size({"width": 400, "height": 900})
    page.goto(f"{studio.http}/#/watch")
    page.wait_for_selector(".choice")
    last = page.locator(".choice input").last
    last.focus()
    page.keyboard.press("Space")
    assert page.evaluate("scrollY") > 500
    top, bottom = edges(page, ".heading .button")
    assert 0 <= top < bottom < 900
    page.locator(".heading .button").click()
    page.wait_for_selector(".screen")


def test_the_probabilities_of_a_pair_are_in_sight(studio: Address, page: Page) -> None:
    page.set_viewport_size({"width": 900, "height": 900})
    page.goto(f"{studio.http}/#/watch?p=agent:Freeway&p=agent:Freeway-plain")
    wait_for_step(page, 1)
    assert edges(page, ".policy")[1] <= edges(page, "div.controls")[0]


def test_scores_are_written_as_deepcs_agents_writes_them(studio: Address, page: Page) -> None:
    page.goto(studio.http)
    page.wait_for_selector(".choice")
    told = page.locator(".choice").first.inner_text()
    for agent in shipped_agents():
        assert f"median score {agent.median:,.6g} (" in told


def test_a_long_name_breaks_before_a_capital(studio: Address, page: Page) -> None:
    page.set_viewport_size({"width": 900, "height": 900})
    page.goto(f"{studio.http}/#/play")
    name = page.get_by_text("MontezumaRevenge", exact=True)
    assert name.evaluate("(shown) => shown.innerHTML") == "Montezuma<wbr>Revenge"
    top, bottom = edges(page, ".worlds strong >> text=MontezumaRevenge")
    assert bottom - top < 60  # two lines


def test_the_slider_shows_each_checkpoint_in_the_same_game(studio: Address, page: Page) -> None:
    page.goto(f"{studio.http}/{ONE}&game=7")
    wait_for_step(page, 2)
    slider = page.locator(".checkpoint input")
    slider.focus()
    page.keyboard.press("Home")
    until(page, "location.hash.includes('%40')")
    page.wait_for_selector("text=4k steps")
    assert page.get_by_label("game", exact=True).input_value() == "7"


def test_a_game_is_played_by_key_presses(studio: Address, page: Page) -> None:
    page.goto(f"{studio.http}/#/play?world=Freeway")
    page.wait_for_selector(".screen")
    page.wait_for_selector("text=Press an arrow key")
    before = page.evaluate("document.querySelector('.screen').toDataURL()")
    page.keyboard.down("ArrowUp")
    wait_for_step(page, 30)
    page.keyboard.up("ArrowUp")
    assert int(page.locator(".n-tiles").first.inner_text()) > 1
    assert page.evaluate("document.querySelector('.screen').toDataURL()") != before


def test_a_reload_loses_nothing(studio: Address, page: Page) -> None:
    page.goto(f"{studio.http}/{TWO}&game=4&speed=2")
    wait_for_step(page, 10)
    button(page, "Pause").click()
    button(page, "Play").wait_for()
    page.wait_for_timeout(300)
    at, address = step_of(page), page.url
    page.reload()
    wait_for_step(page, at)
    assert step_of(page) == at
    assert page.url == address
    assert page.get_by_label("game", exact=True).input_value() == "4"
    assert page.get_by_label("speed", exact=True).input_value() == "2"


def test_a_training_beside_it_grows_on_the_page(studio: Address, root: Path, page: Page) -> None:
    out = root / "live"
    command = [sys.executable, "-m", "deepcs", "train", "KeyHallway", "--steps", "400M"]
    command += ["--log-every", "4000", "--out", str(out)]
    training = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        while not (out / "curve.csv").exists():
            time.sleep(0.2)
        page.goto(f"{studio.http}/#/run?name=live")
        page.wait_for_selector(".chart path.line")
        path = "document.querySelector('.chart:nth-child(2) path.line')?.getAttribute('d').length"
        before = page.evaluate(path) or 0
        until(page, f"{path} > {before} + 20")
        assert page.locator(".state.training").count() == 1
    finally:
        training.terminate()
        training.wait()


def test_a_dead_server_is_told(root: Path, page: Page) -> None:
    with serving(root) as address:
        page.goto(f"{address.http}/{ONE}")
        wait_for_step(page, 3)
        assert page.locator("#banner").is_hidden()
        port = address.port
    page.wait_for_selector("#banner:not([hidden])")
    assert "does not answer" in page.locator("#banner").inner_text()
    with serving(root, port=port):
        page.wait_for_selector("#banner", state="hidden")
        wait_for_step(page, 3)


def test_a_hidden_page_stops_the_game(studio: Address, page: Page) -> None:
    page.goto(f"{studio.http}/{ONE}&speed=0.5")
    wait_for_step(page, 3)
    page.evaluate(
        """Object.defineProperty(document, "hidden", { value: true, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));"""
    )
    page.wait_for_timeout(500)
    at = step_of(page)
    page.wait_for_timeout(1000)
    assert step_of(page) == at


def test_names_are_text_and_never_markup(studio: Address, page: Page) -> None:
    name = MARKUP.replace("/", "")
    for place in ("#/watch", "#/runs", f"#/run?name={name}", f"#/watch?p=run:{name}"):
        page.goto("about:blank")
        page.goto(f"{studio.http}/{place}")
        page.get_by_text(name, exact=True).first.wait_for()
        assert page.locator("img[src=x]").count() == 0
        assert "pwned" not in page.title()


def test_foreign_code_is_asked_about_before_it_runs(
    root: Path, tmp_path: Path, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    run = tmp_path / "runs" / "foreign"
    shutil.copytree(root / "hall", run)
    saved = json.loads((run / "config.json").read_text())
    saved["accepted"] = [RunFolder(run).read_config().identity]
    saved["config"]["world"] = "not_there:make"
    saved["digest"] = digest_of({key: saved[key] for key in saved if key != "digest"})
    (run / "config.json").write_text(json.dumps(saved))
    with serving(run.parent) as address:
        page.goto(f"{address.http}/#/watch?p=run:foreign")
        page.wait_for_selector("text=not_there:make")
        button(page, "Allow and play").click()
        page.wait_for_selector("text=No module named")


def test_everything_can_be_reached_by_keyboard(studio: Address, page: Page) -> None:
    page.goto(f"{studio.http}/#/watch")
    page.wait_for_selector(".choice")
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.textContent.trim()"))
    assert {"Watch", "Play", "Runs", "Skip to the content"} <= reached
    page.locator(".choice input").first.focus()
    page.keyboard.press("Space")
    page.get_by_role("link", name=re.compile("^Watch$")).first.focus()
    assert page.locator(".choice input:checked").count() == 1


def test_a_study_opens_and_its_report_with_all_that_belongs_to_it(
    folder: Path, tmp_path: Path, page: Page
) -> None:
    study = tmp_path / "study"
    shutil.copytree(folder / "study", study)
    (study / "report" / "film.mp4").write_bytes(bytes(64))
    (study / "report" / "table.csv").write_text("a,b\n1,2\n")
    (study / "report" / "report.html").write_text(
        "<!doctype html><title>Report</title><script>document.title = 'it ran'</script>"
        "<video src=film.mp4></video><a href=table.csv>CSV</a>"
    )
    answers: dict[str, int] = {}
    page.context.on("response", lambda got: answers.update({Path(got.url).name: got.status}))
    with serving(study) as address:
        page.goto(f"{address.http}/#/study?name=.")
        page.wait_for_selector("table.matrix .cell.done")
        assert page.locator("table.matrix .cell").count() == 2
        with page.expect_popup() as opened:
            page.get_by_role("link", name="Report", exact=True).click()
        report = opened.value
        with report.expect_download() as saved:
            report.get_by_role("link", name="CSV").click()
        assert saved.value.path().read_text() == "a,b\n1,2\n"
        assert report.title() == "Report"
        assert (answers["report.html"], answers["film.mp4"]) == (200, 206)  # a part of the film


def test_the_time_slider_changes_the_heat_map(studio: Address, page: Page) -> None:
    page.goto(f"{studio.http}/#/run?name=hall")
    page.wait_for_selector(".heat canvas")
    picture = "document.querySelector('.heat canvas').toDataURL()"
    late, told = page.evaluate(picture), page.locator(".heat output").inner_text()
    page.get_by_label("time of the training").focus()
    page.keyboard.press("Home")
    assert page.evaluate(picture) != late
    assert page.locator(".heat output").inner_text() != told


def test_the_maps_of_compared_runs_have_one_scale(studio: Address, page: Page) -> None:
    page.goto(f"{studio.http}/#/run?name=hall&name=plain")
    until(page, "document.querySelectorAll('.heat canvas').length === 2")
    ends = "[...document.querySelectorAll('.scale span')].map((end) => end.textContent)"
    one, other = page.evaluate(ends)
    assert one == other
    page.get_by_label("time of the training").first.focus()
    page.keyboard.press("Home")
    one, other = page.evaluate(ends)
    assert one == other


def test_the_greedy_box_is_ticked_by_the_space_bar(studio: Address, page: Page) -> None:
    page.goto(f"{studio.http}/{ONE}")
    wait_for_step(page, 2)
    box = page.get_by_label("greedy")
    box.focus()
    page.keyboard.press("Space")
    until(page, "location.hash.includes('greedy=1')")
    assert box.is_checked()
    page.keyboard.press("Space")
    until(page, "!location.hash.includes('greedy=1')")
    assert not box.is_checked()


def test_the_checkpoint_slider_is_moved_twice_by_arrow_keys(studio: Address, page: Page) -> None:
    page.goto(f"{studio.http}/{ONE}")
    wait_for_step(page, 2)
    page.locator(".checkpoint input").focus()
    for step in ("16k", "12k"):
        page.keyboard.press("ArrowLeft")
        page.wait_for_selector(f".player header >> text={step} steps")
        assert page.locator(".checkpoint output").inner_text() == step


def test_a_list_that_is_drawn_again_keeps_the_focus(
    studio: Address, root: Path, page: Page
) -> None:
    page.goto(f"{studio.http}/#/runs")
    page.get_by_role("link", name="hall", exact=True).focus()
    shutil.copytree(root / "hall", root / "added")
    try:
        page.get_by_role("link", name="added", exact=True).wait_for()
        assert page.evaluate("document.activeElement.textContent") == "hall"
    finally:
        shutil.rmtree(root / "added")


def test_a_key_is_released_although_shift_was_pressed_meanwhile(
    studio: Address, page: Page
) -> None:
    held: list[list[str]] = []

    def note(text: str | bytes) -> None:
        said = json.loads(text)
        if said["do"] == "keys":
            held.append(said["held"])

    page.on("websocket", lambda line: line.on("framesent", note))
    page.goto(f"{studio.http}/#/play?world=KeyHallway&beside=nobody")
    page.wait_for_selector("text=Press an arrow key")
    page.keyboard.down("a")
    page.keyboard.down("Shift")
    page.keyboard.up("A")
    page.keyboard.up("Shift")
    wait_for_step(page, 1)
    assert held == [["left"], []]


def test_another_rival_plays_the_same_game_at_the_same_speed(studio: Address, page: Page) -> None:
    page.goto(f"{studio.http}/#/play?world=KeyHallway&beside=nobody&game=3&speed=2")
    page.wait_for_selector("text=Press an arrow key")
    page.get_by_label("who plays beside you").select_option("run:hall")
    until(page, "document.querySelectorAll('.player').length === 2")
    assert page.get_by_label("game", exact=True).input_value() == "3"
    assert page.get_by_label("speed", exact=True).input_value() == "2"


def test_the_end_of_a_game_is_told_also_after_a_reload(studio: Address, page: Page) -> None:
    page.goto(f"{studio.http}/#/play?world=KeyHallway&beside=run:hall&speed=32")
    page.wait_for_selector("text=Press an arrow key")
    page.keyboard.down("ArrowLeft")  # against the wall, until the time is up
    verdict = page.locator(".message", has_text="You: 0 points")
    verdict.wait_for()
    page.keyboard.up("ArrowLeft")
    told = verdict.inner_text()
    numbers = page.locator(".n-tiles").all_inner_texts()
    assert all(f"{tiles} tiles" in told for tiles in numbers)
    page.reload()
    verdict.wait_for()
    assert verdict.inner_text() == told
