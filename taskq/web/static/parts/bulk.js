/** The same command to many: those that are ticked, or all that a filter finds. */

import { get } from "../core/api.js";
import { link } from "../core/address.js";
import { h } from "../core/dom.js";
import { count, plural, words } from "../core/format.js";
import { may } from "../core/session.js";
import { command } from "./dialog.js";

const ACTIONS = [["retry", "Retry", "operator"], ["cancel", "Cancel", "operator"], ["run_now", "Run now", "operator"], ["delete", "Delete", "admin"]];
const RATE = { name: "rate", label: "At most so many a second", type: "number", hint: "Empty: as fast as it goes." };

/**
 * Buttons for the `ids` that are ticked and for all that `matching` ({filter, count}) finds; nothing
 * where neither is. `after()` is called when a command was given.
 */
export function bulkButtons(ids, matching, after) {
  const can = ACTIONS.filter(([, , role]) => may(role));
  const button = (what, about) => ([action, label]) =>
    h("button", { class: "small", "data-focus": `bulk ${action} ${what}`, on: { click: async () => (await bulk(action, about)) && after() } }, `${label} ${what}`);
  const named = `${count(ids.length)} selected`;
  const all = matching && `all ${count(matching.count)}`;
  return [ids.length ? can.map(button(named, { ids })) : null, matching && can.map(button(all, { filter: matching.filter }))];
}

/** Count first, ask why, then give the command. `about` has `ids` or a `filter`. */
export async function bulk(action, about) {
  const preview = about.filter === undefined ? null : await get("bulk/preview", { action, q: about.filter });
  const number = preview ? preview.count : about.ids.length;
  const by = preview && Object.entries(preview.by_status).filter(([, each]) => each).map(([status, each]) => `${count(each)} ${words(status)}`);
  const text = preview ? `${about.filter}: ${preview.exact ? "" : "at least "}${by.join(", ") || "none in a state for this"}.` : null;
  return command("bulk", {
    title: `${words(action)} ${plural(number, "activity", "activities")}`, text, fields: [RATE], danger: action === "cancel" || action === "delete",
    go: `${words(action)} ${count(number)}`,
    body: ({ rate }) => ({ action, ...about, ...(preview?.exact ? { expected: number } : {}), ...(rate ? { rate: Number(rate) } : {}) }),
    done: () => `The workers do it; see ${link("bulk")}`,
  });
}
