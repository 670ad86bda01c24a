// Where a training went: entries of each tile, room by room, at any time of it.

import { el, plain, short } from "./dom.js";
import { ask } from "./server.js";

const CELL = 12; // canvas pixels to a tile

export function heatMap(name, named) {
  const section = el("section", { class: "heat", hidden: true });
  ask("visits", name)
    .then((visits) => {
      if (!visits.rooms.length) return;
      section.hidden = false;
      fill(section, visits, named ? name : null);
    })
    .catch((error) => {
      section.hidden = false;
      section.append(el("p", { class: "problem", text: error.message }));
    });
  return section;
}

function fill(section, visits, name) {
  const { steps, rooms, map } = visits;
  const shown = el("output");
  const slider = el("input", {
    type: "range",
    min: 0,
    max: steps.length - 1,
    step: 1,
    value: steps.length - 1,
    "aria-label": "time of the training",
  });
  const whole = el("input", { type: "checkbox" });
  const places = new Map((map ?? []).map(([room, row, column]) => [String(room), [row, column]]));
  const canvases = rooms.map((room) => {
    const canvas = el("canvas", {
      width: visits.columns * CELL,
      height: visits.rows * CELL,
      role: "img",
      "aria-label": `visits in room ${room.name}`,
    });
    const figure = el(
      "figure",
      {},
      canvas,
      rooms.length > 1 ? el("figcaption", { text: room.name }) : null,
    );
    const at = places.get(room.name);
    if (at) figure.style.gridArea = `${at[0] + 1} / ${at[1] + 1}`;
    return [canvas, figure];
  });
  const update = () => {
    const k = Number(slider.value);
    const from = whole.checked ? 0 : k;
    const counts = rooms.map((room) =>
      room.counts.filter(([slice]) => slice >= from && slice <= k),
    );
    const most = Math.max(1, ...counts.map((each) => Math.max(0, ...sums(each).values())));
    shown.textContent = `${from ? `steps ${short(steps[from - 1])} to` : "up to step"} ${short(steps[k])} · busiest tile: ${plain(most)} entries`;
    canvases.forEach(([canvas], r) => paint(canvas, sums(counts[r]), visits, most));
  };
  slider.addEventListener("input", update);
  whole.addEventListener("change", update);
  section.append(
    el("h2", { text: name ? `Where ${name} has been` : "Where it has been" }),
    el(
      "p",
      { class: "controls" },
      el("label", {}, "time ", slider),
      el("label", {}, whole, " all until then"),
      shown,
    ),
    el(
      "div",
      { class: map ? "maps pyramid-maps" : rooms.length > 1 ? "maps" : "maps one" },
      ...canvases.map(([, figure]) => figure),
    ),
  );
  update();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", update);
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
  const style = getComputedStyle(canvas);
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
