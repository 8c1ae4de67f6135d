/** One queue: what it holds, what hinders it, how it has fared. In the address: see parts/trends.js. */

import { here, link } from "../core/address.js";
import { get } from "../core/api.js";
import { h, listed, redraw } from "../core/dom.js";
import { count, duration } from "../core/format.js";
import { live } from "../core/live.js";
import { Page } from "../core/page.js";
import { ended, endings, failing, held, pace, percent, servers, times } from "../parts/fares.js";
import { pauseButton } from "../parts/pause.js";
import { empty, facts, panel, STATES } from "../parts/status.js";
import { time } from "../parts/time.js";
import { control, TOP, Trends } from "../parts/trends.js";

/** States that are told even where nothing is in them. */
const OPEN = ["processing", "pending", "scheduled", "retrying"];

class Queue extends Page {
  title = here().path[1];
  kind = "queues";
  word = "queue";
  other = "type";

  start() {
    this.choices = h("div", { class: "row choices" });
    this.now = h("div");
    this.trap = h("div");
    this.more = h("div");
    this.trends = new Trends(this, ["none", this.other]);
    this.shown = [this.trap, this.now, this.choices, ...this.trends.panels, this.more];
    this.listen(live, "activities", () => this.soon(5000));
    this.listen(live, "stats", () => this.soon(10000));
    this.listen(live, "control", () => this.soon(500));
  }

  async read(signal) {
    const { word, title } = this;
    const { window, by } = this.trends.view;
    const [{ items }, series] = await Promise.all([get(this.kind, {}, signal), get("series", { window, by, top: TOP, [word]: title }, signal)]);
    return { item: items.find(({ name }) => name === title), series };
  }

  draw({ item, series }) {
    if (!item) return this.#nobody();
    const paused = item.paused && h("span", { class: "chip is-pending" }, "paused");
    redraw(this.head, this.head.firstChild, paused, h("div", { class: "row" }, this.buttons(item)));
    listed(this.choices, this.trends.controls, ({ name }) => name, control);
    redraw(this.trap, this.#hindrances(item));
    this.trap.hidden = !this.trap.firstChild;
    redraw(this.now, h("div", { class: "two" }, panel("Now", null, this.#holds(item)), panel("In the last hour", null, lately(item))));
    redraw(this.more, this.about(item));
    this.more.hidden = !this.more.firstChild;
    redraw(this.body, this.shown);
    this.trends.show(series);
  }

  /** What can be done, to the right of the name. */
  buttons(item) {
    const all = h("a", { class: "button", href: link("activities", { [this.word]: item.name }) }, "Activities");
    return [all, pauseButton(this.kind, item, () => this.refresh(), "")];
  }

  /** What else there is to say; a queue says nothing. */
  about() {
    return null;
  }

  #holds(item) {
    const states = STATES.filter((status) => status in item.by_status || OPEN.includes(status));
    return facts([
      ...states.map((status) => [status.replace("_", " "), held(this.kind, item, status)]),
      ["oldest pending", item.oldest_pending === null ? null : duration(Math.max(1, Math.round(item.oldest_pending)))],
      ["workers", servers(this.kind, item)],
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

/** How it has fared. */
function lately(item) {
  const { wait, run } = item.rates;
  return [facts([["attempts", [count(ended(item)), h("small", {}, pace(item))]], ["failed of them", percent(failing(item))], ["waited", times(wait)], ["ran", times(run)]]), endings(item)];
}

customElements.define("tq-queue", Queue);
export default Queue;
