// Line charts in SVG: small, themed by the style sheet, and content with the strict policy.

import { el, plain, short, svg } from "./dom.js";

const HEIGHT = 210;
const LEFT = 58;
const BOTTOM = 24;
const TOP = 8;
const RIGHT = 12;
const COLOURS = ["--line-1", "--line-2", "--line-3", "--line-4", "--line-5", "--line-6"];

export function colour(k) {
  return `var(${COLOURS[k % COLOURS.length]})`;
}

/** Round numbers from low to high, some `count` of them. */
export function ticks(low, high, count) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((each) => each * power >= rough) * power;
  const first = Math.ceil(low / step - 1e-9);
  const found = [];
  for (let k = first; k * step <= high + step * 1e-9; k += 1) found.push(k * step);
  return found;
}

export function lineChart(title) {
  const told = el("figcaption", {}, el("strong", { text: title }), el("span", { class: "faint" }));
  const place = el("div", { class: "plot" });
  const element = el("figure", { class: "chart" }, told, place);
  let series = [];
  let scales = null;
  const drawAgain = () => {
    scales = draw(place, series, title);
  };
  new ResizeObserver(drawAgain).observe(place);
  place.addEventListener("pointermove", (event) => point(event));
  place.addEventListener("pointerleave", () => {
    last();
    place.querySelector(".cross")?.remove();
  });

  function last() {
    const ends = series.map(({ y }) => [...y].reverse().find((value) => value !== null));
    told.lastChild.textContent = ends.map((value) => plain(value, 3)).join("  ");
  }

  function point(event) {
    if (!scales) return;
    const box = place.getBoundingClientRect();
    const x = scales.toX(event.clientX - box.left);
    const values = series.map((each) => each.y[nearest(each.x, x)]);
    const step = series.length ? series[0].x[nearest(series[0].x, x)] : 0;
    told.lastChild.textContent = `${values.map((value) => plain(value, 3)).join("  ")}  at step ${short(step ?? 0)}`;
    place.querySelector(".cross")?.remove();
    const at = scales.x(step ?? 0);
    place.firstChild?.append(
      svg("line", { class: "cross", x1: at, x2: at, y1: TOP, y2: HEIGHT - BOTTOM }),
    );
  }

  return {
    element,
    update(given) {
      series = given;
      drawAgain();
      last();
    },
  };
}

function nearest(xs, x) {
  let best = 0;
  xs.forEach((each, k) => {
    if (Math.abs(each - x) < Math.abs(xs[best] - x)) best = k;
  });
  return best;
}

function draw(place, series, title) {
  const width = place.clientWidth;
  if (width < 60) return null;
  const xs = series.flatMap(({ x }) => x).filter((value) => value !== null);
  const ys = series.flatMap(({ y }) => y).filter((value) => value !== null);
  if (!ys.length) {
    place.replaceChildren(el("p", { class: "faint nothing", text: "nothing yet" }));
    return null;
  }
  const [low, high] = padded(Math.min(...ys), Math.max(...ys));
  const end = Math.max(...xs, 1);
  const x = (value) => LEFT + (value / end) * (width - LEFT - RIGHT);
  const y = (value) => TOP + ((high - value) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  const picture = svg("svg", {
    width,
    height: HEIGHT,
    role: "img",
    "aria-label": `${title} over training`,
  });
  const heights = ticks(low, high, 4);
  for (const value of heights) {
    picture.append(
      svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }),
      text(LEFT - 6, y(value) + 4, label(value, heights), "end"),
    );
  }
  for (const value of ticks(0, end, Math.max(2, width / 110))) {
    picture.append(text(x(value), HEIGHT - 6, short(value), "middle"));
  }
  for (const each of series) {
    const path = svg("path", { class: "line", d: pathOf(each, x, y) });
    path.style.stroke = each.colour;
    picture.append(path);
  }
  place.replaceChildren(picture);
  return { x, toX: (pixel) => ((pixel - LEFT) / (width - LEFT - RIGHT)) * end };
}

/** With as many digits as tell neighbours apart. */
function label(value, all) {
  const step = Math.abs(all[1] - all[0]) || 1;
  if (step >= 1000) return short(value);
  return plain(value, Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)));
}

function padded(low, high) {
  if (low === high) return [low - 0.5, high + 0.5];
  const room = (high - low) * 0.05;
  return [low >= 0 && low - room < 0 ? 0 : low - room, high + room];
}

function text(x, y, content, anchor) {
  const label = svg("text", { x, y, "text-anchor": anchor });
  label.textContent = content;
  return label;
}

/** A line with gaps where nothing is known. */
function pathOf(series, x, y) {
  let pen = "M";
  let path = "";
  series.x.forEach((step, k) => {
    const value = series.y[k];
    if (value === null || value === undefined || step === null) {
      pen = "M";
      return;
    }
    path += `${pen}${x(step).toFixed(1)} ${y(value).toFixed(1)}`;
    if (pen === "M") path += "h0.01"; // a lonely point is a dot
    pen = "L";
  });
  return path;
}
