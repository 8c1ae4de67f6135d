/** How everything stands: numbers, what somebody should look at, throughput, latency. */

import { amend, link } from "../core/address.js";
import { get } from "../core/api.js";
import { h, listed, redraw } from "../core/dom.js";
import { live } from "../core/live.js";
import { Page } from "../core/page.js";
import { bars } from "../parts/bars.js";
import { showCards } from "../parts/cards.js";
import { copyButton } from "../parts/copy.js";
import { showFindings } from "../parts/findings.js";
import { panel } from "../parts/status.js";
import { control, TOP, Trends } from "../parts/trends.js";

const NOBODY = { type: [], queue: [] };
const PRIORITIES = { critical: "failed", high: "retrying", normal: "accent", low: "edge" };

class Overview extends Page {
  title = "Overview";

  start() {
    this.cards = h("div", { class: "kpis" });
    this.findings = h("ul", { class: "findings" });
    this.calm = h("div");
    this.choices = h("div", { class: "row choices" });
    this.priorities = h("ul", { class: "bars" });
    this.queues = h("ul", { class: "bars" });
    this.over = h("p", { class: "soft" }, "Nothing: all that was enqueued has ended.");
    this.trends = new Trends(this, ["none", "type", "queue"]);
    this.names = null;
    this.shown = [
      this.cards,
      panel("What needs attention", null, this.calm, this.findings),
      this.choices,
      this.trends.panels,
      h("div", { class: "two" }, panel("Pending by priority", null, this.priorities), panel("Not ended by queue", null, this.over, this.queues)),
    ];
    this.listen(live, "stats", ({ detail }) => this.data && this.#numbers(detail));
    this.listen(live, "activities", () => this.soon(5000));
    this.listen(live, "stats", () => this.soon(10000));
    this.listen(live, "control", () => this.soon(1000));
  }

  /** What is asked for, by the address. */
  get view() {
    const { type, queue } = this.params;
    return { ...this.trends.view, type, queue };
  }

  /** How a line is hidden, or numbers shown as a table, needs nothing that is not here. */
  moved() {
    if (this.data && JSON.stringify(this.view) === JSON.stringify(this.data.view)) this.draw(this.data);
    else this.refresh();
  }

  async read(signal) {
    const { view } = this;
    const ask = (how) => get("series", { window: view.window, top: TOP, ...how }, signal);
    const all = ask({ by: "none" });
    const whole = view.by === "none" && !view.type && !view.queue;
    const [stats, series, lines, attention] = await Promise.all([
      get("stats", {}, signal), all, whole ? all : ask({ by: view.by, type: view.type, queue: view.queue }), get("attention", {}, signal),
    ]);
    return { view, stats, series, lines, attention };
  }

  draw(data) {
    const { stats, series, attention } = data;
    this.data = data;
    this.ever = stats.workers || Object.values(stats.by_status).some(Boolean) || Object.keys(series.lines[0].total).length;
    this.#steer();
    if (!this.names) this.#ask();
    redraw(this.body, this.ever ? this.shown : [this.cards, (this.begin ??= START())]);
    this.#numbers(stats);
    this.trends.show(data.lines);
    const cut = attention.cut && h("p", { class: "soft" }, "There is more of a kind than is shown here.");
    redraw(this.calm, attention.items.length ? cut : CALM());
    showFindings(this.findings, attention);
  }

  /** Names to choose from are asked for once something is shown: nothing waits for them. Without an
   * answer they are asked for again with the next drawing. */
  async #ask() {
    this.names = NOBODY;
    this.names = await known(this.signal).catch(() => null);
    if (this.names) this.#steer();
  }

  #steer() {
    listed(this.choices, this.ever ? this.#controls() : [], ({ name }) => name, (each) => (each.of === undefined ? control(each) : whose(each)));
  }

  #controls() {
    const { type, queue } = this.view;
    const of = type ? `type:${type}` : queue ? `queue:${queue}` : "";
    const [lines, ...more] = this.trends.controls;
    return [lines, { name: "Of", of, names: this.names ?? NOBODY }, ...more];
  }

  #numbers(stats) {
    const { series } = this.data;
    showCards(this.cards, stats, series, this.trends.span);
    bars(this.priorities, Object.entries(PRIORITIES).map(([name, hue]) => ({
      name, hue: `var(--${hue})`, number: stats.by_priority[name.toUpperCase()] ?? 0, href: link("activities", { status: "pending", q: `priority:${name}` }),
    })), stats.cap);
    const queues = Object.entries(stats.by_queue).sort(([one, much], [other, more]) => more - much || (one < other ? -1 : 1)).slice(0, TOP);
    this.over.hidden = queues.length > 0;
    bars(this.queues, queues.map(([name, number]) => ({ name, number, hue: "var(--accent)", href: link(["queues", name]) })), stats.cap);
  }
}

/** Types and queues that can be chosen: asked for once. */
async function known(signal) {
  const ask = async (field) => (await get("suggestions", { q: `${field}:`, at: field.length + 1 }, signal)).items.map(({ label }) => label);
  const [type, queue] = await Promise.all([ask("type"), ask("queue")]);
  return { type, queue };
}

function whose({ of, names }) {
  const act = ({ target }) => {
    const [, field, chosen] = target.value.match(/^(type|queue):(.*)$/s) ?? [];
    amend({ type: field === "type" ? chosen : "", queue: field === "queue" ? chosen : "", hide: "" });
  };
  const group = (field, label) => {
    const all = new Set([...names[field], ...(of.startsWith(`${field}:`) ? [of.slice(field.length + 1)] : [])]);
    return h("optgroup", { label }, [...all].sort().map((each) => h("option", { value: `${field}:${each}` }, each)));
  };
  const made = h("select", { "aria-label": "Of which type or queue", "data-focus": "of", on: { change: act } }, h("option", { value: "" }, "Everything"), group("type", "Types"), group("queue", "Queues"));
  made.value = of;
  return made;
}

const CALM = () => h("p", {}, h("b", { class: "is-completed" }, "All is well."), " Everything that is due is served, no worker was lost, and nothing has failed for good.");

const START = () => {
  const step = (text, code) => h("li", {}, h("p", {}, text), h("div", { class: "row" }, h("code", { class: "grow" }, code), copyButton(code, `Copy: ${text}`)));
  return panel("Nothing has happened yet", null, h("ol", { class: "begin" },
    step("Start a worker, with the module of your app and its name in it.", "taskq worker app:taskq"),
    step("Enqueue something, from any program that has the app.", "await send_email.adelay(\"ada@example.com\")"),
    step("Or see all of this console at work, with a demo of its own.", "taskq demo --serve")));
};

customElements.define("tq-overview", Overview);
export default Overview;
