/** Pausing and resuming a queue or a type. */

import { part } from "../core/api.js";
import { h } from "../core/dom.js";
import { may } from "../core/session.js";
import { command } from "./dialog.js";
import { time } from "./time.js";

/** The button that fits; `kind` is `queues` or `types`. `after()` is called when it was done. */
export function pauseButton(kind, { name, paused }, after, size = "small") {
  if (!may("operator")) return null;
  const verb = paused ? "Resume" : "Pause";
  const act = () => command(`${kind}/${part(name)}/${verb.toLowerCase()}`, {
    title: `${verb} ${name}`, go: verb, done: () => `${name} is ${paused ? "resumed" : "paused"}.`,
    text: paused ? null : "Nothing of it is started until it is resumed. What runs goes on.",
  });
  return h("button", { class: size, "aria-label": `${verb} ${name}`, "data-focus": `pause ${name}`, on: { click: async () => (await act()) && after() } }, verb);
}

/** Since when it is paused, by whom and why. */
export function pausedNote(paused) {
  return paused && h("small", {}, h("span", { class: "is-pending" }, "paused"), " ", time(paused.since, "ago"), ` by ${paused.by}`, paused.reason && `: ${paused.reason}`);
}
