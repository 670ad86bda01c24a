// Where the page is: everything that a reload must not lose stands in the address.

export function here() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return { view: path || "watch", query: new URLSearchParams(query ?? "") };
}

export function address(view, query) {
  const text = query.toString();
  return `#/${view}${text ? `?${text}` : ""}`;
}

/** Change the address without going anywhere. */
export function note(view, query) {
  history.replaceState(null, "", address(view, query));
}

/** The time that the map of the k-th run shows; `note(at)` keeps it in the address. */
export function timeInAddress(query, k) {
  const [time, all] = k ? [`t${k}`, `all${k}`] : ["t", "all"];
  return {
    at: { step: Number(query.get(time)), atEnd: !query.has(time), whole: query.get(all) === "1" },
    note({ step, atEnd, whole }) {
      if (atEnd) query.delete(time);
      else query.set(time, step);
      if (whole) query.set(all, "1");
      else query.delete(all);
      note("run", query);
    },
  };
}

/** A player as it stands in the address: run:NAME, run:NAME@STEP, agent:NAME or you:WORLD. */
export function playerText({ kind, name, step }) {
  // Behind the last @ is the step, so a run's name with an @ in it ends with one more.
  const ends = kind === "run" && (step !== undefined || name.includes("@"));
  return `${kind}:${name}${ends ? `@${step ?? ""}` : ""}`;
}

export function parsePlayer(text) {
  const kind = text.split(":", 1)[0];
  const name = text.slice(kind.length + 1);
  if (!["run", "agent", "you"].includes(kind) || !name) return null;
  const at = /^(.+)@(\d{0,15})$/s.exec(name);
  if (kind !== "run" || !at) return { kind, name };
  return at[2] ? { kind, name: at[1], step: Number(at[2]) } : { kind, name: at[1] };
}
