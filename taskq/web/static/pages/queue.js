/** One queue: what it holds, what hinders it, how it has fared. In the address: `window`, `by`. */

import { amend, here, link } from "../core/address.js";
import { get } from "../core/api.js";
import { h, redraw } from "../core/dom.js";
import { count, duration } from "../core/format.js";
import { live } from "../core/live.js";
import { Page } from "../core/page.js";
import { chart } from "../parts/chart.js";
import { ended, failing, held, outcomes, pace, percent, servers, spread } from "../parts/fares.js";
import { flows, percentiles } from "../parts/lines.js";
import { pauseButton } from "../parts/pause.js";
import { choice, empty, facts, panel, STATES } from "../parts/status.js";
import { time } from "../parts/time.js";

const WINDOWS = [["5m", "5 min"], ["1h", "1 hour"], ["24h", "24 hours"]];

class Queue extends Page {
  title = here().path[1];
  kind = "queues";
  word = "queue";
  other = "type";

  start() {
    this.choices = h("div", { class: "row" });
    this.now = h("div");
    this.trap = h("div");
    this.more = h("div");
    this.flow = chart({ label: "Attempts that ended, by step", stacked: true });
    this.wait = chart({ label: "Wait: from ready to started", write: duration });
    this.run = chart({ label: "Run: from started to ended", write: duration });
    this.shown = [
      this.trap, this.now, panel("Throughput", this.choices, this.flow),
      h("div", { class: "two" }, panel("Wait", null, this.wait), panel("Run time", null, this.run)), this.more,
    ];
    this.listen(live, "activities", () => this.soon(5000));
    this.listen(live, "stats", () => this.soon(10000));
    this.listen(live, "control", () => this.soon(500));
  }

  get window() {
    return WINDOWS.some(([name]) => name === this.params.window) ? this.params.window : "1h";
  }

  get by() {
    return this.params.by === this.other ? this.other : "none";
  }

  async read(signal) {
    const { window, by, word, title } = this;
    const ask = (how) => get("series", { window, by: how, top: 8, [word]: title }, signal);
    const all = ask("none");
    const [{ items }, series, lines] = await Promise.all([get(this.kind, {}, signal), all, by === "none" ? all : ask(by)]);
    return { item: items.find(({ name }) => name === title), series, lines };
  }

  draw({ item, series, lines }) {
    if (!item) return this.#nobody();
    const paused = item.paused && h("span", { class: "chip is-pending" }, "paused");
    redraw(this.head, h("h1", { tabindex: "-1" }, item.name), paused, h("div", { class: "row" }, this.buttons(item)));
    redraw(this.choices,
      choice("Window", WINDOWS, this.window, (window) => amend({ window })),
      choice("By", [["none", "Outcome"], [this.other, this.other === "type" ? "Type" : "Queue"]], this.by, (by) => amend({ by })));
    redraw(this.trap, this.#hindrances(item));
    this.trap.hidden = !this.trap.firstChild;
    redraw(this.now, panel("Now", null, this.#holds(item)));
    redraw(this.more, this.about(item));
    this.more.hidden = !this.more.firstChild;
    redraw(this.body, this.shown);
    this.flow.show(lines.at, lines.step, flows(lines));
    for (const name of ["wait", "run"]) this[name].show(series.at, series.step, percentiles(series.lines[0][name]));
  }

  /** What can be done, to the right of the name. */
  buttons(item) {
    const all = h("a", { class: "button", href: link("activities", { [this.word]: item.name }), "data-focus": "activities" }, "Activities");
    return [all, pauseButton(this.kind, item, () => this.refresh(), "")];
  }

  /** What else there is to say; a queue says nothing. */
  about() {
    return null;
  }

  #holds(item) {
    const states = STATES.filter((status) => status in item.by_status);
    return facts([
      ...states.map((status) => [status.replace("_", " "), held(this.kind, item, status)]),
      ["oldest pending", item.oldest_pending === null ? null : duration(Math.max(1, Math.round(item.oldest_pending)))],
      ["workers", servers(this.kind, item)],
      ["ended in the last hour", [count(ended(item)), h("small", {}, ` ${pace(item)}`), outcomes(item)]],
      ["failed in the last hour", percent(failing(item))],
      ["waited", spread(item.rates.wait)], ["ran", spread(item.rates.run)],
    ]);
  }

  #hindrances({ paused, unserved }) {
    const pause = paused && h("p", { class: "notice is-pending" }, h("b", {}, "Paused"), " ", time(paused.since, "ago"),
      ` by ${paused.by}`, paused.reason && `: ${paused.reason}`, ". Nothing of it is started until it is resumed.");
    const gaps = unserved.map((gap) => h("p", { class: "notice is-failed" }, h("b", {}, `${count(gap.waiting)} unserved: `),
      `${gap.type} waits in ${gap.queue}, and no worker that is alive takes it. Start one whose app has this task: `,
      h("code", {}, `taskq worker app:taskq --queues ${gap.queue}`)));
    return [pause, gaps];
  }

  #nobody() {
    redraw(this.body, empty(`There is no ${this.word} ${this.title}: nothing is stored of it, and the app has none.`, h("a", { href: link(this.kind) }, `All ${this.kind}`)));
  }
}

customElements.define("tq-queue", Queue);
export default Queue;
