// What the server is asked, and what the person is told when it does not answer.

import { el } from "./dom.js";

const RETRY = 2000; // milliseconds
const DONE = 4000; // closed by a page that will not come back to its game
const RESTS = 4002; // closed by the server, as the page was hidden for long
const SAYS_WHY = [1008, 1011, 4001]; // a refused message, a failed player, another page
const banner = document.getElementById("banner");
const waiting = new Set();

/** The server is gone; what: whoever found out, until it finds otherwise. */
export function tellDead(what) {
  waiting.add(what);
  banner.hidden = false;
  banner.textContent = `The studio’s server does not answer. If you ended it, ${again()}`;
}

/** How to get the page back: to other machines the server has a new token each time. */
function again() {
  return ["127.0.0.1", "localhost"].includes(location.hostname)
    ? `start it again with --port ${location.port || 80}; this page then goes on by itself.`
    : "start it again and open the address that it prints.";
}

export function tellAlive(what) {
  waiting.delete(what);
  if (!waiting.size) banner.hidden = true;
}

/** The server could not be reached; the banner tells. */
export class NoAnswer extends Error {}

/** JSON from the server; throws an Error whose message is a sentence. */
export async function ask(path, name) {
  const query = name === undefined ? "" : `?${new URLSearchParams({ name })}`;
  let response;
  try {
    response = await fetch(`/api/${path}${query}`);
  } catch {
    tellDead("ask");
    throw new NoAnswer("The server does not answer.");
  }
  tellAlive("ask");
  const content = await response
    .json()
    .catch(() => ({ problem: `The server said ${response.status}.` }));
  if (!response.ok) throw new Error(content.problem);
  return content;
}

/** Ask until the server answers; returns how to give up. */
export function askUntil(path, told, refused) {
  let left = false;
  let timer = 0;
  const turn = () =>
    ask(path).then(
      (content) => left || told(content),
      (error) => {
        if (left) return;
        if (error instanceof NoAnswer) timer = setTimeout(turn, RETRY);
        else refused(error);
      },
    );
  turn();
  return () => {
    left = true;
    clearTimeout(timer);
  };
}

/** Do something now and again and again while the page can be seen; returns how to end it. */
export function repeat(work, milliseconds) {
  let ended = false;
  let timer = 0;
  const turn = async () => {
    clearTimeout(timer);
    if (ended || document.hidden) return;
    await work();
    if (!ended) timer = setTimeout(turn, milliseconds);
  };
  document.addEventListener("visibilitychange", turn);
  turn();
  return () => {
    ended = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", turn);
  };
}

/** Show what the server says of a view, and again when it says something else; where it refuses,
 * why stands above what was shown before. Returns the place of that, and how to end. */
export function follow({ path, name, every }, draw) {
  const problem = el("p", { class: "message problem", role: "alert", hidden: true });
  let before = "";
  const end = repeat(async () => {
    try {
      const content = await ask(path, name);
      problem.hidden = true;
      const text = JSON.stringify(content);
      if (text !== before) draw(content);
      before = text;
    } catch (error) {
      if (before && error instanceof NoAnswer) return; // the banner tells
      problem.textContent = error.message;
      problem.hidden = false;
    }
  }, every);
  return { problem, end };
}

/** The websocket, connected again and again until it is closed from here. */
export class Line {
  constructor({ opened, told, shown }) {
    this.on = { opened, told, shown };
    this.connect();
  }

  connect() {
    this.socket = new WebSocket(`ws://${location.host}/play`);
    this.socket.binaryType = "arraybuffer";
    this.socket.onopen = () => {
      tellAlive(this);
      this.on.opened();
    };
    this.socket.onmessage = ({ data }) => {
      if (typeof data === "string") this.on.told(JSON.parse(data));
      else this.on.shown(data);
    };
    this.socket.onclose = ({ code, reason }) => {
      if (this.ended) return;
      if (SAYS_WHY.includes(code)) {
        this.on.told({ is: "closed", sentence: reason || "The server ended this game." });
      } else if (code === RESTS) {
        this.connectWhenSeen();
      } else {
        tellDead(this);
        this.timer = setTimeout(() => this.connect(), RETRY);
      }
    };
  }

  connectWhenSeen() {
    const look = () => {
      if (document.hidden && !this.ended) return;
      document.removeEventListener("visibilitychange", look);
      if (!this.ended) this.connect();
    };
    document.addEventListener("visibilitychange", look);
    look();
  }

  /** Without the game that it had. */
  connectAnew() {
    this.socket.onclose = this.socket.onmessage = null;
    this.socket.close(DONE);
    this.connect();
  }

  say(message) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  close() {
    this.ended = true;
    clearTimeout(this.timer);
    tellAlive(this);
    this.socket.close(DONE);
  }
}
