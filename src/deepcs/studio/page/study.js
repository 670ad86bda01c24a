// A study: world × treatment, a cell for each seed, with progress and the time left.

import { counted, duration, el, plain, renew, short } from "./dom.js";
import { address } from "./place.js";
import { follow } from "./server.js";

const EVERY = 5000; // milliseconds

export function studyView(root, query) {
  const name = query.get("name");
  if (!name) {
    location.replace("#/runs");
    return undefined;
  }
  const place = el("div");
  const { problem, end } = follow({ path: "study", name, every: EVERY }, (study) =>
    draw(place, study),
  );
  root.append(problem, place);
  return end;
}

function draw(place, study) {
  const count = (state) => study.runs.filter((run) => run.state === state).length;
  const states = ["done", "running", "waiting", "failed"]
    .filter(count)
    .map((state) => `${count(state)} ${state}`);
  const left = count("running") && study.left !== null ? [`${duration(study.left)} left`] : [];
  const way =
    study.name === "." ? "" : `${study.name.split("/").map(encodeURIComponent).join("/")}/`;
  const worlds = unique(study.runs.map(({ world }) => world));
  const columns = unique(study.runs.map(column));
  renew(
    place,
    el(
      "div",
      { class: "heading" },
      el("h1", { text: study.title }),
      study.report
        ? el("a", {
            class: "button primary",
            href: `/reports/${way}report/report.html`,
            target: "_blank",
            rel: "noopener",
            text: "Report",
          })
        : null,
      el("a", { class: "button", href: "#/runs", text: "All runs" }),
    ),
    el("p", { class: "lead", text: study.about }),
    el("p", { text: [counted(study.runs.length, "run"), ...states, ...left].join(" · ") }),
    el(
      "div",
      { class: "scroll" },
      el(
        "table",
        { class: "matrix" },
        el(
          "thead",
          {},
          el("tr", {}, el("th"), ...columns.map((each) => el("th", { text: each, scope: "col" }))),
        ),
        el(
          "tbody",
          {},
          ...worlds.map((world) =>
            el(
              "tr",
              {},
              el("th", { text: world, scope: "row" }),
              ...columns.map((each) =>
                el(
                  "td",
                  {},
                  ...study.runs
                    .filter((run) => run.world === world && column(run) === each)
                    .map(cell),
                ),
              ),
            ),
          ),
        ),
      ),
    ),
    ...failures(study.runs),
  );
}

/** Why runs failed. */
function failures(runs) {
  const failed = runs.filter((run) => run.state === "failed");
  if (!failed.length) return [];
  const line = (run) =>
    el(
      "li",
      {},
      el("strong", { text: `${run.world}, ${column(run)}, seed ${run.seed}: ` }),
      el("span", { class: "problem", text: run.reason }),
    );
  return [el("h2", { text: "Failed" }), el("ul", { class: "failures" }, ...failed.map(line))];
}

function column({ treatment, learner, variant }) {
  return [treatment, learner, variant].filter(Boolean).join(" · ");
}

function unique(items) {
  return [...new Set(items)];
}

/** What matters most of a run, in a word or two. */
function standing(run) {
  if (run.state === "failed") return "failed";
  if (run.state === "running" && run.left !== null) return `${duration(run.left)} left`;
  return run.score === null ? "" : `score ${short(run.score)}`;
}

function cell(run) {
  const told = [
    `seed ${run.seed}`,
    run.state,
    `${short(run.step)} of ${short(run.steps)} steps`,
    run.score === null ? "" : `score ${plain(run.score)}`,
    run.state === "running" ? `${duration(run.left)} left` : "",
    run.reason,
  ];
  const shown = el(
    run.begun ? "a" : "span",
    {
      class: `cell ${run.state}`,
      href: run.begun && address("run", new URLSearchParams({ name: run.run })),
      title: told.filter(Boolean).join("\n"),
    },
    el("i"),
    el("span", { text: `seed ${run.seed}` }),
    el("span", { text: standing(run) }),
  );
  shown.firstChild.style.width = `${Math.min(100, (100 * run.step) / Math.max(run.steps, 1))}%`;
  return shown;
}
