// A group of players in step, with the controls below; the views Watch and Play both are one.

import { checkpointSlider } from "./checkpoints.js";
import { makeControls } from "./controls.js";
import { el, isTyping, keyName, letGo, renew, takesSpace } from "./dom.js";
import { note, playerText } from "./place.js";
import { PlayerCard } from "./player.js";
import { Line, ask } from "./server.js";

const SPEEDS = [0.25, 0.5, 1, 2, 4, 8, 16, 32];
const SETTLED = 250; // milliseconds after the last move of a slider
const KEPT = "deepcs-group"; // in this tab: which group it had, for which players in which game

export class Theatre {
  /** view, query: the address; players: who plays; titles: as shown; runs: summaries by name. */
  constructor(root, { view, query, players, titles, runs, begins, shortcuts }) {
    Object.assign(this, { view, query, players, titles, runs, begins });
    this.state = {
      playing: false,
      over: false,
      game: this.game,
      greedy: this.greedy,
      speed: this.speed,
    };
    this.cards = [];
    this.showing = Promise.resolve();
    this.grid = el("div", { class: `cards cards-${players.length}`, onchange: letGo });
    this.message = el("p", {
      class: "message",
      role: "status",
      text: "The players are on their way …",
    });
    this.addControls(shortcuts);
    this.expect();
    root.append(this.message, this.grid, this.controls);
    this.line = new Line({
      opened: () => this.enter(),
      told: (what) => this.inTurn(() => this.hear(what)),
      shown: (data) => this.inTurn(() => this.show(data)),
    });
    this.onVisible = () => {
      if (this.met) this.line.say({ do: document.hidden ? "hide" : "show" });
    };
    this.onKey = (event) => this.key(event);
    document.addEventListener("visibilitychange", this.onVisible);
    document.addEventListener("keydown", this.onKey);
  }

  get game() {
    return Math.min(Math.max(Math.trunc(Number(this.query.get("game"))) || 0, 0), 1e9);
  }
  get greedy() {
    return this.query.get("greedy") === "1";
  }
  get speed() {
    return SPEEDS.includes(Number(this.query.get("speed"))) ? Number(this.query.get("speed")) : 1;
  }
  get who() {
    return this.players.map(playerText).join(" ");
  }

  addControls(shortcuts) {
    const work = {
      toggle: () => this.toggle(),
      step: () => this.line.say({ do: "step" }),
      setSpeed: () => this.setSpeed(),
      again: () => this.again(),
      next: () => this.again(this.state.game + 1),
    };
    const shown = { speeds: SPEEDS, greedy: this.view === "watch", shortcuts };
    Object.assign(this, makeControls(work, shown));
    this.speedField.value = this.speed;
    this.gameField.value = this.game;
    this.greedyField.checked = this.greedy;
    this.counted = setInterval(() => this.countFrames(), 1000);
  }

  countFrames() {
    const frames = this.cards[0]?.frames ?? 0;
    const shown = frames - (this.countedFrames ?? frames);
    this.countedFrames = frames;
    this.rate.textContent = this.state.playing ? `${shown} frames/s` : "";
    this.rate.dataset.frames = shown;
  }

  /** Pictures are decoded meanwhile: what the server said after one is heard after it. */
  inTurn(work) {
    this.showing = this.showing
      .then(() => (this.left ? null : work()))
      .catch((error) => {
        reportError(error); // in the browser's console
        this.say(`The page could not show something: ${error.message}`);
      });
  }

  /** There is nobody to control until the players are met. */
  expect() {
    this.met = false;
    this.controls.inert = true;
    this.grid.setAttribute("aria-busy", "true");
  }

  enter() {
    this.expect();
    this.failed = false;
    const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
    const same = kept?.who === this.who && kept.game === this.game && kept.greedy === this.greedy;
    if (same) this.line.say({ do: "attach", group: kept.group });
    else this.open();
  }

  open() {
    this.fresh = true;
    this.line.say({ do: "open", players: this.players, game: this.game, greedy: this.greedy });
  }

  hear(what) {
    if (what.is === "cast" && this.changing) return; // others are asked for already
    if (what.is === "closed" && this.failed) return; // why has been told
    if (what.is === "cast") this.meet(what.players);
    else if (what.is === "state") this.setState(what);
    else if (what.is === "gone") this.open();
    else if (what.is === "refused" && what.code.length) this.askAllowance(what);
    else if (what.sentence) this.refuse(what);
  }

  /** Players that could not change stay; those whose process or connection ended do not. */
  refuse({ is, sentence }) {
    this.failed = is === "failed";
    if (is !== "refused") {
      this.expect();
      this.state.playing = false;
      this.playButton.textContent = "Play";
    }
    this.grid.removeAttribute("aria-busy");
    if (this.met) {
      this.say(sentence);
      this.stay();
      return;
    }
    const again = { type: "button", text: "Begin again", onclick: () => this.beginAgain() };
    this.say(sentence, " ", el("button", { ...again, class: "primary" }));
  }

  beginAgain() {
    sessionStorage.removeItem(KEPT);
    this.say("The players are on their way …");
    this.line.connectAnew();
  }

  /** Who was to come was refused, perhaps as its checkpoint is no more: ask which there are. */
  async stay() {
    if (this.changing || this.players.every(({ step }, k) => step === this.steps[k])) return;
    this.players.forEach((player, k) => (player.step = this.steps[k]));
    this.namePlayers();
    this.note();
    for (const name of new Set(this.players.map(({ kind, name }) => kind === "run" && name))) {
      const run = name && (await ask("run", name).catch(() => null)); // refused: as it was
      if (run) this.runs.set(name, run);
    }
    if (this.met && !this.changing) this.cards.forEach((_, k) => this.renewSlider(k));
  }

