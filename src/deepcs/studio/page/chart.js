// Line charts in SVG: small, themed by the style sheet, and content with the strict policy.

import { UNITS, el, measured, short, svg } from "./dom.js";

const HEIGHT = 226; // that of .plot
const LEFT = 46; // of the axis, unless its labels are longer
const BOTTOM = 40;
const TOP = 8;
const RIGHT = 12;
const FLOOR = HEIGHT - BOTTOM;
const COLOURS = ["--line-1", "--line-2", "--line-3", "--line-4", "--line-5", "--line-6"];

const LETTERS = 11; // their height in pixels, as in the style sheet
const MOST_DIGITS = 8; // before or behind the point; with more, a label has an exponent
const TOLD = 1e-9; // of a number: a range that is smaller is rounding

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
  let marked = null; // the step whose values are told; null: the last
  const drawAgain = () => {
    scales = draw(place, series, title);
    place.tabIndex = scales ? 0 : -1;
    mark(marked);
  };
  place.setAttribute("role", "group");
  place.setAttribute("aria-label", `${title}: the arrow keys tell its values`);
  new ResizeObserver(drawAgain).observe(place);
  place.addEventListener("pointermove", (event) => {
    if (!scales) return;
    const box = place.getBoundingClientRect();
    mark(nearest(steps(), scales.toX(event.clientX - box.left)));
  });
  place.addEventListener("pointerleave", () => mark(null));
  place.addEventListener("keydown", (event) => {
    const to = scales && moved(event.key, steps(), marked);
    if (to === undefined || to === null) return;
    event.preventDefault();
    mark(to);
  });
  // Only then: charts of a training change by themselves, and would all be read out.
  place.addEventListener("focus", () => told.lastChild.setAttribute("aria-live", "polite"));
  place.addEventListener("blur", () => {
    told.lastChild.removeAttribute("aria-live");
    mark(null);
  });

  function steps() {
    const all = series.flatMap(({ x }) => x).filter((step) => step !== null);
    return [...new Set(all)].sort((a, b) => a - b);
  }

  function tell(values, when = "") {
    const digits = telling(series.flatMap(({ y }) => y).filter(Number.isFinite));
    const parts = values.map((value, k) => {
      const part = el("span", { text: measured(value, digits), title: series[k].name });
      if (series.length > 1) part.style.color = series[k].colour;
      return part;
    });
    told.lastChild.replaceChildren(...parts, when);
  }

  /** Tell the values at a step, with a cross there; null: those at the end. */
  function mark(step) {
    marked = step;
    place.querySelector(".cross")?.remove();
    if (step === null || !scales) {
      tell(series.map(({ y }) => y.findLast((value) => value !== null)));
      return;
    }
    const at = scales.x(step);
    tell(
      series.map(({ x, y }) => y[x.indexOf(nearest(x, step))]),
      el("span", { class: "faint", text: `at step ${short(step)}` }),
    );
    place.firstChild.append(svg("line", { class: "cross", x1: at, x2: at, y1: TOP, y2: FLOOR }));
  }

  return {
    element,
    update(given) {
      series = given;
      drawAgain();
    },
  };
}

/** How many digits tell such values apart: three of their range. */
function telling(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const most = Math.max(-low, high);
  if (!(high - low > most * TOLD)) return 3;
  return 3 + Math.max(0, Math.floor(Math.log10(most / (high - low))));
}

/** Where a key takes the cross; from: null: it begins at the end. */
function moved(key, steps, from) {
  const last = steps.length - 1;
  const at = from === null ? last : steps.indexOf(nearest(steps, from));
  const before = from === null ? last : at - 1;
  const to = { ArrowLeft: before, ArrowRight: at + 1, Home: 0, End: last }[key];
  return to === undefined ? undefined : steps[Math.min(Math.max(to, 0), last)];
}

function nearest(xs, x) {
  return xs.reduce((best, each) => (Math.abs(each - x) < Math.abs(best - x) ? each : best), xs[0]);
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
  const labels = labelled(ticks(low, high, 4));
  const left = Math.max(LEFT, widest(labels.map(([, label]) => label)) + 10);
  const x = (value) => left + (value / end) * (width - left - RIGHT);
  const y = (value) => TOP + ((high - value) / (high - low)) * (FLOOR - TOP);
  const picture = svg("svg", {
    width,
    height: HEIGHT,
    role: "img",
    "aria-label": `${title} over training`,
  });
  picture.append(...axes({ x, y, labels, left, end, width }));
  for (const each of series) {
    const path = svg("path", { class: "line", d: pathOf(each, x, y) });
    path.style.stroke = each.colour;
    picture.append(...(each.marks ?? []).map((mark) => milestone(mark, x, each.colour)), path);
  }
  place.replaceChildren(picture);
  return { x, toX: (pixel) => ((pixel - left) / (width - left - RIGHT)) * end };
}

function axes({ x, y, labels, left, end, width }) {
  const right = width - RIGHT;
  return [
    ...labels.flatMap(([value, label]) => [
      svg("line", { class: "grid", x1: left, x2: right, y1: y(value), y2: y(value) }),
      text(left - 6, y(value) + 4, label, "end"),
    ]),
    ...labelled(ticks(0, end, Math.max(2, width / 110))).flatMap(([value, label]) => [
      svg("line", { class: "axis", x1: x(value), x2: x(value), y1: FLOOR, y2: FLOOR + 4 }),
      text(x(value), FLOOR + 17, label, value > 0.97 * end ? "end" : "middle"),
    ]),
    svg("line", { class: "axis", x1: left, x2: right, y1: FLOOR, y2: FLOOR }),
    text((left + right) / 2, HEIGHT - 5, "steps", "middle"),
  ];
}

/** Values of an axis, each with its label: all in one unit, with digits that tell them apart. */
function labelled(values) {
  const step = values[1] - values[0];
  const most = Math.max(...values.map(Math.abs));
  const [size, letter] = (step >= 1000 && UNITS.find(([each]) => most >= each)) || [1, ""];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  const whole = Math.floor(Math.log10(most / size));
  const behind = whole - Math.floor(Math.log10(step / size) + 1e-9); // the first digit
  const written = (value) =>
    Math.max(whole, digits) > MOST_DIGITS
      ? value.toExponential(Math.max(0, behind))
      : `${(value / size).toFixed(digits)}${letter}`;
  const label = (value) => (Math.abs(value) < step / 1e6 ? "0" : written(value));
  return values.map((value) => [value, label(value)]);
}

function padded(low, high) {
  if (low === 0 && high === 0) return [0, 1];
  if (high - low <= Math.abs(high) * TOLD) {
    const around = Math.max(0.5, Math.abs(high) * 1e-3);
    return [low - around, high + around];
  }
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

/** Of these labels the width in pixels. */
function widest(labels) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `${LETTERS}px ${getComputedStyle(document.body).fontFamily}`;
  return Math.ceil(Math.max(0, ...labels.map((label) => pen.measureText(label).width)));
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
