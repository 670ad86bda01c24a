"""How every figure looks: one set of colour-blind-safe colours, one font size."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.legend import Legend
from matplotlib.ticker import FuncFormatter

from deepcs.agents.table import PAPERS_AGENT
from deepcs.system.files import write_whole

INK = "#222222"
FAINT = "#6b6b6b"
PALE = "#e3e3e3"
HEAT = "YlGnBu"  # darkens evenly, also for the colour-blind and in print

WIDTH = 7.0  # inches: the text width of a page
DPI = 200
LEGEND_ROW = 0.17  # inches

STYLE = matplotlib.RcParams(
    {
        "font.family": "DejaVu Sans",  # comes with matplotlib
        "font.size": 8,
        "axes.titlesize": 9,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.labelsize": 8,
        "xtick.labelsize": 8,
        "ytick.labelsize": 8,
        "legend.fontsize": 8,
        "legend.frameon": False,
        "axes.edgecolor": FAINT,
        "axes.labelcolor": INK,
        "axes.titlecolor": INK,
        "text.color": INK,
        "xtick.color": FAINT,
        "ytick.color": FAINT,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "axes.linewidth": 0.8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "grid.color": PALE,
        "grid.linewidth": 0.6,
        "lines.linewidth": 1.8,
        "lines.solid_capstyle": "round",
        "figure.facecolor": "white",
        "savefig.facecolor": "white",
        "text.parse_math": False,  # a $ in somebody's name is a $
        "svg.fonttype": "path",  # the same letters on every machine
        "svg.hashsalt": "deepcs",  # the same numbers give the same file
    }
)
styled = matplotlib.rc_context(STYLE)
"""decorator of everything that draws"""


@dataclass(frozen=True)
class Look:
    """What a treatment is called and drawn with, in every figure."""

    label: str
    colour: str
    line: Literal["-", "--"] = "-"
    marker: str = ""
    """a few along its line, so that lines can be told apart in grey"""


# Okabe and Ito's colours for the paper's treatments; darker or browner ones beside them.
_TREATMENTS = {
    "deepcs": Look("DeepCS", "#0072B2", marker="o"),
    "plain": Look("A2C", "#D55E00", marker="s"),
    "no-grid": Look("No grid", "#009E73", marker="^"),
    "no-intrinsic": Look("No intrinsic", "#CC79A7", marker="D"),
    "never-reset": Look("Never reset", "#E69F00", marker="v"),
    "life-reset": Look("Life reset", "#56B4E9", marker="P"),
    "counts": Look("Counts", "#7A4B00", marker="X"),
    "pseudo-counts": Look("Pseudo-counts", "#B22222", marker="<"),
    "rnd": Look("RND", "#5E3C99", marker=">"),
    "counts+grid": Look("Counts, with grid", "#A08030", marker="d"),
    "hybrid": Look("Hybrid", "#1B4F2E", marker="p"),
    "deepcs-pixels": Look("DeepCS, pixels", "#2B3A67", marker="h"),
    "deepcs-hash": Look("DeepCS, hash", "#4C8C9B", marker="*"),
    "fading": Look("Fading", "#8C8C00", marker="H"),
}
_OF_AGENTS = {  # of agents that the paper has beside its main one
    ("deepcs", "acktr"): ("DeepCS, ACKTR", "#000000"),
    ("plain", "acktr"): ("ACKTR", "#7F7F7F"),
}


def look(treatment: str, agent: str) -> Look:
    """The look of a treatment under an agent; agents that the paper has not are dashed."""
    base = _TREATMENTS.get(treatment)
    if base is None:
        base = Look(treatment.replace("-", " ").capitalize(), FAINT, "--")
    if agent == PAPERS_AGENT:
        return base
    if (treatment, agent) in _OF_AGENTS:
        label, colour = _OF_AGENTS[treatment, agent]
        return Look(label, colour, marker=base.marker)
    label = agent_name(agent) if treatment == "plain" else f"{base.label}, {agent_name(agent)}"
    return Look(label, base.colour, "--", base.marker)


def agent_name(agent: str) -> str:
    """A learner's name as people write it: A2C, or the name of a user's class."""
    return agent.rpartition(":")[2] if ":" in agent else agent.upper()


def spaced(world: str) -> str:
    """A world's name as people write it: Wizard of Wor; Cart Pole for my_module:cart_pole."""
    if ":" in world:  # the factory of a user's environment
        world = world.rpartition(":")[2]
        return " ".join(word[0].upper() + word[1:] for word in world.split("_") if word) or world
    letters = (f" {c}" if c.isupper() and i else c for i, c in enumerate(world))
    name = "".join(letters).replace(" Of ", " of ")
    return name.replace("Montezuma Revenge", "Montezuma's Revenge")


