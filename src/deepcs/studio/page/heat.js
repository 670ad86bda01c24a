// Where a training went: entries of each tile, room by room, at any time of it.

import { counted, el, renew, short } from "./dom.js";
import { NoAnswer, ask } from "./server.js";

const CELL = 12; // canvas pixels to a tile

/** The same colours mean the same in the maps of all runs on the page. */
export class Scale {
  constructor() {
    this.maps = new Map();
    this.most = 1;
  }

  /** How often a run's busiest tile was entered, and what paints its map on a scale. */
  set(name, busiest, paintMap) {
    this.maps.set(name, { busiest, paintMap });
    const before = this.most;
    this.most = Math.max(1, ...[...this.maps.values()].map((map) => map.busiest));
    if (this.most === before) paintMap(before);
    else for (const map of this.maps.values()) map.paintMap(this.most);
  }
}

/** Of a run; time: as in the address; `show(saved)` reads its visits, if they were saved since. */
export function heatMap(name, named, time, scale) {
  const element = el("section", { class: "heat", hidden: true });
  const title = el("h2", { text: named ? `Where ${name} has been` : "Where it has been" });
  let shown;
  let view = null;
  const show = async (saved) => {
    if (saved === shown) return;
    shown = saved;
    try {
      const visits = await ask("visits", name);
      if (!visits.rooms.length) return;
      const onScale = (busiest, paintMap) => scale.set(name, busiest, paintMap);
      view = heatView(visits, view?.state() ?? time.at, time.note, onScale);
      renew(element, title, ...view.parts);
    } catch (error) {
      if (error instanceof NoAnswer) {
        shown = undefined; // asked again later
        return;
      }
      element.replaceChildren(title, el("p", { class: "problem", text: error.message }));
    }
    element.hidden = false;
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => view?.update());
  return { element, show };
}

function heatView(visits, before, note, onScale) {
  const { steps, rooms, map } = visits;
  const last = steps.length - 1;
  const shown = el("output");
  const slider = el("input", {
    type: "range",
    min: 0,
    max: last,
    step: 1,
    "aria-label": "time of the training",
    "data-key": "time",
  });
  const found = before.atEnd ? -1 : steps.findIndex((step) => step >= before.step);
  slider.value = found < 0 ? last : found;
  const whole = el("input", { type: "checkbox", "data-key": "all until then" });
  whole.checked = before.whole;
  const [maps, canvases] = roomMaps(visits);
  const most = el("span");
  const update = () => {
    const k = Number(slider.value);
    const from = whole.checked ? 0 : k;
    const counts = rooms.map((room) =>
      sums(room.counts.filter(([slice]) => slice >= from && slice <= k)),
    );
    const busiest = Math.max(0, ...counts.map((each) => Math.max(0, ...each.values())));
    shown.textContent = `steps ${from ? short(steps[from - 1]) : 0} to ${short(steps[k])}`;
    onScale(busiest, (end) => {
      most.textContent = counted(end, "entry", "entries");
      canvases.forEach((canvas, r) => paint(canvas, counts[r], visits, end));
    });
  };
  slider.addEventListener("input", update);
  whole.addEventListener("change", update);
  const state = () => ({
    step: steps[slider.value],
    atEnd: Number(slider.value) === last,
    whole: whole.checked,
  });
  for (const field of [slider, whole]) field.addEventListener("change", () => note(state()));
  update();
  return {
    parts: [
      el(
        "p",
        { class: "controls" },
        el("label", { class: "time" }, "time ", slider),
        shown,
        el("label", {}, whole, " all until then"),
        el("span", { class: "scale" }, "1", el("i"), most),
      ),
      el("div", { class: `maps ${map ? "pyramid-maps" : rooms.length > 1 ? "" : "one"}` }, ...maps),
    ],
    update,
    state,
  };
}

/** A figure for each room, at its place in the map where there is one, and their canvases. */
function roomMaps({ rooms, map, columns, rows }) {
  const places = new Map((map ?? []).map(([room, row, column]) => [String(room), [row, column]]));
  const canvases = rooms.map(({ name }) =>
    el("canvas", {
      width: columns * CELL,
      height: rows * CELL,
      role: "img",
      "aria-label": `visits in room ${name}`,
    }),
  );
  const figures = rooms.map(({ name }, k) => {
    const caption = rooms.length > 1 ? el("figcaption", { text: `room ${name}` }) : null;
    const figure = el("figure", {}, canvases[k], caption);
    const at = places.get(name);
    if (at) figure.style.gridArea = `${at[0] + 1} / ${at[1] + 1}`;
    return figure;
  });
  return [figures, canvases];
}

function sums(counts) {
  const found = new Map();
  for (const [, row, column, entries] of counts) {
    const key = `${row} ${column}`;
    found.set(key, (found.get(key) ?? 0) + entries);
  }
  return found;
}

/** Pale to strong on a logarithmic scale; a tile never entered is left as the ground is. */
function paint(canvas, entries, { rows, columns, y_up: up }, most) {
  const context = canvas.getContext("2d");
  const style = getComputedStyle(document.documentElement);
  context.fillStyle = style.getPropertyValue("--ground-tile");
  context.fillRect(0, 0, canvas.width, canvas.height);
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const count = entries.get(`${row} ${column}`);
      if (!count) continue;
      context.globalAlpha = 0.15 + 0.85 * (Math.log1p(count) / Math.log1p(most));
      context.fillStyle = style.getPropertyValue("--heat");
      context.fillRect(column * CELL, (up ? rows - 1 - row : row) * CELL, CELL - 1, CELL - 1);
    }
  }
  context.globalAlpha = 1;
}
