/** What pages of schedules show alike: how one fares, and what can be done with it. */

import { go, link } from "../core/address.js";
import { get, part } from "../core/api.js";
import { h } from "../core/dom.js";
import { may } from "../core/session.js";
import { command } from "./dialog.js";
import { OVER } from "./acts.js";
import { activityLink, empty } from "./status.js";

const GRACE = 30000;

/** The schedule of this name; null: there is none. */
export function found(name, signal) {
  return get(`schedules/${part(name)}`, {}, signal).catch((error) => (error.status === 404 ? null : Promise.reject(error)));
}

/** What to say where there is none. */
export function noSchedule(name) {
  return empty(`There is no schedule ${name}. It may have been deleted.`, h("a", { href: link("schedules") }, "All schedules"));
}

/** What ended of its last times: how many of them `ok`, and how many `failed` or were cancelled. */
export function tally({ recent }) {
  const ended = recent.filter(({ status }) => OVER.has(status));
  const ok = ended.filter(({ status }) => status === "completed").length;
  return { ok, failed: ended.length - ok };
}

/** When it comes, as a sentence begins; lengths of time as everywhere else: `15 m`. */
export function sentence(words) {
  const apart = words.replaceAll(/\b(?:\d+(?:ms|[smhdw]))+\b/g, (length) => length.replaceAll(/(\d+)([a-z]+)/g, "$1 $2 ").trim());
  return apart[0].toUpperCase() + apart.slice(1);
}

/** Whether it should have come a while ago, and waits for nothing. */
export function overdue(item, now = Date.now()) {
  const last = item.recent.at(-1);
  const waits = item.overlap === "queue" && last && !OVER.has(last.status);
  return !item.paused_at && !item.broken && !waits && item.next_at !== null && Date.parse(item.next_at) < now - GRACE;
}

/** Marks for what is out of the ordinary. */
export function marks(item) {
  const mark = (text, hue, title) => h("span", { class: `chip is-${hue}`, title }, text);
  return [
    item.broken && mark("broken", "failed", item.broken),
    overdue(item) && mark("overdue", "failed", "It should have come by now: does a worker run?"),
    item.paused_at && mark("paused", "pending", null),
  ];
}

/** What is to be done with one; `after()` is called when it was. `all`: also what a row has no room for. */
export function scheduleButtons(item, after, all = false) {
  const give = (verb, more, then = after) => async () => (await command(`schedules/${part(item.name)}/${verb}`, more)) && then();
  const size = all ? "" : "small";
  const button = (label, act, kind = size) => h("button", { class: kind, "aria-label": `${label} ${item.name}`, "data-focus": `${label} ${item.name}`, on: { click: act } }, label);
  const way = (label, path, params) => h("a", { class: `button ${size}`, href: link(path, params), "aria-label": `${label} ${item.name}` }, label);
  const extra = { title: `Run ${item.name} now`, text: "Besides its times, which stay as they are.", go: "Run now", done: ({ id }) => [`${item.name} runs once more: `, activityLink(id)] };
  const pause = { title: `Pause ${item.name}`, text: "Nothing comes of it until it is resumed; what passes meanwhile is left out.", go: "Pause", done: () => `${item.name} is paused.` };
  const resume = { title: `Resume ${item.name}`, text: "It goes on with its first time after now.", go: "Resume", done: () => `${item.name} goes on.` };
  const gone = { title: `Delete ${item.name}`, go: "Delete", danger: true, done: () => `${item.name} is deleted.`, text: item.declared ? "It is declared in code, and comes back with the next worker." : "What it has made stays." };
  return h("div", { class: "row deeds" },
    may("operator") && button("Run now", give("trigger", extra)),
    may("operator") && (item.paused_at ? button("Resume", give("resume", resume)) : button("Pause", give("pause", pause))),
    may("admin") && way("Edit", ["schedules", item.name, "edit"]),
    may("admin") && all && way("One like this", "schedules", { form: "new", like: item.name }),
    may("admin") && all && button("Delete", give("delete", gone, () => go("schedules", {}, { replace: true })), "danger"));
}
