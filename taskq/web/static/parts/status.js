/** What many places show alike: a state, an id, a bar, an empty place. */

import { link } from "../core/address.js";
import { brief, words } from "../core/format.js";
import { h } from "../core/dom.js";

/** All states, in the order in which they are shown. */
export const STATES = ["processing", "pending", "scheduled", "retrying", "completed", "failed", "dead_letter", "cancelled"];

/** Priorities as a choice, with their names in the API. */
export const LEVELS = ["CRITICAL", "HIGH", "NORMAL", "LOW"].map((name) => [name, name.toLowerCase()]);

/** How attempts end that failed, and are not tried again. */
export const BAD = ["failed", "dead_letter", "timed_out", "crashed"];

/** A state, by name and colour; `more` stands behind it. */
export function chip(status, more = null) {
  return h("span", { class: `chip is-${status}` }, words(status), more && h("small", {}, more));
}

/** The way to an activity, by its last digits. */
export function activityLink(id, text = brief(id)) {
  return id ? h("a", { class: [id, brief(id)].includes(text) && "id", href: link(["activities", id]), title: id }, text) : "–";
}

/** How much of something is used; `label` says of what. */
export function meter(used, all, label) {
  const share = all ? Math.min(1, used / all) : 0;
  return h(
    "span",
    { class: "meter", role: "img", "aria-label": `${label}: ${used} of ${all}` },
    h("i", { style: { width: `${share * 100}%` } }),
  );
}

/** Where there is nothing: what that means, and what to do. */
export function empty(sentence, ...more) {
  return h("div", { class: "empty" }, h("p", {}, sentence), more);
}

/** Names and values. Pairs without a value (null, false, an empty text) are left out. */
export function facts(pairs) {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== false && value !== "");
  return h("dl", { class: "facts" }, shown.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

/** A part of a page under a heading; `aside` stands to its right. */
export function panel(heading, aside, ...content) {
  return h("section", { class: "panel" }, h("header", {}, h("h2", {}, heading), aside), content);
}

/** A choice of a few, as buttons of which one is pressed: `options` are [value, label]. */
export function choice(label, options, value, act) {
  const button = ([name, text]) =>
    h("button", { "aria-pressed": String(name === value), "data-focus": `${label} ${name}`, on: { click: () => act(name) } }, text);
  return h("div", { class: "choice", role: "group", "aria-label": label }, options.map(button));
}
