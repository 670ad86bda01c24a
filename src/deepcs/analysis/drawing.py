"""A figure with what belongs to it: its name, what to say about it, and the numbers it draws."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.figure import Figure

from deepcs.analysis.paper_figures import OURS
from deepcs.analysis.tables import Table


@dataclass(frozen=True)
class Drawing:
    """A figure for the report."""

    name: str
    """of its files"""
    title: str
    """what it shows, as a heading"""
    caption: str
    """how to read it, with n, in whole sentences"""
    figure: Figure
    data: tuple[Table, ...]
    """every number that is drawn"""
    paper: str = OURS
    """a sentence: which of the paper's figures it follows, if any"""
