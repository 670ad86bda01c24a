"""The report as one self-contained HTML file, with its pictures embedded."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from deepcs.analysis.drawing import Drawing
from deepcs.analysis.tables import Table, to_html

LARGEST_SVG = 400_000  # bytes; a figure beyond that is shown as PNG

STYLE = """
:root { --ink: #222; --faint: #666; --line: #ddd; --accent: #0072b2; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: #fff; line-height: 1.5;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main, header, nav { max-width: 66rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2.5rem; }
h1 { font-size: 2rem; margin: 0 0 .25rem; line-height: 1.2; }
h2 { font-size: 1.4rem; margin: 3rem 0 1rem; padding-top: 1rem; border-top: 2px solid var(--ink); }
h3 { font-size: 1.05rem; margin: 2.25rem 0 .5rem; }
p { max-width: 48rem; }
a { color: var(--accent); }
nav { position: sticky; top: 0; z-index: 1; background: #fff;
  border-bottom: 1px solid var(--line); }
nav ul { display: flex; gap: .25rem 1.25rem; list-style: none; padding: .5rem 0; margin: 0;
  overflow-x: auto; white-space: nowrap; }
section { scroll-margin-top: 2.5rem; }
figure { scroll-margin-top: 3.5rem; }
.about { color: var(--faint); margin-top: 0; }
.partial { border-left: 4px solid #e69f00; background: #fff8e6; padding: .6rem 1rem; }
.partial ul { margin: .4rem 0 0; padding-left: 1.2rem; }
figure { margin: 0 0 2.5rem; max-width: 60rem; }
figure img { display: block; width: 100%; height: auto; }
figcaption, .note { color: var(--faint); font-size: .875rem; max-width: 54rem; }
figcaption { margin-top: .6rem; }
.note { margin: .4rem 0; }
.paper { color: var(--faint); font-size: .875rem; margin: -.25rem 0 .6rem; }
.files { white-space: nowrap; }
.scroll { overflow-x: auto; margin-top: 1.5rem; }
table { border-collapse: collapse; font-size: .8125rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; font-size: 1rem; padding-bottom: .4rem; }
th, td { padding: .25rem .45rem; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); }
th { border-bottom: 2px solid var(--ink); vertical-align: bottom; }
td { white-space: nowrap; }
.n { text-align: right; }
.strong td { font-weight: 600; }
.videos { display: grid; grid-template-columns: repeat(auto-fill, minmax(18rem, 1fr)); gap: 1rem; }
video { width: 100%; background: #111; }
td.wrap { white-space: normal; min-width: 14rem; }
.wide { overflow-x: auto; }
.broad td { min-width: 2.75rem; }
.broad td:not(.n) { white-space: normal; }
.broad td.wrap { min-width: 10rem; }
@media screen and (min-width: 40rem) {
  .broad { width: max-content; min-width: 100%; max-width: calc(100vw - 3.5rem);
    margin-left: 50%; transform: translateX(-50%); }
}
@media screen and (max-width: 40rem) {
  .broad :is(table, caption, tbody) { display: block; }
  .broad thead { display: none; }
  .broad tr { display: flex; flex-wrap: wrap; gap: 0 1rem; padding: .5rem 0;
    border-bottom: 1px solid var(--line); }
  .broad td { border: 0; padding: 0; }
  .broad td::before { content: attr(data-of) " "; color: var(--faint); }
  .broad td.wrap { flex-basis: 100%; }
}
@media (max-width: 40rem) {
  main, header, nav { padding: 0 .75rem; }
  h1 { font-size: 1.4rem; overflow-wrap: anywhere; }
  h2 { font-size: 1.15rem; margin-top: 2rem; }
  li, p, figcaption { overflow-wrap: anywhere; }
  .files { white-space: normal; }
  .wide img { min-width: 34rem; }
  td.wrap { min-width: 11rem; }
  .videos { grid-template-columns: 1fr; }
}
@media print {
  @page { margin: 15mm; }
  nav { position: static; }
  nav, .files, .filmed { display: none; }
  body { font-size: 10pt; }
  main, header { max-width: none; padding: 0; }
  figure, tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  .scroll { overflow: visible; }
  table { font-size: 7.5pt; }
  th, td { padding: .15rem .3rem; }
}
"""


@dataclass
class Section:
    """A part of the page, reached from the top by its name."""

    name: str
    title: str
    parts: list[str] = field(default_factory=list)
    """HTML"""


def figure_html(drawing: Drawing, folder: Path) -> str:
    """The figure inside the page, its caption, and links to its files beside the page."""
    svg, png = (folder / "figures" / f"{drawing.name}.{kind}" for kind in ("svg", "png"))
    path, kind = (svg, "svg+xml") if svg.stat().st_size <= LARGEST_SVG else (png, "png")
    picture = base64.b64encode(path.read_bytes()).decode()
    width = float(drawing.figure.get_figwidth()) / 7
    files = [("PNG", f"figures/{png.name}"), ("SVG", f"figures/{svg.name}")]
    for table in drawing.data:
        part = table.name.removeprefix(drawing.name).replace("-", " ")
        files.append((f"CSV{part}", f"data/{table.name}.csv"))
    links = " · ".join(f'<a href="{html.escape(to)}">{name}</a>' for name, to in files)
    title = html.escape(drawing.title)
    return (
        f'<figure id="{html.escape(drawing.name)}"><h3>{title}</h3>'
        f'<p class="paper">{html.escape(drawing.paper)}</p>'
        f'<div class="wide"><img alt="{title}" style="max-width: {min(100 * width, 100):.0f}%" '
        f'src="data:image/{kind};base64,{picture}"></div>'
        f'<figcaption>{html.escape(drawing.caption)} <span class="files">{links}</span>'
        "</figcaption></figure>"
    )


def table_html(table: Table) -> str:
    """The table, and links to its files beside the page."""
    links = " · ".join(
        f'<a href="tables/{html.escape(table.name)}.{kind}">{name}</a>'
        for kind, name in (("md", "Markdown"), ("csv", "CSV"), ("tex", "LaTeX"))
    )
    return f'{to_html(table)}<p class="note files">{links}</p>'


def videos_html(videos: Sequence[tuple[str, str | None]]) -> str:
    """Players of (what it shows, path from the page); without a path, only what is said."""
    players = "".join(
        f'<figure><video controls preload="metadata" src="{html.escape(path)}"></video>'
        f'<figcaption>{html.escape(what)} <a href="{html.escape(path)}">MP4</a></figcaption>'
        "</figure>"
        if path is not None
        else f"<figure><figcaption>{html.escape(what)}</figcaption></figure>"
        for what, path in videos
    )
    return f'<div class="filmed"><h3>Videos</h3><div class="videos">{players}</div></div>'


def links_html(title: str, links: Sequence[tuple[str, str]]) -> str:
    """A list of (name, path from the page), folded away."""
    items = "".join(
        f'<li><a href="{html.escape(quote(path))}">{html.escape(name)}</a></li>'
        for name, path in links
    )
    return f"<details><summary>{html.escape(title)}</summary><ul>{items}</ul></details>"


def list_html(lines: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{html.escape(line)}</li>' for line in lines)}</ul>"


def partial_html(summary: str, problems: Sequence[str]) -> str:
    """A warning above everything else."""
    listed = list_html(problems) if problems else ""
    return f'<div class="partial"><strong>Partial.</strong> {html.escape(summary)}{listed}</div>'


def page_html(title: str, about: str, top: str, sections: Sequence[Section]) -> str:
    """The whole page; `top`: HTML that stands before the sections."""
    shown = [section for section in sections if section.parts]
    links = "".join(
        f'<li><a href="#{html.escape(s.name)}">{html.escape(s.title)}</a></li>' for s in shown
    )
    body = "\n".join(
        f'<section id="{html.escape(s.name)}"><h2>{html.escape(s.title)}</h2>\n'
        + "\n".join(s.parts)
        + "</section>"
        for s in shown
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'<header><h1>{html.escape(title)}</h1><p class="about">{html.escape(about)}</p>{top}'
        f"</header>\n<nav><ul>{links}</ul></nav>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )
