// A run, or several beside each other: curves, milestones, settings, where it has been.

import { lineChart, colour } from "./chart.js";
import { breakable, el, plain, renew, short } from "./dom.js";
import { Scale, heatMap } from "./heat.js";
import { address, playerText, timeInAddress } from "./place.js";
import { progress, state } from "./runs.js";
import { NoAnswer, ask, repeat } from "./server.js";

const EVERY = 5000; // milliseconds
const FIRST = ["score", "intrinsic", "entropy", "steps_per_second", "tiles"];
const NOT_DRAWN = new Set(["step", "seconds", "games", "learning_rate"]);
const TITLES = {
  score: "score (points a game)",
  intrinsic: "intrinsic reward (a game)",
  entropy: "entropy of the policy (nats)",
  steps_per_second: "speed (steps per second)",
  tiles: "tiles (a game)",
};

export function runView(root, query) {
  const names = query.getAll("name").filter(Boolean);
  if (!names.length) {
    location.replace("#/runs");
    return undefined;
  }
  const cards = el("div", { class: "summaries" });
  const charts = el("div", { class: "charts" });
  const more = el(
    "details",
    {},
    el("summary", { text: "more of what the learner logs" }),
    el("div", { class: "charts" }),
  );
  const settings = el("div");
  const made = new Map();
  const maps = el("section", {});
  root.append(
    el(
      "div",
      { class: "heading" },
      el("h1", { text: names.length > 1 ? "Runs, compared" : names[0] }),
      el("a", { class: "button", href: "#/runs", text: "All runs" }),
    ),
    cards,
    charts,
    more,
    maps,
    settings,
  );
  const scale = new Scale();
  const heats = new Map(
    names.map((name, k) => [name, heatMap(name, names.length > 1, timeInAddress(query, k), scale)]),
  );
  maps.append(...[...heats.values()].map(({ element }) => element));
  let before = "";
  return repeat(async () => {
    const runs = await Promise.all(
      names.map((name) =>
        ask("run", name).catch((error) =>
          error instanceof NoAnswer ? null : { name, problem: error.message },
        ),
      ),
    );
    if (runs.includes(null)) return; // the page stays as it is
    const whole = runs.filter((run) => run.curve);
    for (const run of whole) heats.get(run.name).show(run.checkpoints.at(-1));
    const text = JSON.stringify(runs);
    if (text === before) return;
    before = text;
    renew(cards, ...runs.map((run, k) => summary(run, k, runs.length)));
    drawCharts(whole, runs, charts, more, made);
    drawSettings(whole, settings);
  }, EVERY);
}

function summary(run, k, count) {
  if (run.problem)
    return el(
      "article",
      { class: "summary" },
      el("h2", { text: run.name }),
      el("p", { class: "problem", text: run.problem }),
    );
  const mark = el("i", { class: "swatch" });
  mark.style.background = colour(k);
  const facts = run.milestones.map(({ label, step }) => [
    label,
    step === null ? "not yet" : `step ${short(step)}`,
  ]);
  const rows = [
    ["score now", plain(run.score)],
    ["best game", plain(run.best)],
    ["games", plain(run.games)],
    ...facts,
  ];
  return el(
    "article",
    { class: count > 1 ? "summary" : "summary alone" },
    count > 1 ? el("h2", {}, mark, el("span", {}, ...breakable(run.name))) : null,
    el("p", {
      class: "faint",
      text: `${run.world} · ${run.treatment} · ${run.learner} · ${run.protocol} · seed ${run.seed}`,
    }),
    el("p", {}, progress(run), " ", state(run)),
    el(
      "dl",
      { class: "facts" },
      ...rows.map(([name, value]) =>
        el("div", {}, el("dt", { text: name }), el("dd", { text: value })),
      ),
    ),
    run.checkpoints.length
      ? el(
          "p",
          {},
          el("a", {
            class: "button primary",
            href: address("watch", new URLSearchParams({ p: playerText({ kind: "run", name: run.name }) })),
            text: "Watch it play",
          }),
        )
      : null,
  );
}

function drawCharts(whole, runs, charts, more, made) {
  const columns = [...new Set(whole.flatMap((run) => Object.keys(run.curve)))].filter(
    (name) => !NOT_DRAWN.has(name),
  );
  const ordered = [
    ...FIRST.filter((name) => columns.includes(name)),
    ...columns.filter((name) => !FIRST.includes(name)).sort(),
  ];
  more.hidden = ordered.every((name) => FIRST.includes(name));
  for (const name of ordered) {
    const series = whole.map((run) => ({
      name: run.name,
      colour: colour(runs.indexOf(run)),
      x: run.curve.step,
      y: run.curve[name] ?? [],
      marks: name === "score" ? run.milestones.filter(({ step }) => step !== null) : [],
    }));
    if (!made.has(name)) {
      made.set(name, lineChart(TITLES[name] ?? name.replaceAll("_", " ")));
      (FIRST.includes(name) ? charts : more.lastChild).append(made.get(name).element);
    }
    made.get(name).update(series);
  }
}

function drawSettings(runs, place) {
  if (!runs.length) return;
  const names = [...new Set(runs.flatMap((run) => Object.keys(run.settings)))];
  const differ = (name) => new Set(runs.map((run) => run.settings[name])).size > 1;
  if (runs.length > 1) names.sort((a, b) => differ(b) - differ(a));
  const open = place.querySelector("details")?.open ?? runs.length > 1;
  renew(
    place,
    el(
      "details",
      { open },
      el("summary", { text: "settings", "data-key": "settings" }),
      el(
        "div",
        { class: "scroll" },
        el(
          "table",
          {},
          runs.length > 1
            ? el(
                "thead",
                {},
                el("tr", {}, el("th"), ...runs.map((run) => el("th", { text: run.name }))),
              )
            : null,
          el(
            "tbody",
            {},
            ...names.map((name) =>
              el(
                "tr",
                { class: runs.length > 1 && differ(name) ? "differs" : undefined },
                el("th", { text: name, scope: "row" }),
                ...runs.map((run) => el("td", { text: run.settings[name] ?? "" })),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}
