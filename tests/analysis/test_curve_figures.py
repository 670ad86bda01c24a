"""Learning curves: what is drawn is what the runs did, and bars stand where p says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from generated import ROWS, STEPS, experiment, group_of, level, results_of
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy import stats

from deepcs.analysis.curve_figures import curve_figures, draw_curves
from deepcs.analysis.games_figure import games_figure
from deepcs.analysis.groups import Results
from deepcs.analysis.significance_bars import spans
from deepcs.analysis.statistics import holm
from deepcs.analysis.style import (
    LEGEND_ROW,
    legend_above,
    look,
    new_figure,
    save_figure,
    spaced,
    styled,
)
from deepcs.analysis.sweep_figures import sweep_figures
from deepcs.runs.config import RunConfig

BLUE, VERMILLION = look("deepcs", "a2c").colour, look("plain", "a2c").colour


def noisy(config: RunConfig) -> list[float]:
    """DeepCS departs from A2C after the fourth row; unlike in every run."""
    rng = np.random.default_rng([config.seed, config.treatment == "deepcs"])
    rise = 500.0 * (config.treatment == "deepcs")
    return [rng.normal(100, 30) + rise * (row >= 4) for row in range(ROWS)]


def names(results: Results) -> list[str]:
    return [d.name for world in results.worlds for d in curve_figures(results.of(world))]


def medians(figure: Figure, panel: int, colour: str) -> np.ndarray:
    """The solid line of a colour."""
    (line,) = (
        line
        for line in figure.axes[panel].lines
        if line.get_linestyle() == "-" and line.get_color() == colour
    )
    assert line.get_xdata().tolist() == [STEPS // ROWS * row for row in range(1, ROWS + 1)]
    return np.asarray(line.get_ydata())


def on_its_heading(axes: Axes) -> bool:
    """Whether any text of a panel lies on its heading."""
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    heading = axes._left_title.get_window_extent()
    return any(heading.overlaps(text.get_window_extent()) for text in axes.texts)


@pytest.fixture(scope="module")
def noisy_results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("noisy")
    return results_of(folder, experiment("Seaquest", ["deepcs", "plain"], 7), scores=noisy)


def scores_of(results: Results, treatment: str) -> np.ndarray:
    return np.array([run.score for run in group_of(results, treatment).runs])


def test_lines_bands_and_dots_are_medians_quartiles_and_extremes(noisy_results: Results) -> None:
    (drawing,) = curve_figures(noisy_results.of("Seaquest"))
    axes = drawing.figure.axes[0]
    for treatment, colour in (("deepcs", BLUE), ("plain", VERMILLION)):
        scores = scores_of(noisy_results, treatment)
        np.testing.assert_allclose(medians(drawing.figure, 0, colour), np.median(scores, axis=0))
        np.testing.assert_allclose(
            medians(drawing.figure, 1, colour), np.median(2 * scores, axis=0)
        )  # intrinsic reward was written as twice the score
        dotted = [
            line.get_ydata()
            for line in axes.lines
            if line.get_linestyle() == ":" and line.get_color() == colour
        ]
        np.testing.assert_allclose(dotted, [scores.min(axis=0), scores.max(axis=0)])
        (band,) = (
            c
            for c in axes.collections
            if isinstance(c, PolyCollection) and to_hex(c.get_facecolor()[0]) == colour.lower()
        )
        heights = band.get_paths()[0].vertices[:, 1]
        low, high = np.percentile(scores, (25, 75), axis=0)
        assert np.isin(np.round([*low, *high], 9), np.round(heights, 9)).all()


def test_bars_stand_where_p_says_and_nowhere_else(noisy_results: Results) -> None:
    (drawing,) = curve_figures(noisy_results.of("Seaquest"))
    ours, theirs = (scores_of(noisy_results, name) for name in ("deepcs", "plain"))
    p = stats.mannwhitneyu(ours, theirs, axis=0, method="exact").pvalue
    dark = holm(p) < 0.05
    light = (p < 0.05) & ~dark
    assert dark.sum() == 6
    assert not dark[:4].any()
    drawn_light, drawn_dark, *behind = drawing.figure.axes[2].collections
    assert not any(each.get_paths() for each in behind)  # DeepCS is ahead wherever they differ
    for drawn, mask in ((drawn_light, light), (drawn_dark, dark)):
        boxes = [path.get_extents() for path in drawn.get_paths()]
        covered = np.zeros(ROWS, bool)
        for box in boxes:
            covered |= (np.arange(ROWS) + 0.5 > ROWS * box.x0 / STEPS) & (
                np.arange(ROWS) + 0.5 < ROWS * box.x1 / STEPS
            )
        np.testing.assert_array_equal(covered, mask)
    assert to_hex(drawn_dark.get_facecolor()[0]) == look("deepcs", "a2c").colour.lower()
    assert all(path.get_extents().y1 <= 0 for path in drawn_dark.get_paths())  # above the row
    assert [label.get_text() for label in drawing.figure.axes[2].get_yticklabels()] == ["vs A2C"]


def test_data_tables_hold_the_numbers_that_are_drawn(noisy_results: Results) -> None:
    (drawing,) = curve_figures(noisy_results.of("Seaquest"))
    curves, tests = drawing.data
    rows = [row for row in curves.rows if row[:2] == ["Game score", "DeepCS"]]
    scores = scores_of(noisy_results, "deepcs")
    assert [row[2] for row in rows] == [STEPS // ROWS * row for row in range(1, ROWS + 1)]
    assert {row[3] for row in rows} == {7}
    expected = np.percentile(scores, (50, 25, 75, 0, 100), axis=0)
    np.testing.assert_allclose(np.array([row[4:] for row in rows]).T, expected)
    columns = [column.name for column in tests.columns]
    p = [row[columns.index("p")] for row in tests.rows if row[0] == "Game score"]
    theirs = scores_of(noisy_results, "plain")
    expected = stats.mannwhitneyu(scores, theirs, axis=0, method="exact").pvalue
    np.testing.assert_allclose(p, expected)


def test_too_few_runs_for_any_bar_are_named_as_such(tmp_path: Path) -> None:
    results = results_of(tmp_path, experiment("Freeway", ["deepcs", "plain"], 3))
    (drawing,) = curve_figures(results.of("Freeway"))
    bars = drawing.figure.axes[2]
    assert [text.get_text() for text in bars.texts] == ["too few runs for p < 0.05"]
    assert not any(collection.get_paths() for collection in bars.collections)


def test_of_single_runs_nothing_is_said_or_drawn_but_their_lines(tmp_path: Path) -> None:
    both = experiment("KeyHallway", ["deepcs"], 1, "agents = ['a2c', 'acktr']")
    (drawing,) = curve_figures(results_of(tmp_path, both).of("KeyHallway"))
    assert "Each line is one run." in drawing.caption
    assert "too few runs" in drawing.caption
    beneath = drawing.figure.get_supxlabel()
    for word in ("edian", "uartile", "dotted", "Dotted", "Bars", "Mann"):
        assert word not in drawing.caption + beneath
    score = drawing.figure.axes[0]
    assert not [each for each in score.collections if isinstance(each, PolyCollection)]
    assert ":" not in {line.get_linestyle() for line in score.lines}


def test_where_some_groups_have_one_run_it_is_said(tmp_path: Path) -> None:
    single = experiment("Seaquest", ["plain"], 1)
    results = results_of(tmp_path, experiment("Seaquest", ["deepcs"], 5), single)
    (drawing,) = curve_figures(results.of("Seaquest"))
    assert "minima and maxima; where n = 1, a line is that run." in drawing.caption


def test_spans_join_neighbouring_points() -> None:
    grid = np.array([10, 20, 30, 40])
    assert spans(np.array([True, True, False, True]), grid) == [(0, 20), (30, 10)]
    assert spans(np.zeros(4, bool), grid) == []


def test_only_runs_that_leave_the_first_room_are_kept_where_they_are_paid_to(
    tmp_path: Path,
) -> None:
    def scores(config: RunConfig) -> list[float]:
        leaves = config.treatment == "deepcs" or (config.treatment == "no-grid" and config.seed < 2)
        return [400.0 * leaves] * ROWS

    treatments = ["deepcs", "plain", "no-grid"]
    results = results_of(tmp_path, experiment("MontezumaRevenge", treatments, 4), scores=scores)
    *_, drawing = curve_figures(results.of("MontezumaRevenge"))
    assert drawing.name == "montezumarevenge-first-room"
    n = {(row[1], row[3]) for row in drawing.data[0].rows}
    assert n == {("DeepCS", 4), ("A2C", 4), ("No grid", 2)}
    assert "4 of 4 runs of DeepCS, 2 of 4 runs of No grid" in drawing.caption


@pytest.mark.parametrize(
    ("treatments", "agents", "expected"),
    [
        (["deepcs", "plain"], ["a2c"], ["seaquest-main"]),
        (["deepcs", "plain", "no-grid"], ["a2c"], ["seaquest-main", "seaquest-controls"]),
        (["deepcs", "never-reset"], ["a2c"], ["seaquest-controls"]),
        (["deepcs"], ["a2c"], ["seaquest-main"]),
        (
            ["deepcs"],
            ["a2c", "acktr"],
            ["seaquest-acktr-against-a2c"],
        ),
    ],
)
def test_a_figure_is_drawn_where_the_study_has_its_groups(
    tmp_path: Path, treatments: list[str], agents: list[str], expected: list[str]
) -> None:
    results = results_of(tmp_path, experiment("Seaquest", treatments, 2, f"agents = {agents}"))
    assert names(results) == expected


MR, SEAQUEST = "MontezumaRevenge", "Seaquest"
S1 = "Supporting Figure S1 (supplement, section S2)"
S2 = "Supporting Figure S2 (supplement, section S3)"
S3 = "Supporting Figure S3 (supplement, section S4)"


@pytest.mark.parametrize(
    ("world", "treatments", "agents", "expected"),
    [
        (MR, ["deepcs", "plain"], ["a2c"], {"main": "In the paper: Figure 2, top row."}),
        (SEAQUEST, ["deepcs"], ["a2c"], {"main": "Figure 2, bottom row, here without A2C."}),
        (MR, ["deepcs", "no-grid"], ["a2c"], {"controls": "In the paper: Figure 5, left."}),
        (
            *(MR, ["deepcs", "never-reset", "no-grid"], ["a2c"]),
            {"controls": "left. Never reset: supplement, section S5, which has no figure."},
        ),
        (
            *(SEAQUEST, ["deepcs", "life-reset"], ["a2c"]),
            {"controls": "Life reset: not in the paper for this game."},
        ),
        (
            *(MR, ["deepcs", "plain"], ["a2c", "acktr"]),
            {
                "acktr-against-a2c": f"In the paper: {S2}, for DeepCS; the rest is ours.",
                "main-acktr": f"Ours: the paper has ACKTR for DeepCS only, in {S2}.",
                "first-room": f"In the paper: {S3}.",
            },
        ),
        (SEAQUEST, ["deepcs"], ["a2c", "acktr"], {"acktr-against-a2c": "Ours: not in the paper."}),
        (
            *("Freeway", ["deepcs", "plain"], ["a2c"]),
            {"main": f"Ours: the paper has this game's score in {S1}, without A2C."},
        ),
        ("KeyHallway", ["deepcs", "plain"], ["a2c"], {"main": "Ours: not in the paper."}),
        ("KeyHallway", ["deepcs", "no-grid"], ["a2c"], {"controls": "Ours: not in the paper."}),
    ],
)
def test_a_figure_says_which_of_the_papers_it_is_or_that_it_is_ours(
    tmp_path: Path,
    world: str,
    treatments: list[str],
    agents: list[str],
    expected: dict[str, str],
) -> None:
    results = results_of(tmp_path, experiment(world, treatments, 2, f"agents = {agents}"))
    drawings = {d.name.removeprefix(f"{world.lower()}-"): d for d in curve_figures(results.groups)}
    for name, sentence in expected.items():
        assert drawings[name].paper.endswith(sentence), name


def test_the_papers_median_and_best_run_stand_beside_the_score_or_are_named(
    tmp_path: Path,
) -> None:
    def panels(reached: float) -> tuple[list[float], list[str], str]:
        folder = tmp_path / str(reached)
        pair = experiment("MontezumaRevenge", ["deepcs", "plain"], 2)
        results = results_of(folder, pair, scores=lambda config: [reached] * ROWS)
        drawing = next(curve_figures(results.groups))
        score, intrinsic, *_ = drawing.figure.axes
        assert not intrinsic.texts  # the paper's scores are no intrinsic rewards
        assert not on_its_heading(score)
        lines = [line.get_ydata()[0] for line in score.lines if len(line.get_xdata()) == 2]
        return sorted(lines), [text.get_text() for text in score.texts], drawing.caption

    lines, texts, caption = panels(4000.0)
    assert lines == [3500, 6600]
    assert texts == ["paper 3,500 · best run 6,600"]
    assert "median 3,500 (dashed), best single run 6,600 (on ACKTR; dash-dotted)" in caption
    lines, texts, _ = panels(100.0)
    assert lines == []
    assert texts == ["paper 3,500 ↑ · best run 6,600 ↑"]


def test_a_world_without_published_scores_has_no_lines_of_the_papers(tmp_path: Path) -> None:
    results = results_of(tmp_path, experiment("KeyHallway", ["deepcs", "plain"], 2))
    (drawing,) = curve_figures(results.groups)
    assert "".join(text.get_text() for text in drawing.figure.axes[0].texts) == ""
    assert "the paper's" not in drawing.caption


def test_a2c_on_the_ten_additional_games_is_said_to_be_ours(tmp_path: Path) -> None:
    (drawing,) = games_figure(results_of(tmp_path, experiment("Amidar", ["deepcs", "plain"], 2)))
    labels = [text.get_text() for text in drawing.figure.legends[0].get_texts()]
    assert "A2C (not in the paper)" in labels
    assert "A2C on these games is ours" in drawing.caption
    assert drawing.paper == f"In the paper: {S1}."
    assert ["Amidar", "best run", 2600] in drawing.data[1].rows


def test_of_other_games_the_learner_that_is_drawn_is_named_and_the_line_that_is_hidden(
    tmp_path: Path,
) -> None:
    both = experiment("Venture", ["deepcs", "plain"], 2, "agents = ['acktr']")
    (drawing,) = games_figure(results_of(tmp_path, both, scores=lambda config: [0.0] * ROWS))
    assert "ACKTR on these games is ours" in drawing.caption
    assert drawing.caption.endswith("Venture: ACKTR lies beneath DeepCS, ACKTR.")


def test_a_published_score_below_0_lies_above_the_axis(tmp_path: Path) -> None:
    alone = experiment("Pitfall", ["deepcs"], 2)
    (drawing,) = games_figure(results_of(tmp_path, alone, scores=lambda config: [-50.0] * ROWS))
    axes = drawing.figure.axes[0]
    assert axes.get_ylim()[0] < -155
    assert [text.get_text() for text in axes.texts] == ["PC −155 · PCn 0"]


def test_without_a2c_nothing_is_said_of_it(tmp_path: Path) -> None:
    (drawing,) = games_figure(results_of(tmp_path, experiment("Freeway", ["deepcs"], 2)))
    labels = [text.get_text() for text in drawing.figure.legends[0].get_texts()]
    assert labels == ["DeepCS", "PC, published", "PCn, published"]
    assert "A2C" not in drawing.caption


def test_a_treatment_or_an_agent_that_is_not_known_has_a_look_of_its_own() -> None:
    assert look("novelty-search", "a2c").label == "Novelty search"
    assert look("deepcs", "my_module:MyAgent").label == "DeepCS, MyAgent"
    assert look("deepcs", "ppo").label == "DeepCS, PPO"


@pytest.mark.parametrize(
    ("world", "name"),
    [
        ("WizardOfWor", "Wizard of Wor"),
        ("my_module:cart_pole", "Cart Pole"),
        ("gymnasium_worlds:multi_room", "Multi Room"),
        ("my_module:MyMaze", "MyMaze"),
    ],
)
def test_worlds_are_named_in_words(world: str, name: str) -> None:
    assert spaced(world) == name


def test_a_treatment_has_one_colour_in_all_figures(tmp_path: Path) -> None:
    treatments = ["deepcs", "plain", "no-grid", "no-intrinsic", "never-reset", "life-reset"]
    results = results_of(
        tmp_path, experiment("Seaquest", treatments, 2, "agents = ['a2c', 'acktr']")
    )
    looks = [group.look for group in results.groups]
    assert len({(each.colour, each.line) for each in looks}) == len(looks) == 12
    assert look("no-grid", "acktr").colour == look("no-grid", "a2c").colour


def test_reference_lines_stand_at_the_published_scores_or_are_named(tmp_path: Path) -> None:
    scores = {"Freeway": 20.0, "Venture": 12.0}  # PC and PCn: 30 and 31; 0 and 1356
    results = results_of(
        tmp_path,
        *(experiment(world, ["deepcs"], 2) for world in scores),
        scores=lambda config: [scores[config.world]] * ROWS,
    )
    (drawing,) = games_figure(results)
    lines = [
        sorted(
            line.get_ydata()[0]
            for line in axes.lines
            if isinstance(line.get_linestyle(), str) and len(line.get_xdata()) == 2
        )
        for axes in drawing.figure.axes[:2]
    ]
    assert lines == [[30, 31], [0]]
    venture = [text.get_text() for text in drawing.figure.axes[1].texts]
    assert venture == ["PC 0 · PCn 1,356 ↑"]
    published = {tuple(row) for row in drawing.data[1].rows}
    assert ("Freeway", "PCn", 31) in published


def test_a_sweep_shows_final_scores_and_the_default_between_them(tmp_path: Path) -> None:
    def scores(config: RunConfig) -> list[float]:
        return [100 * float(str(config.weight)) + config.seed] * ROWS

    world = "MontezumaRevenge"
    swept = experiment(world, ["deepcs"], 3, "sweep = { weight = [0.9, 0.1] }")
    results = results_of(tmp_path, experiment(world, ["deepcs"], 2), swept, scores=scores)
    (drawing,) = sweep_figures(results.groups)
    (joined,) = (line for line in drawing.figure.axes[0].lines if line.get_marker() == "o")
    assert joined.get_ydata().tolist() == [11, 25.5, 91]
    labels = [label.get_text() for label in drawing.figure.axes[0].get_xticklabels()]
    assert labels == ["0.1", "0.25\n(default)", "0.9"]


def test_the_same_runs_give_the_same_files(noisy_results: Results, tmp_path: Path) -> None:
    saved = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (drawing,) = curve_figures(noisy_results.of("Seaquest"))
        saved.append(
            [path.read_bytes() for path in save_figure(drawing.figure, tmp_path / name, "x")]
        )
    assert saved[0] == saved[1]


def test_a_half_finished_run_counts_as_far_as_it_went(tmp_path: Path) -> None:
    results = results_of(
        tmp_path,
        experiment("Seaquest", ["deepcs"], 3),
        scores=lambda config: level(config)[: ROWS // 2 if config.seed == 2 else ROWS],
    )
    group = group_of(results, "deepcs")
    drawing = draw_curves("x", "x", [(group, None)])
    n = [row[3] for row in drawing.data[0].rows if row[0] == "Game score"]
    assert n == [3] * 5 + [2] * 5
    assert "DeepCS (n = 3, 1 unfinished)" in drawing.caption


def test_a_bar_stands_below_its_line_in_the_others_colour_where_that_one_is_ahead(
    tmp_path: Path,
) -> None:
    def scores(config: RunConfig) -> list[float]:
        return [config.seed + 100.0 * (config.treatment == "plain")] * ROWS

    results = results_of(tmp_path, experiment("Freeway", ["deepcs", "plain"], 5), scores=scores)
    (drawing,) = curve_figures(results.of("Freeway"))
    *_, drawn = drawing.figure.axes[2].collections
    assert to_hex(drawn.get_facecolor()[0]) == look("plain", "a2c").colour.lower()
    assert all(path.get_extents().y0 >= 0 for path in drawn.get_paths())


def test_runs_chosen_for_leaving_the_first_room_are_not_tested_against_all_runs(
    tmp_path: Path,
) -> None:
    def scores(config: RunConfig) -> list[float]:
        return [500.0 * config.treatment_settings.paid] * ROWS

    treatments = ["deepcs", "plain", "no-grid"]
    results = results_of(tmp_path, experiment("MontezumaRevenge", treatments, 5), scores=scores)
    drawings = {each.name: each for each in curve_figures(results.of("MontezumaRevenge"))}
    chosen = drawings["montezumarevenge-first-room"]
    assert {row[2] for row in chosen.data[1].rows} == {"No grid"}
    assert {row[1] for row in chosen.data[0].rows} == {"DeepCS", "A2C", "No grid"}


def test_every_agent_whose_runs_leave_the_first_room_has_a_figure_of_them(tmp_path: Path) -> None:
    world = "MontezumaRevenge"
    alone = experiment(world, ["deepcs"], 2, "agents = ['acktr']")
    both = experiment(world, ["deepcs", "plain"], 2, "agents = ['a2c', 'ppo']")
    results = results_of(tmp_path, alone, both, scores=lambda config: [500.0] * ROWS)
    found = {each.name: each for each in curve_figures(results.of(world))}
    chosen = [name for name in found if "first-room" in name]
    assert chosen == ["montezumarevenge-first-room", "montezumarevenge-first-room-ppo"]
    assert found[chosen[1]].title.endswith(", PPO")
    assert found[chosen[1]].paper == f"Ours: the paper has it for A2C, in {S3}."


def test_learners_are_tested_only_where_nothing_but_the_learner_differs(tmp_path: Path) -> None:
    agents = "agents = ['a2c', 'acktr']"
    same = experiment("Seaquest", ["deepcs"], 5, agents)
    (drawing,) = curve_figures(results_of(tmp_path / "same", same).groups)
    assert len(drawing.figure.axes) == 4
    assert "not tested" not in drawing.caption
    ours = experiment("Seaquest", ["deepcs"], 5)
    theirs = experiment(
        "Seaquest", ["deepcs"], 5, "agents = ['acktr']\nsettings = { weight = 0.5, actors = 8 }"
    )
    (drawing,) = curve_figures(results_of(tmp_path / "other", ours, theirs).groups)
    assert len(drawing.figure.axes) == 2
    assert [table.name for table in drawing.data] == ["seaquest-acktr-against-a2c"]
    why = "not tested: DeepCS, ACKTR against DeepCS (actors, weight)."
    assert why in drawing.caption
    assert why in drawing.figure.get_supxlabel()


@styled
def test_a_legend_has_no_more_columns_than_fit() -> None:
    for label, columns in (("DeepCS", 4), ("Life reset, PPO (n = 3 of 5)", 3), ("x" * 70, 1)):
        figure = new_figure(3)
        legend_above(figure, [Line2D([], [], label=label) for _ in range(4)])
        (legend,) = figure.legends
        figure.draw_without_rendering()
        assert legend._ncols == columns
        assert legend.get_window_extent().x1 <= figure.bbox.x1
        assert figure.get_figheight() == pytest.approx(3 + LEGEND_ROW * (-(-4 // columns) - 1))
