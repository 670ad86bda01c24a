"""The page in a real browser: dead servers, refusals, small screens, and fields that take keys."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browsing import ONE, PATIENCE, until, wait_for_step
from serving import Address, serving

from deepcs.studies.folder import StudyFolder

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    ("place", "selector"), [("#/watch", ".choice"), ("#/play?world=KeyHallway", ".screen")]
)
def test_a_view_that_was_opened_without_a_server_goes_on_by_itself(
    root: Path, page: Page, place: str, selector: str
) -> None:
    with serving(root) as address:
        page.goto(f"{address.http}/#/runs")
        page.wait_for_selector("table.runs")
        port = address.port
    page.evaluate(f"location.hash = '{place}'")
    page.wait_for_selector("#banner:not([hidden])")
    assert f"--port {port}" in page.locator("#banner").inner_text()
    with serving(root, port=port):
        page.wait_for_selector(selector)
        page.wait_for_selector("#banner", state="hidden")


def test_a_run_stays_on_the_page_when_its_server_ends(root: Path, page: Page) -> None:
    with serving(root) as address:
        page.goto(f"{address.http}/#/run?name=hall")
        page.wait_for_selector(".heat canvas")
        told = page.locator(".summary").inner_text()
    page.wait_for_selector("#banner:not([hidden])")
    page.wait_for_timeout(500)
    assert page.locator(".summary").inner_text() == told


def test_a_phone_has_its_pad_in_sight_and_is_asked_to_touch_it(
    studio: Address, browser: Any
) -> None:
    context = browser.new_context(
        viewport={"width": 400, "height": 800}, has_touch=True, is_mobile=True
    )
    phone = context.new_page()
    phone.set_default_timeout(PATIENCE)
    phone.goto(f"{studio.http}/#/play?world=Freeway&beside=nobody")
    phone.wait_for_selector("text=Touch an arrow to begin.")
    box = phone.locator(".pad-up").bounding_box()
    assert box["y"] + box["height"] <= 800
    phone.locator(".pad-up").tap()
    wait_for_step(phone, 5)
    context.close()


def test_keys_are_the_games_after_a_field_was_changed_by_mouse(studio: Address, page: Page) -> None:
    page.goto(f"{studio.http}/{ONE}")
    wait_for_step(page, 2)
    slider = page.locator(".checkpoint input")
    slider.click(position={"x": 2, "y": 5})
    page.wait_for_selector(".player header >> text=4k steps")
    page.get_by_text("greedy").click()
    until(page, "location.hash.includes('greedy=1')")
    assert page.evaluate("document.activeElement === document.body")
    page.keyboard.press("N")  # Caps Lock
    until(page, "location.hash.includes('game=1')")
    assert page.get_by_label("greedy").is_checked()


def test_a_checkpoint_that_loads_is_dimmed_and_only_the_last_is_asked_for(
    studio: Address, page: Page
) -> None:
    opened: list[Any] = []

    def note(text: str | bytes) -> None:
        said = json.loads(text)
        if said["do"] == "open":
            opened.append(said["players"][0].get("step"))

    page.on("websocket", lambda line: line.on("framesent", note))
    page.goto(f"{studio.http}/{ONE}")
    wait_for_step(page, 2)
    page.locator(".checkpoint input").focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    assert page.locator(".cards").get_attribute("aria-busy") == "true"
    page.wait_for_selector(".player header >> text=8k steps")
    assert page.locator(".cards").get_attribute("aria-busy") is None
    assert opened == [None, 8_000]


def test_after_a_refusal_nothing_can_be_controlled(studio: Address, page: Page) -> None:
    page.goto(f"{studio.http}/#/watch?p=run:nowhere")
    page.wait_for_selector("text=There is no 'nowhere'")
    assert page.locator(".controls").get_attribute("inert") is not None
    page.keyboard.press("Space")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_timeout(500)
    assert "There is no 'nowhere'" in page.locator(".message").inner_text()


def test_a_study_tells_its_failures_and_links_only_to_runs_that_began(
    folder: Path, tmp_path: Path, page: Page
) -> None:
    study = tmp_path / "root" / "study"
    shutil.copytree(folder / "study", study)
    begun = StudyFolder(study)
    with serving(study.parent) as address:
        page.goto(f"{address.http}/#/runs")
        page.wait_for_selector("text=1 of 2 done")
        page.wait_for_selector("text=Tick two runs to compare")
        page.goto(f"{address.http}/#/study?name=study")
        page.wait_for_selector("span.cell.waiting")
        assert page.locator("a.cell").count() == 1
        waiting = begun.read().runs[1]
        (study / "failures.json").write_text(json.dumps({waiting.name: "The disk was full."}))
        page.wait_for_selector(".failures >> text=The disk was full.")


@pytest.mark.parametrize("place", ["#/run", "#/study"])
def test_a_run_without_a_name_is_chosen_from_the_list(
    studio: Address, page: Page, place: str
) -> None:
    page.goto(f"{studio.http}/{place}")
    page.wait_for_selector("table.runs")


def test_a_reload_keeps_the_time_of_the_heat_map(studio: Address, page: Page) -> None:
    page.goto(f"{studio.http}/#/run?name=hall")
    page.wait_for_selector(".heat canvas")
    page.get_by_label("time of the training").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.get_by_text("all until then").click()
    told = page.locator(".heat output").inner_text()
    page.reload()
    page.wait_for_selector(".heat canvas")
    assert page.locator(".heat output").inner_text() == told
    assert page.get_by_label("all until then").is_checked()


def test_a_chart_has_ticks_in_one_unit(studio: Address, page: Page) -> None:
    page.goto(f"{studio.http}/#/runs")
    found = page.evaluate(
        """async () => {
            const { lineChart } = await import("/page/chart.js");
            const seen = (y) => {
                const chart = lineChart("a");
                document.body.append(chart.element);
                chart.update([{ name: "a", colour: "red", x: [0, 1_500_000], y }]);
                const labels = [...chart.element.querySelectorAll("text")];
                return labels.map((each) => each.textContent).join(" ");
            };
            return [seen([0, 0]), seen([0, 1_050_000]), seen([17, 23.5])];
        }"""
    )
    assert found[0].startswith("0 0.5 1.0 ")
    assert found[1].startswith("0 0.5M 1.0M ")
    assert found[2].startswith("18 20 22 ")
    assert all("k" not in labels for labels in found)


RANGES = [
    *([0.00012, 0.00013], [2.894002, 2.894003], [17243.3, 17243.5], [1000200, 1000250], [-1e-9, 0]),
    *([1e-12, 3e-12], [0, 1e30], [-1.2e12, 3], [1, 1 + 2**-52], [1e17, 1e17], [-12345.678, -12345]),
]


def test_the_labels_of_a_chart_are_whole_and_tell_their_ticks_apart(
    studio: Address, page: Page
) -> None:
    page.goto(f"{studio.http}/#/runs")
    found = page.evaluate(
        """async (ranges) => {
            const { lineChart } = await import("/page/chart.js");
            return ranges.map((y) => {
                const chart = lineChart("a");
                document.body.append(chart.element);
                chart.update([{ name: "a", colour: "red", x: [0, 10], y }]);
                const labels = [...chart.element.querySelectorAll("text[text-anchor=end]")];
                const told = labels.map((label) => [label.textContent, label.getBBox().x]);
                chart.element.remove();
                return [told, chart.element.querySelector(".ends").textContent];
            });
        }""",
        RANGES,
    )
    for values, (labels, ends) in zip(RANGES, found, strict=True):
        low, high = values
        allowed = 0.02 * abs(high - low) + 1e-9 * abs(high)
        assert abs(float(ends.replace(",", "")) - high) <= allowed, (values, ends)
        ticks = [text for text, _ in labels if text != "10"]  # at the end of the other axis
        assert len(ticks) == len(set(ticks)) >= 3, (values, ticks)
        assert all(left >= 0 for _, left in labels), (values, labels)


def test_the_arrow_keys_tell_a_charts_values(studio: Address, page: Page) -> None:
    page.goto(f"{studio.http}/#/run?name=hall&name=plain")
    page.wait_for_selector(".chart svg")
    plot, told = page.locator(".plot").first, page.locator(".ends").first
    at_the_end = told.inner_text()
    plot.focus()
    assert told.get_attribute("aria-live") == "polite"
    first, *_, before, last = studio.ask("run", "hall")["curve"]["step"]
    for key, step in (("ArrowLeft", last), ("ArrowLeft", before), ("Home", first)):
        page.keyboard.press(key)
        shown = f"{step / 1000:.3g}k" if step >= 1000 else str(step)
        assert told.inner_text().endswith(f"at step {shown}")
        assert page.locator(".cross").count() == 1
    page.keyboard.press("Tab")
    assert told.inner_text() == at_the_end
    assert told.get_attribute("aria-live") is None


def test_eighteen_actions_are_arrows_in_columns(studio: Address, page: Page) -> None:
    page.goto(f"{studio.http}/#/watch?p=run:alien&p=run:alien&p=run:alien")
    wait_for_step(page, 1)
    action = page.get_by_role("img", name="down right fire").first
    assert action.inner_text() == "↘ fire"
    columns = "getComputedStyle(document.querySelector('.policy')).gridTemplateColumns.split(' ')"
    assert page.evaluate(f"{columns}.length") >= 2
