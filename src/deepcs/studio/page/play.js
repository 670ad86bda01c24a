// Play: a person at the keyboard, with the curiosity grid lighting up, and an agent beside.

import { breakable, brief, counted, el, isTyping, keyName, worldPicture } from "./dom.js";
import { address, parsePlayer, playerText } from "./place.js";
import { askUntil } from "./server.js";
import { Theatre } from "./theatre.js";

const KEYS = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
  a: "left",
  d: "right",
  w: "up",
  s: "down",
  " ": "fire",
  x: "fire",
  Enter: "fire",
};

const BEGIN = matchMedia("(pointer: coarse)").matches
  ? "Touch an arrow"
  : "Press an arrow key or the space bar";

export function playView(root, query) {
  let theatre = null;
  const begin = (overview) => {
    const world = query.get("world");
    if (!world) choose(root, overview);
    else theatre = new Game(root, { world, query, overview });
  };
  const giveUp = askUntil("overview", begin, ({ message }) =>
    root.append(el("p", { class: "message", text: message })),
  );
  return () => {
    giveUp();
    theatre?.leave();
  };
}

function choose(root, { worlds, agents, pictures }) {
  const best = (world) =>
    Math.max(...agents.filter((agent) => agent.world === world).map((agent) => agent.median));
  root.append(
    el("div", { class: "heading" }, el("h1", { text: "Play" })),
    el("p", {
      class: "lead",
      text: "Play with the arrow keys and the space bar. Every tile that you touch lights up, and counts once in a game: such tiles are what a curious agent is paid for, beside the score.",
    }),
    el(
      "ul",
      { class: "worlds" },
      ...worlds.map((world) =>
        el(
          "li",
          {},
          el(
            "a",
            { href: address("play", new URLSearchParams({ world })) },
            worldPicture(world, pictures),
            el("strong", {}, ...breakable(world)),
            el("span", {
              class: "faint",
              text: Number.isFinite(best(world)) ? `an agent scores ${brief(best(world))}` : "",
            }),
          ),
        ),
      ),
    ),
  );
}

/** Who could play the same world beside the person. */
function rivals(world, { agents, runs }) {
  return [
    ...agents
      .filter((agent) => agent.world === world)
      .map((agent) => ({
        text: playerText({ kind: "agent", name: agent.name }),
        label: `${agent.name} (in the box, ${counted(agent.median, "point")})`,
      })),
    ...runs
      .filter((run) => run.world === world && run.checkpoints?.length && !run.code?.length)
      .map((run) => ({
        text: playerText({ kind: "run", name: run.name }),
        label: run.name,
      })),
  ];
}

function result({ score, tiles }) {
  return `${counted(score, "point")}, ${counted(tiles, "tile")}`;
}

class Game extends Theatre {
  constructor(root, { world, query, overview }) {
    const found = rivals(world, overview);
    const asked = query.get("beside");
    const beside = asked === "nobody" ? null : parsePlayer(asked ?? found[0]?.text ?? "");
    const select = el(
      "select",
      {
        "aria-label": "who plays beside you",
        onchange: () => {
          const wanted = new URLSearchParams(this.query);
          wanted.set("beside", select.value);
          location.hash = address("play", wanted);
        },
      },
      el("option", { value: "nobody", text: "nobody" }),
      ...found.map(({ text, label }) => el("option", { value: text, text: label })),
    );
    select.value = beside ? playerText({ ...beside, step: undefined }) : "nobody";
    root.append(
      el(
        "div",
        { class: "heading" },
        el("h1", { text: world }),
        el("label", {}, "beside you ", select),
        el("a", { class: "button", href: "#/play", text: "Other games" }),
      ),
    );
    const players = [{ kind: "you", name: world }, ...(beside ? [beside] : [])];
    super(root, {
      view: "play",
      query,
      players,
      titles: ["You", ...(beside ? [beside.name] : [])],
      runs: new Map(overview.runs.map((run) => [run.name, run])),
      begins: false,
      shortcuts:
        "arrows or w a s d: move · space: fire or act · p: pause · r: again · n: next game",
    });
    this.held = new Map(); // what each key that is down means
    this.onUp = (event) => this.release(event.code);
    this.onBlur = () => {
      this.held.clear();
      this.tell([]);
    };
    document.addEventListener("keyup", this.onUp);
    window.addEventListener("blur", this.onBlur);
    this.controls.append(this.pad());
  }

  meet(told) {
    super.meet(told);
    if (!this.state.playing) this.cards[0].invite(`${BEGIN} to begin.`);
  }

  setState(state) {
    super.setState(state);
    if (state.playing) {
      this.say();
      this.cards[0]?.invite();
    } else this.conclude();
  }

  async show(data) {
    await super.show(data);
    this.conclude();
  }

  namePlayers() {
    this.query.set("beside", playerText(this.players[1]));
  }

  /** The server may say that a game is over before it sends the last picture, or after. */
  conclude() {
    const over = this.state.over && this.cards.every((card) => card.now?.over);
    if (over && this.cards.length > 1) this.say(this.verdict());
  }

  verdict() {
    const [you, agent] = this.cards.map((card) => card.now);
    return `You: ${result(you)}. ${this.titles[1]}: ${result(agent)}.`;
  }

  key(event) {
    // The release of a key is known by its place on the keyboard: a letter changes with Shift.
    const key = this.met && KEYS[keyName(event)];
    if (
      !key ||
      isTyping(event) ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      (["Enter", " "].includes(event.key) && event.target.matches?.("button, a"))
    ) {
      super.key(event);
      return;
    }
    event.preventDefault();
    if (!event.repeat) this.press(event.code, key);
  }

  keyWork(key, event) {
    return key === "p" ? () => this.toggle() : key === " " ? null : super.keyWork(key, event);
  }

  press(code, meaning) {
    this.held.set(code, meaning);
    this.tell([meaning]);
    if (!this.state.playing && !this.state.over) this.line.say({ do: "play" });
  }

  release(code) {
    if (this.held.delete(code)) this.tell([]);
  }

  tell(pressed) {
    if (this.met) this.line.say({ do: "keys", held: [...new Set(this.held.values())], pressed });
  }

  /** Keys for fingers. */
  pad() {
    const key = (name, sign) =>
      el("button", {
        type: "button",
        class: `pad-${name}`,
        "aria-label": name,
        text: sign,
        onpointerdown: (event) => {
          event.preventDefault();
          this.press(`pad ${name}`, name);
        },
        onpointerup: () => this.release(`pad ${name}`),
        onpointerleave: () => this.release(`pad ${name}`),
        onpointercancel: () => this.release(`pad ${name}`),
      });
    return el(
      "div",
      { class: "pad" },
      key("left", "◀"),
      key("up", "▲"),
      key("down", "▼"),
      key("right", "▶"),
      key("fire", "●"),
    );
  }

  leave() {
    document.removeEventListener("keyup", this.onUp);
    window.removeEventListener("blur", this.onBlur);
    super.leave();
  }
}
