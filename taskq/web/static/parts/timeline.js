/**
 * What happened to one activity: one line each, with a bar of its phases above, or with all that is
 * on record. What is shown can be copied and saved as JSON.
 */

import { h, redraw } from "../core/dom.js";
import { duration, exact } from "../core/format.js";
import { copyButton, saveButton } from "./copy.js";
import { json } from "./json.js";
import { choice, empty, panel } from "./status.js";
import { phases, PHASES, said, told } from "./story.js";
import { time } from "./time.js";
import { workerLink } from "./attempts.js";

const VIEWS = [["compact", "Compact"], ["", "Standard"], ["detailed", "Detailed"]];
/** Phases that are drawn apart; more are drawn without gaps. */
const FEW = 60;

/** `<tq-phases>`: a bar of what an activity spent its time on, and how much; it grows by itself. */
class Phases extends HTMLElement {
  #tick = 0;

  connectedCallback() {
    this.#tick = setInterval(() => document.hidden || !this.open || this.draw(), 1000);
    this.draw();
  }

  disconnectedCallback() {
    clearInterval(this.#tick);
  }

  show(found) {
    this.found = found;
    this.open = found.some(({ until }) => until === null);
    return this;
  }

  draw() {
    const spans = this.found.map((each) => ({ ...each, length: Math.max(0, ((each.until ?? Date.now()) - each.from) / 1000) }));
    const sums = Object.keys(PHASES).map((kind) => [kind, spans.filter((each) => each.kind === kind).reduce((sum, { length }) => sum + length, 0)]);
    const there = sums.filter(([kind]) => spans.some((each) => each.kind === kind));
    const all = spans.reduce((sum, { length }) => sum + length, 0) || 1;
    const words = there.map(([kind, sum]) => `${PHASES[kind]} ${duration(sum)}`);
    redraw(this,
      h("div", { class: `phases${spans.length > FEW ? " many" : ""}`, role: "img", "aria-label": words.join(", ") }, spans.map((each) => part(each, all))),
      h("ul", { class: "row", "aria-hidden": "true" }, there.map(([kind, sum]) => h("li", { class: `p-${kind}` }, h("i"), h("span", {}, PHASES[kind]), h("b", {}, duration(sum))))));
  }
}

customElements.define("tq-phases", Phases);

function part({ kind, from, until, attempt, length }, all) {
  const [begins, ends] = [from, until].map((each) => (each === null ? "now" : exact(new Date(each).toISOString()).split("\n")[0]));
  const title = `${PHASES[kind]}${attempt ? `, attempt ${attempt}` : ""}: ${duration(length)}\n${begins} –\n${ends}`;
  return h("i", { class: `p-${kind}`, title, style: { "flex-grow": (length / all) * 1000 } });
}

/** The panel; `view` is which of the three is shown, `turn(view)` is called for another one. */
export function timeline(activity, { items, cut }, view, turn) {
  const text = () => JSON.stringify({ id: activity.id, type: activity.type, cut, items }, null, 2);
  const tools = h("div", { class: "row" }, choice("Timeline as", VIEWS, view, turn), copyButton(text, "Copy timeline"), saveButton(text, `${activity.type}-${activity.id}-timeline.json`, "Save timeline"));
  if (!items.length) return panel("Timeline", null, empty("Nothing is on record."));
  const line = { compact, detailed }[view] ?? usual;
  const lines = items.map((entry, place) => line(entry, items[place - 1]));
  return panel("Timeline", tools,
    view === "" && h("tq-phases").show(phases(activity, items)),
    cut && h("p", { class: "soft" }, "The newest 1000 events."), h("ol", { class: view === "compact" ? "events" : "timeline" }, lines));
}

function head(entry) {
  return [h("b", { class: `is-${entry.kind}` }, told(entry.kind)), entry.attempt && h("small", {}, `attempt ${entry.attempt}`)];
}

function later(entry, before) {
  return before && h("small", {}, `+ ${duration((Date.parse(entry.at) - Date.parse(before.at)) / 1000)}`);
}

function compact(entry) {
  const line = said(entry);
  return h("li", {}, time(entry.at), h("span", {}, head(entry)), h("span", { class: "soft", title: line }, line));
}

function usual(entry, before) {
  return h("li", {}, h("div", { class: "row" }, head(entry), time(entry.at), later(entry, before), workerLink(entry.worker, null, "worker ")), h("p", { class: "soft" }, said(entry)));
}

function detailed(entry, before) {
  const name = `${told(entry.kind)}${entry.attempt ? ` ${entry.attempt}` : ""}`;
  return h("li", {},
    h("div", { class: "row" }, head(entry), h("span", {}, exact(entry.at).split("\n")[0]), later(entry, before), workerLink(entry.worker, null, "worker ")),
    Object.keys(entry.detail).length > 0 && json(JSON.stringify(entry.detail), name));
}
