// Elements are made here and only here; what comes from a run is text, never markup.

/** An element; properties: attributes, `class`, `text`, and functions as listeners `onclick`. */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "text") element.textContent = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** A number for people: decimals only where there are any. */
export function plain(number, digits = 2) {
  if (number === null || number === undefined || !Number.isFinite(number)) return "–";
  const shown = Number.isInteger(number) ? 0 : digits;
  return number.toLocaleString("en", {
    minimumFractionDigits: shown,
    maximumFractionDigits: shown,
  });
}

/** A measured number: three digits that matter, or more, and no sign before zero. */
export function measured(number, digits = 3) {
  if (number === null || number === undefined || !Number.isFinite(number)) return "–";
  const size = Math.abs(number);
  if (size >= 1e15) return number.toExponential(digits - 1);
  if (size >= Math.max(1000, 10 ** (digits - 1))) return plain(Math.round(number));
  return String(+number.toPrecision(digits) || 0);
}

/** A number that stands still, as `deepcs agents` writes it: 46.5. */
export function brief(number) {
  return number.toLocaleString("en", { maximumFractionDigits: 3 });
}

/** 1 tile, 2 tiles. */
export function counted(number, one, many = `${one}s`) {
  return `${brief(number)} ${number === 1 ? one : many}`;
}

/** A name in parts, between which a line may break: Montezuma|Revenge, runs/|KeyHallway-|seed0. */
export function breakable(name) {
  const parts = name.split(/[-_/]/.test(name) ? /(?<=[-_/])/ : /(?<=[a-z])(?=[A-Z])/);
  return parts.flatMap((part, k) => (k ? [el("wbr"), part] : [part]));
}

/** What a world looks like; pictures: worlds that have one. */
export function worldPicture(world, pictures) {
  if (!pictures.includes(world)) return el("span", { class: "world-picture missing" });
  return el("img", {
    class: "world-picture",
    src: `/page/world-${encodeURIComponent(world)}.png`,
    alt: "",
    loading: "lazy",
  });
}

export const UNITS = [
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** 2,500,000 as 2.5M. */
export function short(number) {
  for (const [size, letter] of UNITS) {
    if (Math.abs(number) >= size) return `${+(number / size).toPrecision(3)}${letter}`;
  }
  return `${+number.toPrecision(3)}`;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800
    ? `${(seconds / 3600).toFixed(1)} h`
    : `${(seconds / 86400).toFixed(1)} days`;
}

const FOCUSED = "a[href], button, input, select, summary";

/** What the same element is called after it was made anew. */
function keyOf(element) {
  return element.dataset.key ?? element.getAttribute("href");
}

/** Replace what is in a place; an element of the same `data-key` or address stays focused. */
export function renew(place, ...children) {
  const at = document.activeElement;
  const key = place.contains(at) ? keyOf(at) : null;
  const scrolled = [...place.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
  place.replaceChildren(...children);
  place.querySelectorAll(".scroll").forEach((each, k) => {
    each.scrollLeft = scrolled[k] ?? 0;
  });
  if (key === null) return;
  const same = [...place.querySelectorAll(FOCUSED)].find((each) => keyOf(each) === key);
  same?.focus({ preventScroll: true });
}

/** Whether the space bar works what is focused. */
export function takesSpace({ target }) {
  return target instanceof Element && target.matches("button, summary, input[type=checkbox]");
}

/** A letter is the same with Shift or Caps Lock. */
export function keyName({ key }) {
  return key.length === 1 ? key.toLowerCase() : key;
}

let byPointer = false;
addEventListener("pointerdown", () => (byPointer = true), true);
addEventListener("keydown", () => (byPointer = false), true);

/** After a change by pointer the keys are the game's again; by keys, the field stays focused. */
export function letGo({ target }) {
  if (byPointer) target.blur();
}

/** Whether keys go to a field instead of the page. */
export function isTyping(event) {
  const at = event.target;
  return (
    at instanceof HTMLSelectElement ||
    at instanceof HTMLTextAreaElement ||
    (at instanceof HTMLInputElement && at.type !== "checkbox")
  );
}
