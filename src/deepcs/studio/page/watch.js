// Watch: choose up to four players, or watch those that the address names.

import { breakable, brief, el, measured, plain, short, worldPicture } from "./dom.js";
import { address, note, parsePlayer, playerText } from "./place.js";
import { askUntil } from "./server.js";
import { Theatre } from "./theatre.js";

const MOST = 4;

export function watchView(root, query) {
  const players = query.getAll("p").map(parsePlayer).filter(Boolean).slice(0, MOST);
  let theatre = null;
  const begin = (overview) => {
    if (!players.length) {
      choose(root, overview, query.getAll("c"));
      return;
    }
    const runs = new Map(overview.runs.map((run) => [run.name, run]));
    root.append(
      el(
        "div",
        { class: "heading" },
        el("h1", { text: "Watch" }),
        el("a", { class: "button", href: "#/watch", text: "Choose others" }),
      ),
    );
    theatre = new Theatre(root, {
      view: "watch",
      query,
      players,
      runs,
      titles: players.map(({ name }) => name),
      begins: true,
      shortcuts: "space: play or pause · .: one step · r: again · n: next game",
    });
  };
  const giveUp = askUntil("overview", begin, ({ message }) =>
    root.append(el("p", { class: "message", text: message })),
  );
  return () => {
    giveUp();
    theatre?.leave();
  };
}

function choose(root, { agents, runs, folder, pictures }, before) {
  const chosen = new Set(before.slice(0, MOST));
  const go = el("a", {
    class: "button primary",
    role: "link",
    "aria-disabled": "true",
    text: "Watch",
  });
  const pick = (player, input) => {
    if (input.checked) chosen.add(player);
    else chosen.delete(player);
    note("watch", new URLSearchParams([...chosen].map((each) => ["c", each])));
    offer();
  };
  const offer = () => {
    for (const box of root.querySelectorAll("input[type=checkbox]"))
      box.disabled = chosen.size >= MOST && !box.checked;
    const wanted = new URLSearchParams([...chosen].map((each) => ["p", each]));
    if (chosen.size) go.href = address("watch", wanted);
    else go.removeAttribute("href");
    go.setAttribute("aria-disabled", chosen.size ? "false" : "true");
    go.textContent = chosen.size > 1 ? `Watch ${chosen.size} side by side` : "Watch";
  };
  const line = (player, world, title, ...about) => {
    const text = playerText(player);
    const input = el("input", { type: "checkbox", onchange: () => pick(text, input) });
    input.checked = chosen.has(text);
    return el(
      "li",
      {},
      el(
        "label",
        {},
        input,
        worldPicture(world, pictures),
        el(
          "span",
          {},
          el("strong", {}, ...breakable(title)),
          ...about.map((text) => el("span", { class: "faint", text })),
        ),
      ),
      el("a", {
        class: "button",
        href: address("watch", new URLSearchParams({ p: text })),
        text: "Watch",
        "aria-label": `Watch ${title}`,
      }),
    );
  };
  const playable = runs.filter((run) => run.checkpoints?.length);
  root.append(
    el("div", { class: "heading picks" }, el("h1", { text: "Watch" }), go),
    el("p", {
      class: "lead",
      text: "Watch an agent with its curiosity grid: each tile pays once in a game. Choose up to four to see them side by side, in step, in the same game.",
    }),
    ...pairs(agents).map((pair) => pairLink(pair, pictures)),
  );
  if (agents.length) {
    root.append(
      el("h2", { text: "Agents in the box" }),
      el(
        "ul",
        { class: "choice" },
        ...agents.map((agent) =>
          line(
            { kind: "agent", name: agent.name },
            agent.world,
            agent.name,
            about(agent, agent.step),
            scores(agent),
          ),
        ),
      ),
    );
  }
  root.append(el("h2", {}, "Runs below ", el("code", { text: folder })));
  if (playable.length) {
    root.append(
      el(
        "ul",
        { class: "choice" },
        ...playable.map((run) =>
          line(
            { kind: "run", name: run.name },
            run.world,
            run.name,
            about(run, run.checkpoints.at(-1)),
            run.code?.length ? "has code of its own" : "",
          ),
        ),
      ),
    );
  } else {
    root.append(
      el(
        "p",
        { class: "message" },
        "There is no checkpoint to watch yet. Train one, for example: ",
        el("code", { text: "deepcs train KeyHallway --steps 500k" }),
      ),
    );
  }
  offer();
}

function about({ world, treatment, learner }, step) {
  return `${world} · ${treatment} · ${learner} · ${short(step)} steps`;
}

function scores({ median, random, paper }) {
  const beside = [`random play ${measured(+random.toFixed(3))}`];
  if (paper) beside.push(`the paper’s ${paper.method} ${plain(paper.score)}`);
  return `median score ${brief(median)} (${beside.join(", ")})`;
}

/** Agents of the box with curiosity, each with its control of the same game. */
function pairs(agents) {
  return agents
    .filter(({ treatment }) => treatment === "deepcs")
    .map((one) => [
      one,
      agents.find(
        ({ world, treatment, learner }) =>
          world === one.world && treatment === "plain" && learner === one.learner,
      ),
    ])
    .filter(([, other]) => other);
}

function pairLink([one, other], pictures) {
  const wanted = new URLSearchParams([one, other].map(({ name }) => ["p", `agent:${name}`]));
  return el(
    "a",
    { class: "featured", href: address("watch", wanted) },
    worldPicture(one.world, pictures),
    el(
      "span",
      {},
      el("strong", { text: `${one.world} with curiosity, and without` }),
      el("span", {
        text: `The same network, learner and steps: median score ${brief(one.median)} beside ${brief(other.median)}.`,
      }),
    ),
  );
}
