"""Published results: the table as the paper prints it, and the scale of humans."""

from __future__ import annotations

import pytest

from deepcs import games
from deepcs.analysis.published import METHODS, TABLE, TEN_GAMES, Score, published

# The body of the paper's table `table:controls`, letter by letter but for its citations.
PRINTED = r"""
              & DQN & A3C & PC & PCn & R & Ape-X & DeepCS \\
Frames        & 200M & 200M & 400M   & 500M      & 200M   & 22.8B    & 640M \\
\midrule
Amidar        & 739  & 283  & 964    & $\sim$900  & 5131   & 8659    & 1404 \\
Freeway       & 30   & 0     & 30    & 31         & 34     & 33      & 33 \\
Gravitar      & 306  & 269  & 246    & 859        & 1419   & 1598    & 881  \\
MR            & 0    & 53   & 3439   & 3705       & 154    & 2500    & 3500 \\
Tutankham     & 186  & 156   & 132   & $\sim$190  & 241    & 272     & 256 \\
\midrule
Alien         & 3069 & 518   & 1945  & $\sim$1700 & 9491   & 40804   & 2705 \\
Kangaroo      & 6740 & 94    & 5475  & $\sim$7900 & 14637  & 1416    & 2837 \\
Pitfall       & -    & -78   & -155  & 0          & 0      & 0       & -186 \\
Private Eye   & 1788 & 206   & 246   & 15806      & 4234   & 864     & 1105  \\
Seaquest      & 5286 & 2300 & 2274   & $\sim$2500 & 19,176 & 392,952 & 3443 \\
Venture       & 380  & 23    & 0     & 1356       & 5      & 1813    & 12 \\
Wizard of Wor & 3393 & 17244 & 3657  & $\sim$2500 & 17862  & 46897   & 2134 \\
"""
LINES = [
    [cell.strip() for cell in line.removesuffix(r"\\").split("&")]
    for line in PRINTED.strip().splitlines()
    if "&" in line
]


def parse(cell: str) -> Score | None:
    if cell == "-":
        return None
    return Score(int(cell.replace(r"$\sim$", "").replace(",", "")), cell.startswith("$"))


def test_the_table_has_the_papers_columns() -> None:
    headings, frames = LINES[0][1:], LINES[1][1:]
    units = {"M": 10**6, "B": 10**9}
    assert [method.label for method in METHODS] == headings
    assert [method.frames for method in METHODS] == [
        round(float(cell[:-1]) * units[cell[-1]]) for cell in frames
    ]


def test_the_table_is_the_papers_cell_by_cell() -> None:
    assert [(row.label, *row.scores) for row in TABLE] == [
        (label, *map(parse, cells)) for label, *cells in LINES[2:]
    ]


def test_the_table_has_the_twelve_games() -> None:
    assert sorted(row.game for row in TABLE) == sorted(games())


def test_the_upper_block_is_where_deepcs_is_ahead_of_dqn_a3c_and_pseudo_counts() -> None:
    ahead = [
        all(
            score is None or score.points < row.deepcs.points
            for score in (row.dqn, row.a3c, row.pc)
        )
        for row in TABLE
    ]
    assert ahead == [True] * 5 + [False] * 7


def test_the_ten_games_are_those_without_a_figure_of_their_own_and_have_both_references() -> None:
    assert set(TEN_GAMES) == set(games()) - {"MontezumaRevenge", "Seaquest"}
    assert len(TEN_GAMES) == 10
    references = {name: (str(published(name).pc), str(published(name).pcn)) for name in TEN_GAMES}
    assert references["Kangaroo"] == ("5475", "~7900")
    assert references["Pitfall"] == ("-155", "0")


def test_the_caption_names_three_best_runs_each_above_the_median() -> None:
    best = {row.game: row.best for row in TABLE if row.best is not None}
    assert best == {"Amidar": 2600, "MontezumaRevenge": 6600, "Seaquest": 80_000}
    assert all(points > published(name).deepcs.points for name, points in best.items())


# (random, human) from no-op starts, Wang et al. 2016, as two public transcriptions have them.
SCALE = {
    "Alien": (227.8, 7127.7),
    "Amidar": (5.8, 1719.5),
    "Freeway": (0.0, 29.6),
    "Gravitar": (173.0, 3351.4),
    "Kangaroo": (52.0, 3035.0),
    "MontezumaRevenge": (0.0, 4753.3),
    "Pitfall": (-229.4, 6463.7),
    "PrivateEye": (24.9, 69571.3),
    "Seaquest": (68.4, 42054.7),
    "Tutankham": (11.4, 167.6),
    "Venture": (0.0, 1187.5),
    "WizardOfWor": (563.5, 4756.5),
}


def test_random_play_and_humans_score_what_the_literature_has() -> None:
    assert {row.game: (row.random, row.human) for row in TABLE} == SCALE


def test_a_game_is_found_in_any_clear_spelling() -> None:
    assert published("wizard_of_wor") is published("ALE/WizardOfWor-v5")
    with pytest.raises(ValueError, match=r"^Got game 'Pong', which is not known; "):
        published("Pong")
