// Line charts in SVG: small, themed by the style sheet, and content with the strict policy.

import { UNITS, el, measured, short, svg } from "./dom.js";

const HEIGHT = 226; // that of .plot
const LEFT = 46;
const BOTTOM = 40;
const TOP = 8;
const RIGHT = 12;
const FLOOR = HEIGHT - BOTTOM;
const COLOURS = ["--line-1", "--line-2", "--line-3", "--line-4", "--line-5", "--line-6"];

const STEPS = [0.5, 1, 2, 5, 10]; // times a power of ten

export function colour(k) {
  return `var(${COLOURS[k % COLOURS.length]})`;
}

/** Round numbers from low to high, some `count` of them, and three at least. */
export function ticks(low, high, count) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const at = STEPS.findIndex((each) => each * power >= rough);
  const found = multiples(low, high, STEPS[at] * power);
  return found.length < 3 ? multiples(low, high, STEPS[at - 1] * power) : found;
}

function multiples(low, high, step) {
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1)
    found.push(k * step);
  return found;
}

export function lineChart(title) {
  const told = el("figcaption", {}, el("strong", { text: title }), el("span", { class: "ends" }));
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
    tell(series.map(({ y }) => y.findLast((value) => value !== null)));
  }

  function tell(values, when = "") {
    const parts = values.map((value, k) => {
      const part = el("span", { text: measured(value), title: series[k].name });
      if (series.length > 1) part.style.color = series[k].colour;
      return part;
    });
    told.lastChild.replaceChildren(...parts, when);
  }

  function point(event) {
    if (!scales) return;
    const box = place.getBoundingClientRect();
    const x = scales.toX(event.clientX - box.left);
    const values = series.map((each) => each.y[nearest(each.x, x)]);
    const step = series.length ? series[0].x[nearest(series[0].x, x)] : 0;
    tell(values, el("span", { class: "faint", text: `at step ${short(step ?? 0)}` }));
    place.querySelector(".cross")?.remove();
    const at = scales.x(step ?? 0);
    place.firstChild?.append(
      svg("line", { class: "cross", x1: at, x2: at, y1: TOP, y2: FLOOR }),
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
  const y = (value) => TOP + ((high - value) / (high - low)) * (FLOOR - TOP);
  const picture = svg("svg", {
    width,
    height: HEIGHT,
    role: "img",
    "aria-label": `${title} over training`,
  });
  picture.append(...axes({ x, y, low, high, end, width }));
  for (const each of series) {
    const path = svg("path", { class: "line", d: pathOf(each, x, y) });
    path.style.stroke = each.colour;
    picture.append(...(each.marks ?? []).map((mark) => milestone(mark, x, each.colour)), path);
  }
  place.replaceChildren(picture);
  return { x, toX: (pixel) => ((pixel - LEFT) / (width - LEFT - RIGHT)) * end };
}

function axes({ x, y, low, high, end, width }) {
  const right = width - RIGHT;
  return [
    ...labelled(ticks(low, high, 4)).flatMap(([value, label]) => [
      svg("line", { class: "grid", x1: LEFT, x2: right, y1: y(value), y2: y(value) }),
      text(LEFT - 6, y(value) + 4, label, "end"),
    ]),
    ...labelled(ticks(0, end, Math.max(2, width / 110))).flatMap(([value, label]) => [
      svg("line", { class: "axis", x1: x(value), x2: x(value), y1: FLOOR, y2: FLOOR + 4 }),
      text(x(value), FLOOR + 17, label, value > 0.97 * end ? "end" : "middle"),
    ]),
    svg("line", { class: "axis", x1: LEFT, x2: right, y1: FLOOR, y2: FLOOR }),
    text((LEFT + right) / 2, HEIGHT - 5, "steps", "middle"),
  ];
}

/** Values of an axis, each with its label: all in one unit, with digits that tell them apart. */
function labelled(values) {
  const step = values[1] - values[0];
  const most = Math.max(...values.map(Math.abs));
  const [size, letter] = (step >= 1000 && UNITS.find(([each]) => most >= each)) || [1, ""];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  const label = (value) =>
    Math.abs(value) < step / 1e6 ? "0" : `${(value / size).toFixed(digits)}${letter}`;
  return values.map((value) => [value, label(value)]);
}

function padded(low, high) {
  if (low === 0 && high === 0) return [0, 1];
  if (low === high) return [low - 0.5, high + 0.5];
  const room = (high - low) * 0.05;
  return [low >= 0 && low - room < 0 ? 0 : low - room, high + room];
}

/** A step at which something happened for the first time. */
function milestone({ label, step }, x, stroke) {
  const line = svg("line", { class: "milestone", x1: x(step), x2: x(step), y1: TOP, y2: FLOOR });
  line.style.stroke = stroke;
  const title = svg("title");
  title.textContent = `${label}: step ${short(step)}`;
  line.append(title);
  return line;
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
