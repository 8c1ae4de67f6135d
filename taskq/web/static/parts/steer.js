/** Pause and resume a queue, type or schedule: one button that says which, for operators. */

import { part } from "../core/api.js";
import { h } from "../core/dom.js";
import { may } from "../core/session.js";
import { command } from "./dialog.js";

/** `kind` is the API's `queues`, `types` or `schedules`; `then()` follows a command that was given. */
export function steer(kind, name, paused, then) {
  if (!may("operator")) return null;
  const go = paused ? "Resume" : "Pause";
  const ask = { title: `${go} ${name}`, go, done: () => `${name} is ${paused ? "resumed" : "paused"}.` };
  const click = async () => (await command(`${kind}/${part(name)}/${go.toLowerCase()}`, ask)) && then();
  return h("button", { class: "small", "aria-label": `${go} ${name}`, "data-focus": `steer ${name}`, on: { click } }, go);
}
