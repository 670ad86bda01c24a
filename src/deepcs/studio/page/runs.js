// Runs: everything below the folder, live.

import { duration, el, plain, short } from "./dom.js";
import { address } from "./place.js";
import { ask, repeat } from "./server.js";

const EVERY = 3000; // milliseconds

export function runsView(root) {
  const chosen = new Set();
  const list = el("div");
  const compare = el("a", {
    class: "button primary",
    text: "Compare",
    role: "link",
    "aria-disabled": "true",
  });
  const choose = (name, on) => {
    if (on) chosen.add(name);
    else chosen.delete(name);
    const many = chosen.size > 1;
    compare.setAttribute("aria-disabled", String(!many));
    if (many)
      compare.href = address("run", new URLSearchParams([...chosen].map((each) => ["name", each])));
    else compare.removeAttribute("href");
    compare.textContent = many ? `Compare ${chosen.size} runs` : "Compare";
  };
  root.append(el("div", { class: "heading" }, el("h1", { text: "Runs" }), compare), list);
  let before = "";
  return repeat(async () => {
    try {
      const overview = await ask("overview");
      const text = JSON.stringify(overview);
      if (text === before) return;
      before = text;
      draw(list, overview, chosen, choose);
    } catch (error) {
      before = "";
      if (!list.children.length)
        list.replaceChildren(el("p", { class: "message", text: error.message }));
    }
  }, EVERY);
}

function draw(list, { runs, studies, folder }, chosen, choose) {
  const focused = document.activeElement?.dataset?.run;
  const parts = [];
  if (studies.length) {
    parts.push(
      el("h2", { text: "Studies" }),
      el(
        "ul",
        { class: "choice" },
        ...studies.map((name) =>
          el(
            "li",
            {},
            el("a", {
              href: address("study", new URLSearchParams({ name })),
              text: name === "." ? folder : name,
            }),
          ),
        ),
      ),
    );
  }
  parts.push(el("h2", {}, "Runs below ", el("code", { text: folder })));
  if (runs.length) {
    const head = ["", "run", "world", "treatment", "learner", "steps", "score", "state", ""];
    parts.push(
      el(
        "div",
        { class: "scroll" },
        el(
          "table",
          { class: "runs" },
          el(
            "thead",
            {},
            el("tr", {}, ...head.map((name) => el("th", { text: name, scope: "col" }))),
          ),
          el("tbody", {}, ...runs.map((run) => row(run, chosen, choose))),
        ),
      ),
    );
  } else {
    parts.push(
      el(
        "p",
        { class: "message" },
        "There are none yet. Begin one here, for example: ",
        el("code", { text: "deepcs train KeyHallway --steps 500k" }),
      ),
    );
  }
  list.replaceChildren(...parts);
  if (focused) list.querySelector(`[data-run="${CSS.escape(focused)}"]`)?.focus();
}

function row(run, chosen, choose) {
  const link = el("a", {
    href: address("run", new URLSearchParams({ name: run.name })),
    text: run.name,
  });
  if (run.problem) {
    return el(
      "tr",
      {},
      el("td"),
      el("td", {}, link),
      el("td", { colspan: 7, class: "problem", text: run.problem }),
    );
  }
  const box = el("input", {
    type: "checkbox",
    "data-run": run.name,
    "aria-label": `compare ${run.name}`,
    onchange: () => choose(run.name, box.checked),
  });
  box.checked = chosen.has(run.name);
  const watch = run.checkpoints.length
    ? el("a", {
        class: "button",
        href: address("watch", new URLSearchParams({ p: `run:${run.name}` })),
        text: "Watch",
        "aria-label": `Watch ${run.name}`,
      })
    : null;
  return el(
    "tr",
    {},
    el("td", {}, box),
    el("td", {}, link),
    el("td", { text: run.world }),
    el("td", { text: run.treatment }),
    el("td", { text: run.learner }),
    el("td", {}, progress(run)),
    el("td", { class: "number", text: plain(run.score) }),
    el("td", {}, state(run)),
    el("td", {}, watch),
  );
}

/** How far a run is, as a bar and in words. */
export function progress({ step, steps, state: its }) {
  const bar = el(
    "span",
    { class: `bar ${its}`, title: `${plain(step)} of ${plain(steps)} steps` },
    el("i"),
  );
  bar.firstChild.style.width = `${Math.min(100, (100 * step) / Math.max(steps, 1))}%`;
  return el(
    "span",
    { class: "progress" },
    bar,
    el("span", { text: `${short(step)} / ${short(steps)}` }),
  );
}

export function state(run) {
  const left = run.steps_per_second
    ? duration((run.steps - run.step) / run.steps_per_second)
    : null;
  const text = run.state === "training" && left ? `training · ${left} left` : run.state;
  return el("span", { class: `state ${run.state}`, text });
}
