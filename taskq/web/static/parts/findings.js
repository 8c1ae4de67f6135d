/** What needs attention: how urgent each finding is, what to do about it, and where. */

import { link } from "../core/address.js";
import { h, listed } from "../core/dom.js";
import { count } from "../core/format.js";
import { time } from "./time.js";

const URGENCIES = ["urgent", "warning", "notice"];
const HUES = { urgent: "is-failed", warning: "is-pending", notice: "is-scheduled" };

const matching = ({ filter }) => link("activities", { q: filter });
const schedule = ({ subject }) => link(["schedules", subject]);
const workers = () => link("workers");

/** By kind: how urgent, what has happened, what to do, where that can be done. */
const KINDS = {
  unserved: ["urgent", (name) => `No worker serves ${name}`, "Start a worker that does, or cancel what waits", matching],
  stuck: ["urgent", (name) => `Queue ${name} is stuck`, "Add workers or slots, or look at what holds them", matching],
  broken: ["urgent", (name) => `Schedule ${name} is broken`, "Give it a task that exists, or delete it", schedule],
  lost_worker: ["warning", (name) => `Worker ${name} was lost`, "Look at its host and its log", workers],
  threads_stuck: ["warning", (name) => `Threads of ${name} are stuck`, "Restart this worker, and let what blocks in it give up by itself", workers],
  overdue: ["warning", (name) => `Schedule ${name} is late`, "Start a worker, or see why those there are do not come to it", schedule],
  cause: ["warning", (name) => name ?? "A cause that is hidden from your role", "Mend the cause, then retry them all", ({ subject }) => link(["dead", subject])],
  paused_queue: ["notice", (name) => `Queue ${name} is paused`, "Resume it once it may go on", ({ subject }) => link(["queues", subject])],
  paused_type: ["notice", (name) => `Type ${name} is paused`, "Resume it once it may go on", ({ subject }) => link(["types", subject])],
};

/** Show what the API found in a list, the most urgent first. */
export function showFindings(list, { items, cap }) {
  const place = ({ kind }) => URGENCIES.indexOf(KINDS[kind][0]);
  const sorted = items.filter(({ kind }) => kind in KINDS).sort((one, other) => place(one) - place(other));
  listed(list, sorted, ({ kind, subject, filter }) => `${kind} ${subject} ${filter}`, (item) => finding(item, cap));
}

function finding(item, cap) {
  const { kind, subject, title, detail, count: number, since, filter } = item;
  const [urgency, what, act, where] = KINDS[kind];
  const name = what(title);
  const sentence = `${detail.slice(0, 1).toUpperCase()}${detail.slice(1)}. ${act}.`;
  return h("li", {},
    h("span", { class: `chip ${HUES[urgency]}` }, urgency),
    h("div", { class: "grow" }, h("a", { href: where(item), "data-focus": `finding ${kind} ${subject} ${filter}` }, name), h("p", { class: "soft" }, sentence)),
    h("small", { class: "much" }, filter && number > 0 && h("a", { href: matching(item), "aria-label": `Activities of: ${name}` }, `${count(number, cap)} ${number === 1 ? "activity" : "activities"}`), since && time(since, "ago")));
}
