/** How everything stands: numbers, what somebody should look at, throughput, latency. */

import { amend, link } from "../core/address.js";
import { get } from "../core/api.js";
import { h, listed, redraw } from "../core/dom.js";
import { duration, plural, words } from "../core/format.js";
import { live } from "../core/live.js";
import { Page } from "../core/page.js";
import { bars } from "../parts/bars.js";
import { showCards } from "../parts/cards.js";
import { HUES, chart } from "../parts/chart.js";
import { copyButton } from "../parts/copy.js";
import { showFindings } from "../parts/findings.js";
import { choice, panel } from "../parts/status.js";

const WINDOWS = [["5m", "5 min", "the last 5 minutes"], ["1h", "1 h", "the last hour"], ["24h", "24 h", "the last 24 hours"]];
const BYS = [["none", "Outcome"], ["type", "Type"], ["queue", "Queue"]];
const FORMS = [["", "Chart"], ["table", "Table"]];
const OUTCOMES = ["completed", "retrying", "failed", "dead_letter", "timed_out", "crashed", "cancelled"];
const BAD = ["failed", "dead_letter", "timed_out", "crashed"];
const PERCENTILES = { p50: "var(--completed)", p95: "var(--pending)", p99: "var(--failed)" };
const PRIORITIES = { critical: "failed", high: "retrying", normal: "accent", low: "edge" };
const TOP = 8;

class Overview extends Page {
  title = "Overview";

  start() {
    this.cards = h("div", { class: "kpis" });
    this.findings = h("ul", { class: "findings" });
    this.calm = h("div");
    this.choices = h("div", { class: "row" });
    this.head.append(this.choices);
    this.priorities = h("ul", { class: "bars" });
    this.queues = h("ul", { class: "bars" });
    this.share = h("small");
    this.explained = { wait: h("small"), run: h("small") };
    this.flow = this.#chart({ label: "Attempts that ended", stacked: true });
    this.wait = this.#chart({ label: "Wait, from ready to started", write: duration });
    this.run = this.#chart({ label: "Run time, from started to ended", write: duration });
    this.shown = [
      this.cards,
      panel("What needs attention", null, this.calm, this.findings),
      panel("Throughput", this.share, this.flow),
      h("div", { class: "two" }, panel("Wait", this.explained.wait, this.wait), panel("Run time", this.explained.run, this.run)),
      h("div", { class: "two" }, panel("Pending by priority", null, this.priorities), panel("Not ended by queue", null, this.queues)),
    ];
    this.listen(live, "stats", ({ detail }) => this.data && this.#numbers(detail));
    this.listen(live, "activities", () => this.soon(5000));
    this.listen(live, "stats", () => this.soon(10000));
    this.listen(live, "control", () => this.soon(1000));
  }

  #chart(properties) {
    const made = chart(properties);
    this.listen(made, "hide", ({ detail }) => {
      const off = this.off.includes(detail) ? this.off.filter((name) => name !== detail) : [...this.off, detail];
      amend({ hide: off.map(encodeURIComponent).join(",") });
    });
    return made;
  }

  /** What is asked for, by the address. */
  get view() {
    const { window, by, type, queue } = this.params;
    const known = (options, value, fallback) => (options.some(([name]) => name === value) ? value : fallback);
    return { window: known(WINDOWS, window, "1h"), by: known(BYS, by, "none"), type, queue };
  }

  /** Names of lines that are hidden. */
  get off() {
    return (this.params.hide ?? "").split(",").filter(Boolean).map(decoded);
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
    const [stats, series, lines, attention, names] = await Promise.all([
      get("stats", {}, signal), all, whole ? all : ask({ by: view.by, type: view.type, queue: view.queue }), get("attention", {}, signal), this.data?.names ?? known(signal),
    ]);
    return { view, stats, series, lines, attention, names };
  }

  draw(data) {
    const { stats, series, attention } = data;
    this.data = data;
    const ever = stats.workers || Object.values(stats.by_status).some(Boolean) || Object.keys(series.lines[0].total).length;
    listed(this.choices, ever ? this.#controls() : [], ({ name }) => name, control);
    redraw(this.body, ever ? this.shown : [this.cards, (this.begin ??= START())]);
    this.#numbers(stats);
    this.#charts(data);
    const cut = attention.cut && h("p", { class: "soft" }, "There is more of a kind than is shown here.");
    redraw(this.calm, attention.items.length ? cut : CALM());
    showFindings(this.findings, attention);
  }

  #controls() {
    const { window, by, type, queue } = this.view;
    const of = type ? `type:${type}` : queue ? `queue:${queue}` : "";
    return [
      { name: "Lines", options: BYS, value: by, key: "by" },
      { name: "Of", of, names: this.data.names },
      { name: "Window", options: WINDOWS, value: window, key: "window" },
      { name: "Shown as", options: FORMS, value: this.params.as === "table" ? "table" : "", key: "as" },
    ];
  }