  say(...parts) {
    this.message.replaceChildren(...parts);
    this.message.hidden = !parts.length;
  }

  askAllowance({ code, player }) {
    const allow = el("button", {
      type: "button",
      class: "primary",
      text: "Allow and play",
      onclick: () => {
        this.line.say({ do: "allow", run: player, code });
        this.open();
      },
    });
    this.say(
      el("strong", { text: `${player} would run code that you did not train with here: ` }),
      el("code", { text: code.join(", ") }),
      el("br"),
      "Look at that code first. It is imported only if you allow it, and may then do whatever you may do. ",
      allow,
    );
    this.grid.removeAttribute("aria-busy");
  }

  meet(told) {
    this.say();
    this.met = true;
    this.controls.inert = false;
    this.grid.removeAttribute("aria-busy");
    this.steps = this.players.map(({ step }) => step);
    this.sliders = told.map(() => el("div"));
    this.cards = told.map((each, k) => new PlayerCard(this.titles[k], each, this.sliders[k]));
    this.cards.forEach((_, k) => this.renewSlider(k));
    renew(this.grid, ...this.cards.map((card) => card.element));
    if (this.fresh) {
      this.line.say({ do: "speed", times: this.speed });
      if (this.begins || this.goesOn) this.line.say({ do: "play" });
      this.fresh = this.goesOn = false;
    }
    if (document.hidden) this.onVisible();
  }

  renewSlider(k) {
    const { kind, name, step } = this.players[k];
    const steps = (kind === "run" && this.runs.get(name)?.checkpoints) || [];
    const choose = (chosen) => this.changeStep(k, chosen);
    const slider = checkpointSlider(steps, step, `checkpoint ${k}`, choose);
    renew(this.sliders[k], ...(slider ? [slider] : []));
  }

  /** Who moves on through checkpoints waits for the last of them alone. */
  changeStep(k, step) {
    this.players[k].step = step;
    this.namePlayers();
    this.note();
    this.goesOn ||= this.state.playing;
    this.grid.setAttribute("aria-busy", "true");
    clearTimeout(this.changing);
    this.changing = setTimeout(() => {
      this.changing = 0;
      this.open();
    }, SETTLED);
  }

  /** Write who plays into the address. */
  namePlayers() {
    this.query.delete("p");
    for (const player of this.players) this.query.append("p", playerText(player));
  }

  setState(state) {
    this.state = state;
    const { group, game, greedy } = state;
    if (!this.changing)
      sessionStorage.setItem(KEPT, JSON.stringify({ who: this.who, group, game, greedy }));
    this.playButton.textContent = state.playing ? "Pause" : "Play";
    this.playButton.disabled = state.over;
    this.stepButton.disabled = state.over;
    if (document.activeElement !== this.gameField) this.gameField.value = state.game;
    this.speedField.value = state.speed;
    this.greedyField.checked = state.greedy;
    this.query.set("game", state.game);
    if (state.speed !== 1) this.query.set("speed", state.speed);
    else this.query.delete("speed");
    if (state.greedy) this.query.set("greedy", "1");
    else this.query.delete("greedy");
    this.note();
  }

  note() {
    note(this.view, this.query);
  }

  toggle() {
    this.line.say({ do: this.state.playing ? "pause" : "play" });
  }

  setSpeed() {
    this.line.say({ do: "speed", times: Number(this.speedField.value) });
  }

  again(game = Math.trunc(Number(this.gameField.value)) || 0) {
    const goesOn = this.state.playing || this.state.over;
    this.line.say({
      do: "again",
      game: Math.min(Math.max(game, 0), 1e9),
      greedy: this.greedyField.checked,
    });
    if (goesOn) this.line.say({ do: "play" });
  }

  key(event) {
    if (!this.met || isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    const work = this.keyWork(keyName(event), event);
    if (!work) return;
    event.preventDefault();
    work();
  }

  keyWork(key, event) {
    if (key === " " && takesSpace(event)) return null;
    return {
      " ": () => this.toggle(),
      ".": () => this.line.say({ do: "step" }),
      r: () => this.again(),
      n: () => this.again(this.state.game + 1),
    }[key];
  }

  /** Draw a showing: a frame's number, a JSON head, and the PNGs whose sizes it tells. */
  async show(data) {
    const view = new DataView(data);
    try {
      await this.draw(data, view.getUint32(4, true));
    } finally {
      this.line.say({ do: "seen", frame: view.getUint32(0, true) }); // else no others would come
    }
  }

  async draw(data, length) {
    const head = new TextDecoder().decode(new Uint8Array(data, 8, length));
    const { sizes, players } = JSON.parse(head);
    const cards = this.cards;
    if (cards.length !== sizes.length) return;
    let at = 8 + length;
    const part = (size) => {
      at += size;
      return size ? new Uint8Array(data, at - size, size) : null;
    };
    await Promise.all(
      sizes.map(([picture, plane], k) => cards[k].take(part(picture), part(plane))),
    );
    cards.forEach((card, k) => {
      if (players) card.count(players[k]); // all at once: they are in step
      card.draw();
    });
  }

  /** Go elsewhere on the page, which ends the game; a reload does not come here. */
  leave() {
    this.left = true;
    sessionStorage.removeItem(KEPT);
    clearInterval(this.counted);
    clearTimeout(this.changing);
    document.removeEventListener("visibilitychange", this.onVisible);
    document.removeEventListener("keydown", this.onKey);
    this.line.close();
  }
}
