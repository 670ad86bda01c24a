// One player's card: the game with its tiles, the plane, numbers, what the network wants to do.

import { el, plain, short } from "./dom.js";

const SCALE = 3; // canvas pixels to a pixel of the game
const TILE = "rgba(240, 228, 66, 0.24)";
const EDGE = "rgba(240, 228, 66, 0.9)";
const FLASH = 350; // milliseconds that a new tile glows
const NUMBERS = [
  ["score", (n) => plain(n.score)],
  ["tiles", (n) => plain(n.tiles)],
  ["rooms", (n) => plain(n.rooms.length)],
  ["lives", (n) => (n.lives === null ? null : plain(n.lives))],
  ["step", (n) => plain(n.step)],
  ["R", (n) => plain(n.R)],
  ["I", (n) => plain(n.I)],
  ["action", (n) => (Array.isArray(n.action) ? n.action.flat(9).map(plain).join(" · ") : null)],
  ["value", (n) => (n.values?.length === 1 ? plain(n.values[0]) : null)],
  ["value-R", (n) => (n.values?.length === 2 ? plain(n.values[0]) : null)],
  ["value-I", (n) => (n.values?.length === 2 ? plain(n.values[1]) : null)],
];
const ARROWS = {
  up: "↑",
  down: "↓",
  left: "←",
  right: "→",
  upleft: "↖",
  upright: "↗",
  downleft: "↙",
  downright: "↘",
};
const MEANING = {
  R: "the game’s reward of this step",
  I: "the intrinsic reward of this step: 1 for a new tile",
  value: "what the network expected when it chose this step’s action",
  "value-R": "what the network expected of the game’s rewards when it chose this step’s action",
  "value-I": "what the network expected of intrinsic rewards when it chose this step’s action",
};

export class PlayerCard {
  constructor(title, told, extra = null) {
    this.told = told;
    this.frames = 0;
    this.screen = el("canvas", {
      class: "screen",
      role: "img",
      "aria-label": `${told.world}, as it is played`,
    });
    this.plane = el("canvas", {
      class: "plane",
      role: "img",
      "aria-label": "the curiosity grid as the network sees it",
    });
    this.cells = new Map(NUMBERS.map(([name]) => [name, el("dd", { class: `n-${name}` })]));
    this.numbers = el(
      "dl",
      { class: "numbers" },
      ...NUMBERS.map(([name]) =>
        el(
          "div",
          { title: MEANING[name] },
          el("dt", { text: name.replace("-", " of ") }),
          this.cells.get(name),
        ),
      ),
    );
    this.bars = told.actions.map((name) =>
      el(
        "li",
        { title: actionName(name) },
        el("i"),
        el("span", { role: "img", "aria-label": actionName(name), text: actionText(name) }),
        el("span", { class: "share" }),
      ),
    );
    this.caption = el("p", { class: "caption", role: "status", hidden: true });
    this.rooms = el("div", { class: "rooms", hidden: true });
    const policy = el(
      "div",
      { class: "wants" },
      el("h3", { text: "how likely each action was; framed: the one taken" }),
      el("ol", { class: "policy", "aria-label": "probability of each action" }, ...this.bars),
    );
    const person = told.trained === undefined;
    const about = person
      ? el("p", { class: "faint", text: told.world })
      : el("p", {
          class: "faint",
          text: `${told.world} · ${told.treatment} · ${told.learner} · ${short(told.trained)} steps`,
        });
    this.element = el(
      "article",
      { class: "player" },
      el("header", {}, el("h2", { text: title }), about),
      el(
        "div",
        { class: "body" },
        el(
          "div",
          { class: "stage" },
          this.screen,
          this.caption,
        ),
        el(
          "div",
          { class: "side" },
          el(
            "div",
            { class: "beside" },
            el("figure", {}, this.plane, el("figcaption", { text: planeText(told) })),
            this.numbers,
          ),
          person ? null : policy,
          this.rooms,
          extra,
        ),
      ),
    );
    this.plane.hidden = !told.sees_grid || !told.curious;
    if (told.map) this.drawMap();
  }

  /** Decode what a showing has for this player; `draw` shows it. */
  async take(picture, plane) {
    [this.picture, this.planePicture] = await Promise.all([
      picture ? createImageBitmap(new Blob([picture], { type: "image/png" })) : this.picture,
      plane ? createImageBitmap(new Blob([plane], { type: "image/png" })) : this.planePicture,
    ]);
  }

