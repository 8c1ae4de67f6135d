/** What can be done to one activity, by its state and by who asks. */

import { part } from "../core/api.js";
import { go } from "../core/address.js";
import { h } from "../core/dom.js";
import { may } from "../core/session.js";
import { command } from "./dialog.js";

/** States that have ended. */
export const OVER = new Set(["completed", "failed", "dead_letter", "cancelled"]);
const WAITS = new Set(["scheduled", "retrying"]);
const LEVELS = ["CRITICAL", "HIGH", "NORMAL", "LOW"];

function path(activity, name) {
  return `activities/${part(activity.id)}/${name}`;
}

function version(activity) {
  return activity.version ? { version: activity.version } : {};
}

/** Run it once more; where its arguments are known, they can be changed. */
export function retry(activity) {
  const text = activity.arguments ?? null;
  const fields = text === null ? [] : [{ name: "arguments", label: "Arguments", type: "area", value: text, rows: 10, hint: "JSON; left as they are, nothing is changed." }];
  const raw = (values) => (text === null || values.arguments.trim() === text.trim() ? version(activity) : edited(activity, values.arguments));
  return command(path(activity, "retry"), {
    title: `Retry ${activity.type}`, go: "Retry", fields, body: raw, done: () => "It is retried.",
  });
}

function edited(activity, text) {
  JSON.parse(text); // what is no JSON is said here, not by the server
  const own = activity.version ? `"version":${JSON.stringify(activity.version)},` : "";
  return `${own}"arguments":${text}`;
}

/** Stop it; `tree`: with all that is below it. */
export function cancel(activity) {
  return command(path(activity, "cancel"), {
    title: `Cancel ${activity.type}`, go: "Cancel it", danger: true, done: () => "It is being cancelled.",
    fields: [{ name: "tree", label: "With all that is below it", type: "check" }],
    body: ({ tree }) => ({ tree, ...version(activity) }),
  });
}

function runNow(activity) {
  return command(path(activity, "run-now"), {
    title: `Run ${activity.type} now`, go: "Run now", body: () => version(activity), done: () => "It is pending now.",
  });
}

function reschedule(activity) {
  return command(path(activity, "reschedule"), {
    title: `Reschedule ${activity.type}`, go: "Reschedule", done: () => "It has another time.",
    fields: [{ name: "when", label: "When, in your own zone", type: "datetime-local", required: true }],
    body: ({ when }) => ({ when: new Date(when).toISOString(), ...version(activity) }),
  });
}

function priority(activity) {
  return command(path(activity, "priority"), {
    title: `Priority of ${activity.type}`, go: "Change", done: () => "Its priority is changed.",
    fields: [{ name: "priority", label: "Priority", type: "select", value: activity.priority, options: LEVELS.map((each) => [each, each.toLowerCase()]) }],
    body: (values) => ({ priority: values.priority, ...version(activity) }),
  });
}

async function remove(activity) {
  const gone = await command(path(activity, "delete"), {
    title: `Delete ${activity.type}`, text: "It is gone for good, with what is on record of it.", go: "Delete", danger: true,
    body: () => version(activity), done: () => "It is deleted.",
  });
  if (gone) go("activities");
  return gone;
}

/** The buttons that fit; `after()` is called when the dialog is closed: what is shown may be out of date. */
export function acts(activity, after) {
  const { status } = activity;
  const all = [
    [OVER.has(status) && may("operator"), "Retry", retry],
    [WAITS.has(status) && may("operator"), "Run now", runNow],
    [(WAITS.has(status) || status === "pending") && may("operator"), "Reschedule", reschedule],
    [!OVER.has(status) && status !== "processing" && may("operator"), "Priority", priority],
    [!OVER.has(status) && may("operator"), "Cancel", cancel, "danger"],
    [status !== "processing" && may("admin"), "Delete", remove, "danger"],
  ];
  const button = ([, label, act, kind]) => h("button", { class: kind, "data-focus": `act ${label}`, on: { click: async () => ((await act(activity)) && act === remove) || after() } }, label);
  return h("div", { class: "row" }, all.filter(([can]) => can).map(button));
}
