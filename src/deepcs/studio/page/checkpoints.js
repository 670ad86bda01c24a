// A run's checkpoints on a slider: the same game, played by each of them.

import { el, short } from "./dom.js";

/** chosen: a step; undefined: the newest, whichever that is by then. Null: nothing to choose. */
export function checkpointSlider(steps, chosen, key, choose) {
  if (steps.length < 2) return null;
  const last = steps.length - 1;
  const at = chosen === undefined ? last : steps.findLastIndex((step) => step <= chosen);
  const shown = el("output", { text: chosen === undefined ? "newest" : short(chosen) });
  const field = el("input", {
    type: "range",
    min: 0,
    max: last,
    step: 1,
    value: Math.max(at, 0),
    "data-key": key,
    oninput: () => {
      shown.textContent = short(steps[field.value]);
    },
    onchange: () => choose(steps[field.value]),
  });
  return el("label", { class: "checkpoint" }, "checkpoint ", field, " ", shown);
}