def file_name(text: str) -> str:
    """Lower case, and a hyphen for all that has no place in a file's name."""
    return "-".join("".join(c if c.isalnum() or c in ".=" else " " for c in text.lower()).split())


def short(number: float) -> str:
    """2000 as 2k, 10000000 as 10M."""
    for unit, name in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= unit:
            return f"{number / unit:.4g}{name}"
    return f"{number:.4g}"


def new_figure(height: float, width: float = WIDTH) -> Figure:
    """An empty figure, in inches, with automatic layout."""
    return Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.05, h_pad=0.05))


def shorten_ticks(axes: Axes, which: Sequence[Literal["x", "y"]] = ("x", "y")) -> None:
    """Thousands as 2k, millions as 10M, in few ticks."""
    for name in which:
        axis = axes.xaxis if name == "x" else axes.yaxis
        axis.set_major_formatter(FuncFormatter(lambda number, _: short(number)))
        axes.locator_params(axis=name, nbins=5)


def from_zero(axes: Axes, which: Literal["x", "y"] = "y") -> None:
    """Let an axis begin at 0 where nothing is lower, and not collapse where all is 0."""
    low, high = axes.dataLim.intervalx if which == "x" else axes.dataLim.intervaly
    low, high = min(low, 0.0), max(high, 0.0)
    room = high - low or 1.0
    limits = low - 0.04 * room, low + 1.04 * room
    if which == "x":
        axes.set_xlim(limits)
    else:
        axes.set_ylim(limits)


def legend_above(
    figure: Figure, handles: Sequence[Any], title: str | None = None, columns: int = 4
) -> None:
    """One legend for the whole figure, above it, under the figure's title.

    columns: at most; fewer where the labels need it, with a higher figure for more rows.
    """
    most = max(1, min(columns, len(handles)))
    fewer = (most - less for less in range(most))
    used = next((n for n in fewer if _legend_fits(_legend(figure, handles, title, n))), 1)
    rows = -(-len(handles) // used) - -(-len(handles) // most)
    figure.set_figheight(figure.get_figheight() + LEGEND_ROW * rows)


def _legend(figure: Figure, handles: Sequence[Any], title: str | None, columns: int) -> Legend:
    """A legend of so many columns, in place of an earlier one."""
    for earlier in tuple(figure.legends):
        earlier.remove()
    return figure.legend(
        handles=handles,
        title=title,
        title_fontproperties={"weight": "bold", "size": 10},
        alignment="left",
        loc="outside upper left",
        ncols=columns,
        handlelength=1.6,
        columnspacing=1.4,
        borderaxespad=0.2,
    )


def _legend_fits(legend: Legend) -> bool:
    """Whether a legend is no wider than its figure."""
    figure = legend.get_figure()
    assert isinstance(figure, Figure)
    return bool(legend.get_window_extent().width <= figure.bbox.width)


@styled
def save_figure(figure: Figure, folder: Path, name: str) -> tuple[Path, Path]:
    """Write <name>.png and <name>.svg; returns their paths."""
    paths = folder / f"{name}.png", folder / f"{name}.svg"
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # laid out once is enough
    for path in paths:
        content = io.BytesIO()
        metadata = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(content, format=path.suffix[1:], dpi=DPI, metadata=metadata)
        write_whole(path, content.getvalue())
    return paths
