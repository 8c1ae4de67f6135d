/**
 * What can be done to one activity, by its state and by who asks. A bulk command is an activity too:
 * it can be stopped and sent on as it is, and nothing else of it can be changed.
 */

import { part } from "../core/api.js";
import { go, link } from "../core/address.js";
import { h } from "../core/dom.js";
import { plural, pretty, zoneName } from "../core/format.js";
import { same } from "../core/jsontext.js";
import { may } from "../core/session.js";
import { command } from "./dialog.js";
import { enqueue } from "./enqueue.js";
import { LEVELS } from "./status.js";

/** States that have ended. */
export const OVER = new Set(["completed", "failed", "dead_letter", "cancelled"]);
/** States from which something can be sent round again. */
export const AGAIN = new Set(["failed", "dead_letter", "cancelled"]);
/** States in which it is not its time yet. */
export const WAITS = new Set(["scheduled", "retrying"]);
const MINUTE = 60_000;
const COUNTED = 1000;

/** Whether it is a bulk command. */
export function reserved({ queue }) {
  return queue === "taskq.bulk";
}

function path(activity, name) {
  return `activities/${part(activity.id)}/${name}`;
}

function version(activity) {
  return activity.version ? { version: activity.version } : {};
}

/** Run once more what did not complete; where its arguments are known, they can be changed. */
export async function retry(activity) {
  if (!AGAIN.has(activity.status)) return undefined;
  const own = activity.arguments ?? null;
  const fixed = own === null || reserved(activity);
  const fields = fixed ? [] : [{ name: "arguments", label: "Arguments", type: "json", value: pretty(own), rows: 10, hint: "JSON; left as they are, nothing is changed." }];
  return command(path(activity, "retry"), {
    title: `Retry ${activity.type}`, go: "Retry", fields, done: () => "It is retried.",
    text: reserved(activity) ? "It goes on where it was." : null,
    body: ({ arguments: text }) => (fixed || same(text, own) ? version(activity) : edited(activity, text)),
  });
}

function edited(activity, text) {
  const own = activity.version ? `"version":${JSON.stringify(activity.version)},` : "";
  return `${own}"arguments":${text}`;
}

/** Stop it; where something is below it, with all of that. */
export function cancel(activity) {
  if (reserved(activity)) return stop(activity);
  const { children = null } = activity;
  const many = children >= COUNTED ? `at least ${plural(COUNTED, "child", "children")}` : plural(children ?? 0, "child", "children");
  return command(path(activity, "cancel"), {
    title: `Cancel ${activity.type}`, go: "Cancel it", danger: true, done: () => "It is being cancelled.",
    text: children ? `It has made ${many}.` : children === 0 ? "It has no children." : null,
    fields: children === 0 ? [] : [{ name: "tree", label: "With all that is below it", type: "check" }],
    body: ({ tree = false }) => ({ tree, ...version(activity) }),
  });
}

/** Stop a bulk command. */
export function stop({ id }) {
  return command(`bulk/${part(id)}/cancel`, {
    title: "Stop this command", text: "What is done stays done.", go: "Stop it", danger: true, done: () => "It stops.",
  });
}

function runNow(activity) {
  return command(path(activity, "run-now"), {
    title: `Run ${activity.type} now`, go: "Run now", body: () => version(activity), done: () => "It is pending now.",
  });
}

function reschedule(activity) {
  const utc = zoneName() === "UTC";
  const shift = (at) => (utc ? 0 : at.getTimezoneOffset() * MINUTE);
  const typed = (at) => new Date(at - shift(at)).toISOString().slice(0, 19);
  const later = (minutes) => () => typed(new Date(Date.now() + minutes * MINUTE));
  const tomorrow = () => {
    const at = new Date();
    at.setDate(at.getDate() + 1);
    return typed(at);
  };
  return command(path(activity, "reschedule"), {
    title: `Reschedule ${activity.type}`, go: "Reschedule", done: () => "Its time is changed.",
    fields: [{
      name: "when", label: `When, in ${utc ? "UTC" : "your own zone"}`, type: "datetime-local", required: true, value: typed(new Date(activity.ready_at)),
      quick: [["In 5 minutes", later(5)], ["In 1 hour", later(60)], ["Tomorrow at this time", tomorrow]],
    }],
    body: ({ when }) => ({ when: new Date(utc ? `${when}Z` : when).toISOString(), ...version(activity) }),
  });
}

function priority(activity) {
  return command(path(activity, "priority"), {
    title: `Priority of ${activity.type}`, go: "Change", done: () => "Its priority is changed.",
    fields: [{ name: "priority", label: "Priority", type: "select", value: activity.priority, options: LEVELS }],
    body: (values) => ({ priority: values.priority, ...version(activity) }),
  });
}

async function remove(activity) {
  const gone = await command(path(activity, "delete"), {
    title: `Delete ${activity.type}`, text: "It is gone for good, with all that is below it and what is on record of it.", go: "Delete", danger: true,
    body: () => version(activity), done: () => "It is deleted.",
  });
  if (gone) go("activities", {}, { replace: true });
  return gone;
}

/** Another one with what this one was made of; not with its key, which would make it the same. */
function another({ type, queue, priority: level, arguments: text, tags, timeout, max_retries, correlation_id, user_id }) {
  return enqueue({ type, queue, priority: level, arguments: text, tags, timeout, max_retries, correlation_id, user_id });
}

/** [whether it fits, label, act, class] of a bulk command. */
function ofCommand(activity) {
  const over = OVER.has(activity.status);
  const deletes = /"action"\s*:\s*"delete"/.test(activity.arguments ?? "");
  return [
    [AGAIN.has(activity.status) && may(deletes ? "admin" : "operator"), "Retry", retry],
    [!over && may("operator"), "Stop", stop, "danger"],
    [over && may("admin"), "Delete", remove, "danger"],
  ];
}

function ofAny(activity) {
  const { status } = activity;
  const over = OVER.has(status);
  return [
    [AGAIN.has(status) && may("operator"), "Retry", retry],
    [WAITS.has(status) && may("operator"), "Run now", runNow],
    [(WAITS.has(status) || status === "pending") && may("operator"), "Reschedule", reschedule],
    [!over && may("operator"), "Priority", priority],
    [activity.known && may("operator"), "One like this", another],
    [!over && may("operator"), "Cancel", cancel, "danger"],
    [over && may("admin"), "Delete", remove, "danger"],
  ];
}

/** The buttons that fit; `after()` is called when the dialog is closed: what is shown may be out of date. */
export function acts(activity, after) {
  const bulk = reserved(activity);
  const all = (bulk ? ofCommand : ofAny)(activity).filter(([can]) => can);
  const button = ([, label, act, kind]) => h("button", { class: kind, "data-focus": `act ${label}`, on: { click: async () => ((await act(activity)) && act === remove) || after() } }, label);
  return h("div", { class: "row" }, bulk && h("a", { class: "button", href: link("bulk") }, "Bulk commands"), all.map(button));
}
