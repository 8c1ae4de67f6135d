/** One schedule: its next times, in its own zone too, and its last ones. */

import { go, here } from "../core/address.js";
import { get, part } from "../core/api.js";
import { h, redraw } from "../core/dom.js";
import { clock, duration } from "../core/format.js";
import { Page } from "../core/page.js";
import { json } from "../parts/json.js";
import { runs } from "../parts/spark.js";
import { activityLink, chip, empty, facts, panel } from "../parts/status.js";
import { time } from "../parts/time.js";
import { scheduleButtons } from "./schedules.js";

class Schedule extends Page {
  title = here().path[1];

  read(signal) {
    return get(`schedules/${part(this.title)}`, {}, signal);
  }

  draw(item) {
    redraw(this.head, h("h1", { tabindex: "-1" }, item.name), item.paused_at && h("span", { class: "chip is-pending" }, "paused"),
      scheduleButtons(item, () => this.refresh().then(() => this.trouble.firstChild && go("schedules"))));
    const next = item.upcoming.map((at) => h("li", {}, time(at), h("small", {}, ` ${clock(at, item.timezone)} ${item.timezone}`)));
    const last = [...item.recent].reverse().map((run) => h("li", { class: "row" }, chip(run.status), time(run.at), activityLink(run.id), h("small", {}, duration(run.duration))));
    redraw(this.body,
      item.broken && h("p", { class: "problem" }, item.broken),
      panel(item.when, runs(item.recent), facts([
        ["Type", item.type], ["Queue", item.queue], ["Cron", item.cron], ["Every", item.every && duration(item.every)], ["Zone", item.timezone],
        ["Missed times", item.catch_up], ["Overlap", item.overlap], ["Jitter", item.jitter ? duration(item.jitter) : null], ["Made", item.fired], ["Skipped", item.skipped],
        ["Declared", item.declared ? "in code" : "by an operator"], ["Revision", item.revision],
      ])),
      h("div", { class: "two" },
        panel("Next times", null, next.length ? h("ol", {}, next) : empty("None while it is paused.")),
        panel("Last times", null, last.length ? h("ul", {}, last) : empty("It has not come yet."))),
      panel("Arguments", null, json(item.arguments, "arguments")));
  }
}

customElements.define("tq-schedule", Schedule);
export default Schedule;