  #charts({ view: { window, by }, lines: { at, step, lines } }) {
    const span = spanOf(window);
    const shown = { at, step, whole: `in ${span}`, off: this.off, table: this.params.as === "table" };
    this.flow.show({ ...shown, lines: flows(by, at, lines) });
    for (const name of ["wait", "run"]) this[name].show({ ...shown, lines: latencies(by, name, lines) });
    const said = by === "none" ? "of 100, 50, 95 and 99 took no longer" : `p95 by ${by}: of 100, 95 took no longer`;
    redraw(this.explained.wait, `from ready to started; ${said}`);
    redraw(this.explained.run, `from started to ended; ${said}`);
    redraw(this.share, failing(lines), step === 60 ? "each column is a minute" : `each column is ${step / 60} minutes`);
  }

  #numbers(stats) {
    const { series, view } = this.data;
    showCards(this.cards, stats, series, spanOf(view.window));
    bars(this.priorities, Object.entries(PRIORITIES).map(([name, hue]) => ({
      name, hue: `var(--${hue})`, number: stats.by_priority[name.toUpperCase()] ?? 0, href: link("activities", { status: "pending", q: `priority:${name}` }),
    })), stats.cap);
    const queues = Object.entries(stats.by_queue).sort(([one, much], [other, more]) => more - much || (one < other ? -1 : 1)).slice(0, TOP);
    bars(this.queues, queues.map(([name, number]) => ({ name, number, hue: "var(--accent)", href: link(["queues", name]) })), stats.cap);
  }
}

function spanOf(window) {
  return WINDOWS.find(([name]) => name === window)[2];
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Types and queues that can be chosen: asked for once. */
async function known(signal) {
  const ask = async (field) => (await get("suggestions", { q: `${field}:`, at: field.length + 1 }, signal)).items.map(({ label }) => label);
  const [type, queue] = await Promise.all([ask("type"), ask("queue")]);
  return { type, queue };
}

function control({ name, key, options, value, of, names }) {
  if (options) return choice(name, options, value, (to) => amend({ [key]: to, ...(key === "by" ? { hide: "" } : {}) }));
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

function flows(by, at, lines) {
  if (by === "none") {
    const [{ outcomes, total }] = lines;
    const rank = (name) => (OUTCOMES.indexOf(name) + OUTCOMES.length + 1) % (OUTCOMES.length + 1);
    return Object.keys(outcomes).sort((one, other) => rank(one) - rank(other)).map((name) => ({
      name: words(name), hue: `var(--${name}, var(--retrying))`, values: outcomes[name], total: total[name],
    }));
  }
  const sum = ({ outcomes }) => at.map((_, place) => Object.values(outcomes).reduce((all, each) => all + each[place], 0));
  return lines.map((line, place) => ({ ...named(line, place), values: sum(line), total: summed(line.total) }));
}

function latencies(by, of, lines) {
  if (by !== "none") return lines.map((line, place) => ({ ...named(line, place), values: line[of].p95, total: line[`${of}_total`].p95 }));
  const [line] = lines;
  return Object.entries(PERCENTILES).map(([name, hue]) => ({ name, hue, values: line[of][name], total: line[`${of}_total`][name] }));
}

function named({ name, others }, place) {
  return { name: others ? "all others" : name, hue: HUES[others ? 9 : place] };
}

function summed(total, names = Object.keys(total)) {
  return names.reduce((sum, name) => sum + (total[name] ?? 0), 0);
}

function failing(lines) {
  const [all, bad, again] = [undefined, BAD, ["retrying"]].map((names) => lines.reduce((sum, { total }) => sum + summed(total, names), 0));
  const share = (number) => `${number && number / all < 0.001 ? "< 0.1" : Math.round((1000 * number) / all) / 10} %`;
  return all ? [h("b", { class: bad ? "is-failed" : "" }, share(bad)), ` failed, ${share(again)} tried again, of ${plural(all, "attempt")} · `] : "";
}

const CALM = () => h("p", { class: "calm" }, h("b", { class: "is-completed" }, "All is well."), " Everything that is due is served, no worker was lost, and nothing has failed for good.");

const START = () => {
  const step = (text, code) => h("li", {}, h("p", {}, text), h("div", { class: "row" }, h("code", { class: "grow" }, code), copyButton(code, `Copy: ${text}`)));
  return panel("Nothing has happened yet", null, h("ol", { class: "begin" },
    step("Start a worker, with the module of your app and its name in it.", "taskq worker app:taskq"),
    step("Enqueue something, from any program that has the app.", "await send_email.adelay(\"ada@example.com\")"),
    step("Or see all of this console at work, with a demo of its own.", "taskq demo --serve")));
};

customElements.define("tq-overview", Overview);
export default Overview;
