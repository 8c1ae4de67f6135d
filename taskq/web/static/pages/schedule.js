/** One schedule: its next times, in its own zone too, what became of the last ones, and what it calls. */

import { here, link } from "../core/address.js";
import { get } from "../core/api.js";
import { h, redraw } from "../core/dom.js";
import { clock, count, duration, zoneName } from "../core/format.js";
import { live } from "../core/live.js";
import { Page } from "../core/page.js";
import { json } from "../parts/json.js";
import { found, marks, noSchedule, scheduleButtons, sentence, tally } from "../parts/schedule-acts.js";
import { history } from "../parts/spark.js";
import { activityLink, chip, empty, facts, panel } from "../parts/status.js";
import { time } from "../parts/time.js";

const MISSED = { latest: "the latest runs, once", none: "are left out", all: "all of them run" };
const OVERLAP = { allow: "the next runs all the same", skip: "the next is left out", queue: "the next waits" };

class Schedule extends Page {
  title = here().path[1];

  start() {
    this.listen(live, "activities", () => this.soon(3000));
  }

  async read(signal) {
    const item = await found(this.title, signal);
    return item && { item, pause: item.paused_at ? await this.#pause(signal) : null };
  }

  /** Who paused it and why, where the latest commands still have it. */
  async #pause(signal) {
    const { items } = await get("audit", { limit: 200 }, signal);
    return items.find(({ action, target }) => action === "schedule.pause" && target === this.title) ?? null;
  }

  draw(data) {
    if (!data) return redraw(this.body, noSchedule(this.title));
    const { item, pause } = data;
    redraw(this.head, this.head.firstChild, marks(item), scheduleButtons(item, () => this.refresh(), true));
    redraw(this.arguments ??= h("div"), this.text === item.arguments ? [...this.arguments.childNodes] : json(item.arguments, "arguments"));
    this.text = item.arguments;
    redraw(this.body,
      item.broken && h("p", { class: "problem" }, item.broken),
      item.paused_at && h("p", { class: "is-pending" }, "Paused ", time(item.paused_at, "ago"), pause && ` by ${pause.actor}${pause.reason && `: ${pause.reason}`}`),
      panel(sentence(item.when), item.cron && h("code", {}, `${item.cron}  ${item.timezone}`), described(item)),
      h("div", { class: "two" }, panel("Next times", null, upcoming(item)), panel("How long it took", item.recent.length > 0 && total(item), item.recent.length ? history(item.recent) : empty("It has not come due yet."))),
      h("div", { class: "two loose" }, panel("Last runs", null, item.recent.length ? timeline(item) : none()), panel("Arguments", null, this.arguments)));
  }
}

function none() {
  return empty("It has not come due yet.", h("a", { href: link("schedules", { view: "runs" }) }, "All runs, also those by hand"));
}

function described(item) {
  return facts([
    ["Type", h("a", { href: link("activities", { type: item.type }) }, item.type)], ["Queue", h("a", { href: link("activities", { queue: item.queue }) }, item.queue)],
    ["Priority", item.priority.toLowerCase()], ["Missed times", MISSED[item.catch_up]], ["While the last one runs", OVERLAP[item.overlap]],
    ["Spread over", item.jitter ? duration(item.jitter) : null], ["Runs in all", count(item.fired)], ["Left out", item.skipped || null],
    ["Made", item.declared ? "in code" : "by an operator"], ["Changed", time(item.updated_at, "ago")], ["Revision", item.revision],
  ]);
}

function total(item) {
  const { ok, failed } = tally(item);
  return h("span", { class: "soft" }, `${ok} ok, `, h("span", { class: failed ? "is-failed" : "" }, `${failed} failed`));
}

function upcoming({ upcoming: times, timezone, paused_at: paused }) {
  if (!times.length) return empty(paused ? "None while it is paused." : "It never comes again.");
  const row = (at) => h("li", {}, h("b", {}, clock(at, timezone)), h("span", { class: "soft" }, time(at)), h("small", {}, time(at, "ago")));
  return h("div", { class: "times" }, h("div", { class: "zones" }, h("small", {}, timezone), h("small", {}, sentence(zoneName()))), h("ol", {}, times.map(row)));
}

function timeline({ recent }) {
  const row = (run) => h("li", {}, chip(run.status), time(run.at), h("span", { class: "soft" }, duration(run.duration)), activityLink(run.id));
  return h("ul", { class: "lasts" }, [...recent].reverse().map(row));
}

customElements.define("tq-schedule", Schedule);
export default Schedule;
