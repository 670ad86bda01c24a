// The bar below the players: what a person can do with a game.

import { el, letGo } from "./dom.js";

/** work: what each field does; shown: the speeds, whether greedy can be chosen, the shortcuts. */
export function makeControls(work, { speeds, greedy, shortcuts }) {
  const button = (text, title, press, more = {}) =>
    el("button", {
      type: "button",
      text,
      title,
      ...more,
      onclick: (event) => {
        if (event.detail) event.currentTarget.blur(); // after a click, the space bar is the game's again
        press();
      },
    });
  const playButton = button("Play", "play or pause (space)", work.toggle, { class: "primary" });
  const stepButton = button("Step", "one step (.)", work.step);
  const speedField = el(
    "select",
    { title: "speed", "aria-label": "speed", onchange: work.setSpeed },
    ...speeds.map((speed) => el("option", { value: speed, text: `${speed}×` })),
  );
  const gameField = el("input", {
    type: "number",
    min: 0,
    max: 1e9,
    step: 1,
    "aria-label": "game",
    title: "the seed: which of the games that deepcs evaluate plays",
    onchange: work.again,
  });
  const greedyField = el("input", { type: "checkbox", onchange: work.again });
  const rate = el("span", { class: "faint rate" });
  const controls = el(
    "div",
    { class: "controls", role: "toolbar", "aria-label": "controls", onchange: letGo },
    playButton,
    stepButton,
    el("label", {}, "speed ", speedField),
    el("label", {}, "game ", gameField),
    button("Again", "begin this game again (r)", work.again),
    button("Next", "the next game (n)", work.next),
    greedy
      ? el(
          "label",
          { title: "always the likeliest action, instead of drawing from the policy" },
          greedyField,
          " greedy",
        )
      : null,
    rate,
    el("span", { class: "faint keys-help", text: shortcuts }),
  );
  return { controls, playButton, stepButton, speedField, gameField, greedyField, rate };
}
