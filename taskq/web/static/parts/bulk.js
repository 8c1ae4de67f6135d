/** The same command to many: those that are ticked, or all that a filter finds. */

import { get } from "../core/api.js";
import { link } from "../core/address.js";
import { h } from "../core/dom.js";
import { count, plural, words } from "../core/format.js";
import { may } from "../core/session.js";
import { AGAIN, OVER, WAITS } from "./acts.js";
import { command, show } from "./dialog.js";
import { LEVELS, STATES } from "./status.js";

const OPEN = STATES.filter((status) => !OVER.has(status));
const WHEN = { name: "when", label: "When, in your own zone", type: "datetime-local", required: true };
const LEVEL = { name: "priority", label: "Priority", type: "select", value: "NORMAL", options: LEVELS };
const TREE = { name: "tree", label: "With all that is below them", type: "check" };
export const RATE = { name: "rate", label: "At most so many a second", type: "number", hint: "Empty: as fast as it goes." };

/** By action: what it is called, who may, in which states there is something to do, what it asks for. */
const ACTIONS = {
  retry: { label: "Retry", role: "operator", states: [...AGAIN] },
  run_now: { label: "Run now", role: "operator", states: [...WAITS] },
  reschedule: { label: "Reschedule", role: "operator", states: ["pending", ...WAITS], fields: [WHEN] },
  priority: { label: "Priority", go: "Change", role: "operator", states: OPEN, fields: [LEVEL] },
  cancel: { label: "Cancel", role: "operator", states: OPEN, danger: true, fields: [TREE] },
  delete: { label: "Delete", role: "admin", states: [...OVER], danger: true },
};

/**
 * Buttons for those that are ticked (`ids`), else for all that `matching` ({filter, count, exact}) finds;
 * nothing where neither is. Only what can be done in one of `states`. `after()` is called when a
 * command was given.
 */
export function bulkButtons(ids, matching, states, after) {
  const about = ids.length ? { ids } : matching && { filter: matching.filter };
  const what = ids.length ? `${count(ids.length)} selected` : matching && `all ${count(matching.count)}${matching.exact ? "" : "+"}`;
  const can = Object.entries(ACTIONS).filter(([, { role, states: its }]) => about && may(role) && its.some((each) => states.includes(each)));
  return can.map(([action, { label, danger }]) =>
    h("button", { class: danger ? "small danger" : "small", "data-focus": `bulk ${action}`, on: { click: async () => (await bulk(action, about)) && after() } }, `${label} ${what}`));
}

/** Count first, ask why, then give the command. `about` has `ids` or a `filter`. */
export async function bulk(action, about) {
  const { label, go = label, danger, fields = [], states } = ACTIONS[action];
  const preview = about.filter === undefined ? null : await get("bulk/preview", { action, q: about.filter });
  const number = preview ? preview.count : about.ids.length;
  if (!number) return show(`${label}: nothing to do`, h("p", {}, `Of what ${about.filter} finds, nothing is ${states.map(words).join(" or ")}.`));
  const atLeast = preview && !preview.exact ? "at least " : "";
  return command("bulk", {
    title: `${label}: ${atLeast}${plural(number, "activity", "activities")}`, text: preview ? explained(about.filter, preview) : null,
    fields: [...fields, RATE], danger, go: `${go} ${count(number)}`,
    body: (values) => ordered(action, about, preview, values), done: begun,
  });
}

/** The body of a command, of what was asked; `preview`: what was counted before, or null. */
export function ordered(action, about, preview, values) {
  return { action, ...about, ...(preview?.exact ? { expected: preview.count } : {}), ...given(values) };
}

/** What is said once it is given. */
export function begun() {
  return ["The workers do it: ", h("a", { href: link("bulk") }, "see how far it is")];
}

function explained(filter, { by_status: by }) {
  const counts = Object.entries(by).filter(([, each]) => each).map(([status, each]) => `${count(each)} ${words(status)}`);
  return h("p", {}, "What ", h("code", {}, filter), ` finds, in states that allow it: ${counts.join(", ")}.`);
}

function given({ rate, when, priority, tree }) {
  return {
    ...(rate ? { rate: Number(rate) } : {}),
    ...(when ? { when: new Date(when).toISOString() } : {}),
    ...(priority ? { priority } : {}),
    ...(tree ? { tree } : {}),
  };
}