  count(numbers) {
    if (numbers.I > 0 && numbers.step !== this.now?.step) this.flashed = performance.now();
    this.now = numbers;
    for (const [name, of] of NUMBERS) {
      const text = of(numbers);
      const cell = this.cells.get(name);
      cell.parentElement.hidden = text === null;
      if (cell.textContent !== text) cell.textContent = text;
    }
    this.cells.get("I").parentElement.classList.toggle("lit", numbers.I > 0);
    this.cells.get("R").parentElement.classList.toggle("lit", Boolean(numbers.R));
    this.bars.forEach((bar, k) => {
      const share = numbers.probabilities?.[k] ?? 0;
      bar.firstChild.style.width = `${100 * share}%`;
      bar.lastChild.textContent = `${Math.round(100 * share)} %`;
      bar.classList.toggle("taken", k === numbers.action);
    });
    this.invite(this.invitation);
    this.markRooms(numbers);
  }

  /** Words over the picture, until the game is over and says so itself. */
  invite(text = "") {
    this.invitation = text;
    const shown = this.now?.over ? "game over" : text;
    if (this.caption.textContent !== shown) this.caption.textContent = shown;
    this.caption.hidden = !shown;
  }

  draw() {
    if (!this.picture) return;
    this.frames += 1;
    const { width, height } = this.picture;
    const scale = width * SCALE > 1200 ? 1 : SCALE;
    if (this.screen.width !== width * scale || this.screen.height !== height * scale) {
      this.screen.width = width * scale;
      this.screen.height = height * scale;
      this.element.classList.toggle("broad", width > 2 * height);
    }
    const context = this.screen.getContext("2d");
    context.imageSmoothingEnabled = false;
    context.drawImage(this.picture, 0, 0, width * scale, height * scale);
    for (const box of this.now?.boxes ?? []) this.drawBox(context, box, scale);
    if (this.planePicture && !this.plane.hidden) {
      this.plane.width = this.planePicture.width;
      this.plane.height = this.planePicture.height;
      this.plane.getContext("2d").drawImage(this.planePicture, 0, 0);
    }
  }

  drawBox(context, [left, top, right, bottom, standing], scale) {
    const edges = [
      left * scale + 1,
      top * scale + 1,
      (right - left) * scale - 2,
      (bottom - top) * scale - 2,
    ];
    const age = performance.now() - (this.flashed ?? -FLASH);
    context.fillStyle = TILE;
    if (standing && age < FLASH)
      context.fillStyle = `rgba(255, 246, 150, ${0.75 * (1 - age / FLASH) + 0.24})`;
    context.fillRect(...edges);
    context.strokeStyle = standing ? "#fff" : EDGE;
    context.lineWidth = standing ? 3 : 1;
    context.strokeRect(...edges);
  }

  drawMap() {
    this.places = new Map(
      this.told.map.map(([room, row, column]) => {
        const cell = el("span", { text: room });
        cell.style.gridArea = `${row + 1} / ${column + 1}`;
        return [String(room), cell];
      }),
    );
    this.rooms.classList.add("pyramid");
    this.rooms.setAttribute("aria-label", "rooms visited");
    this.rooms.append(...this.places.values());
    this.rooms.hidden = false;
  }

  markRooms({ room, rooms }) {
    if (this.places) {
      const visited = new Set(rooms.map(String));
      for (const [name, cell] of this.places) {
        cell.className = `${visited.has(name) ? "visited" : ""} ${name === String(room) ? "here" : ""}`;
      }
      return;
    }
    const known = rooms.map((each) => each.join("."));
    const text = `${known.join(" ")}|${room.join(".")}`;
    this.rooms.hidden = known.length < 2;
    if (text === this.roomsText) return;
    this.roomsText = text;
    this.rooms.replaceChildren(
      el("span", { class: "faint", text: "rooms" }),
      ...known.map((name) =>
        el("span", { class: name === room.join(".") ? "chip here" : "chip", text: name || "·" }),
      ),
    );
  }
}

/** In words: down right fire. */
function actionName(name) {
  if (name === "NOOP") return "nothing";
  return name
    .toLowerCase()
    .replace(/(up|down)(?=.)/, "$1 ")
    .replace(/(left|right)(?=.)/, "$1 ");
}

/** As short as fits: ↘ fire. */
function actionText(name) {
  const [, way, rest] = /^((?:up|down)?(?:left|right)?)((?:fire)?)$/i.exec(name) ?? [];
  return way ? `${ARROWS[way.toLowerCase()]} ${rest.toLowerCase()}`.trim() : actionName(name);
}

function planeText(told) {
  if (!told.curious) return "no curiosity grid here";
  if (told.trained === undefined) return "the curiosity grid, as an agent sees it";
  return told.sees_grid
    ? "the curiosity grid, as the network sees it"
    : "the grid is not seen by this agent";
}
