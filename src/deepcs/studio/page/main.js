// One page, several views: each is a function (root, query) that returns how to leave it.

import { here } from "./place.js";
import { watchView } from "./watch.js";
import { playView } from "./play.js";
import { runsView } from "./runs.js";
import { runView } from "./run.js";
import { studyView } from "./study.js";

const VIEWS = { watch: watchView, play: playView, runs: runsView, run: runView, study: studyView };
const TITLES = { watch: "Watch", play: "Play", runs: "Runs", run: "Run", study: "Study" };
const root = document.getElementById("main");
let leave = () => {};

function go() {
  const { view, query } = here();
  leave();
  const name = view in VIEWS ? view : "watch";
  root.className = `view-${name}`;
  root.replaceChildren();
  for (const link of document.querySelectorAll("nav a")) {
    const section = { run: "runs", study: "runs" }[name] ?? name;
    if (link.hash === `#/${section}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${TITLES[name]} · deepcs studio`;
  leave = VIEWS[name](root, query) ?? (() => {});
}

window.addEventListener("hashchange", go);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  root.focus();
});
go();
