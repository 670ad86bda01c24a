// Runs: everything below the folder, live.

import { breakable, duration, el, plain, renew, short } from "./dom.js";
import { address, note, playerText } from "./place.js";
import { follow } from "./server.js";

const EVERY = 5000; // milliseconds

export function runsView(root, query) {
  const chosen = new Set(query.getAll("c"));
  const list = el("div");
  const compare = el("a", {
    class: "button primary",
    role: "link",
    "aria-disabled": "true",
  });
  const choose = (name, on) => {
    if (on) chosen.add(name);
    else chosen.delete(name);
    note("runs", new URLSearchParams([...chosen].map((each) => ["c", each])));
    offer();
  };
  const offer = () => {
    const many = chosen.size > 1;
    compare.setAttribute("aria-disabled", String(!many));
    if (many)
      compare.href = address("run", new URLSearchParams([...chosen].map((each) => ["name", each])));
    else compare.removeAttribute("href");
    const missing = chosen.size ? "one more run" : "two runs";
    compare.textContent = many ? `Compare ${chosen.size} runs` : `Tick ${missing} to compare`;
  };
  offer();
  const { problem, end } = follow({ path: "overview", every: EVERY }, (overview) =>
    draw(list, overview, chosen, choose),
  );
  root.append(el("div", { class: "heading picks" }, el("h1", { text: "Runs" }), compare), problem, list);
  return end;
}

function draw(list, { runs, studies, folder }, chosen, choose) {
  const parts = [];
  if (studies.length) {
    parts.push(
      el("h2", { text: "Studies" }),
      el(
        "ul",
        { class: "choice" },
        ...studies.map(({ name, runs: total }) =>
          el(
            "li",
            {},
            el("a", {
              href: address("study", new URLSearchParams({ name })),
              text: name === "." ? folder : name,
            }),
            el("span", { class: "faint", text: standing(name, total, runs) }),
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
            el(
              "tr",
              {},
              ...head.map((name) =>
                el("th", { text: name, scope: "col", class: name === "score" ? "number" : null }),
              ),
            ),
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
  renew(list, ...parts);
}

/** What a study's runs do, in words; total: that it is to have. */
function standing(study, total, runs) {
  const inside = study === "." ? "runs/" : `${study}/runs/`;
  const its = runs.filter(({ name }) => name.startsWith(inside));
  return ["training", "done", "stopped"]
    .map((state) => [its.filter((run) => run.state === state).length, state])
    .filter(([count, state]) => count || (state === "done" && total !== null))
    .map(([count, state]) =>
      state === "done" && total !== null ? `${count} of ${total} done` : `${count} ${state}`,
    )
    .join(" · ");
}

function row(run, chosen, choose) {
  const cut = run.name.lastIndexOf("/") + 1;
  const link = el(
    "a",
    { href: address("run", new URLSearchParams({ name: run.name })) },
    cut ? el("span", { class: "folder" }, ...breakable(run.name.slice(0, cut))) : null,
    ...breakable(run.name.slice(cut)),
  );
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
    "data-key": `compare ${run.name}`,
    "aria-label": `compare ${run.name}`,
    onchange: () => choose(run.name, box.checked),
  });
  box.checked = chosen.has(run.name);
  const watch = run.checkpoints.length
    ? el("a", {
        class: "button",
        href: address("watch", new URLSearchParams({ p: playerText({ kind: "run", name: run.name }) })),
        text: "Watch",
        "aria-label": `Watch ${run.name}`,
      })
    : null;
  return el(
    "tr",
    {},
    el("td", { class: "pick" }, box),
    el("td", { class: "run-name" }, link),
    el("td", { class: "world", text: run.world }),
    el("td", { class: "treatment", text: run.treatment }),
    el("td", { class: "learner", text: run.learner }),
    el("td", { class: "how-far" }, progress(run)),
    el("td", { class: "number", text: plain(run.score) }),
    el("td", { class: "its-state" }, state(run)),
    el("td", { class: "act" }, watch),
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
