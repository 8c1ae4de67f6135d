/** How everything stands: numbers, throughput, latency, and what somebody should look at. */

import { amend, link } from "../core/address.js";
import { get } from "../core/api.js";
import { h, listed, redraw } from "../core/dom.js";
import { count, duration, plural, short, words } from "../core/format.js";
import { live } from "../core/live.js";
import { Page } from "../core/page.js";
import { HUES, chart } from "../parts/chart.js";
import { choice, empty, panel } from "../parts/status.js";
import { time } from "../parts/time.js";

const WINDOWS = [["5m", "5 min"], ["1h", "1 hour"], ["24h", "24 hours"]];
const BYS = [["none", "Outcome"], ["type", "Type"], ["queue", "Queue"]];
const PERCENTILES = { p50: "var(--completed)", p95: "var(--pending)", p99: "var(--failed)" };

class Overview extends Page {
  title = "Overview";

  start() {
    this.cards = h("div", { class: "kpis" });
    this.priorities = h("div");
    this.queues = h("ul", { class: "news" });
    this.news = h("ul", { class: "news" });
    this.calm = h("div");
    this.choices = h("div", { class: "row" });
    this.head.append(this.choices);
    this.flow = chart({ label: "Attempts that ended, by step", stacked: true });
    this.wait = chart({ label: "Wait: from ready to started", write: duration });
    this.run = chart({ label: "Run: from started to ended", write: duration });
    this.shown = [
      this.cards,
      panel("What needs attention", null, this.calm, this.news),
      panel("Throughput", h("small", {}, "attempts that ended in each step"), this.flow),
      h("div", { class: "two" }, panel("Wait", null, this.wait), panel("Run time", null, this.run)),
      h("div", { class: "two" }, panel("Pending by priority", null, this.priorities), panel("Not ended by queue", null, this.queues)),
    ];
    this.listen(live, "stats", ({ detail }) => this.series && this.#numbers(detail));
    this.listen(live, "activities", () => this.soon(5000));
    this.listen(live, "stats", () => this.soon(10000));
    this.listen(live, "control", () => this.soon(1000));
  }

  get window() {
    return WINDOWS.some(([name]) => name === this.params.window) ? this.params.window : "1h";
  }

  get by() {
    return BYS.some(([name]) => name === this.params.by) ? this.params.by : "none";
  }

  async read(signal) {
    const { window, by } = this;
    const ask = (how) => get("series", { window, by: how, top: 8 }, signal);
    const all = ask("none");
    const [stats, series, lines, attention] = await Promise.all([
      get("stats", {}, signal), all, by === "none" ? all : ask(by), get("attention", {}, signal),
    ]);
    return { stats, series, lines, attention };
  }

  draw({ stats, series, lines, attention }) {
    this.series = series;
    redraw(
      this.choices,
      choice("Window", WINDOWS, this.window, (window) => amend({ window })),
      choice("By", BYS, this.by, (by) => amend({ by })),
    );
    const ever = stats.workers || Object.values(stats.by_status).some(Boolean);
    redraw(this.body, ever ? this.shown : [this.cards, START()]);
    this.#numbers(stats);
    this.flow.show(lines.at, lines.step, flows(lines));
    for (const name of ["wait", "run"]) this[name].show(series.at, series.step, percentiles(series.lines[0][name]));
    redraw(this.calm, attention.items.length ? null : h("p", {}, "Nothing: all is well."));
    listed(this.news, attention.items, (item) => `${item.kind} ${item.subject} ${item.filter}`, (item) => told(item, attention.cap));
  }

  #numbers(stats) {
    const { at, step, lines } = this.series;
    const done = lines[0].total.completed ?? 0;
    const rate = `${short(done / ((at.length * step) / 60))} per minute`;
    listed(this.cards, cards(stats, rate), (card) => card.label, (card) =>
      h("a", { class: "kpi", href: card.href, "data-focus": `card ${card.label}` }, h("span", {}, card.label), h("b", { class: card.hue }, card.value), h("small", {}, card.more)));
    const levels = ["CRITICAL", "HIGH", "NORMAL", "LOW"].map((name, place) => [name, stats.by_priority[name] ?? 0, HUES[[7, 4, 0, 8][place]]]);
    const bar = ([, number, hue]) => number > 0 && h("i", { style: { "--hue": hue, "flex-grow": String(number) } });
    const entry = ([name, number, hue]) => h("span", { class: "row" }, h("i", { style: { "--hue": hue } }), `${name.toLowerCase()} ${count(number, stats.cap)}`);
    redraw(this.priorities, h("div", { class: "shares", "aria-hidden": "true" }, levels.map(bar)), h("div", { class: "legend" }, levels.map(entry)));
    const queues = Object.entries(stats.by_queue).sort(([, one], [, other]) => other - one).slice(0, 8);
    listed(this.queues, queues, ([name]) => name, ([name, number]) =>
      h("li", {}, h("a", { class: "grow", href: link("queues", { q: name }), "data-focus": `queue ${name}` }, name), h("b", {}, count(number, stats.cap))));
  }
}

function cards(stats, rate) {
  const old = stats.oldest_pending;
  const of = (status, more = "", label = words(status)) => ({
    label, more, value: count(stats.by_status[status] ?? 0, stats.cap), hue: `is-${status}`,
    href: status === "dead_letter" ? link("dead") : link("activities", { status }),
  });
  return [
    of("processing", `${stats.slots_used} of ${plural(stats.slots, "slot")} used`, "running"),
    of("pending", old === null ? "nothing waits" : `oldest: ${duration(Math.round(old))}`),
    of("scheduled"), of("retrying"), of("failed"), of("dead_letter"),
    of("completed", rate),
    { label: "workers", value: count(stats.workers), hue: "", more: "", href: link("workers") },
  ];
}

function flows({ by, lines, at }) {
  if (by === "none") {
    return Object.entries(lines[0].outcomes).map(([name, values]) => ({ name: words(name), hue: `var(--${name}, var(--retrying))`, values }));
  }
  const sum = ({ outcomes }) => at.map((_, place) => Object.values(outcomes).reduce((all, each) => all + each[place], 0));
  return lines.map((line, place) => ({ name: line.others ? "all others" : line.name, hue: HUES[line.others ? 9 : place], values: sum(line) }));
}

function percentiles(of) {
  return Object.entries(PERCENTILES).map(([name, hue]) => ({ name, hue, values: of[name] }));
}

function told({ kind, subject, title, detail, count: number, since, filter }, cap) {
  const places = { stuck: "queues", paused_queue: "queues", paused_type: "types", lost_worker: "workers", threads_stuck: "workers", cause: "dead" };
  const schedule = kind === "overdue" || kind === "broken";
  const href = schedule ? link(["schedules", subject]) : places[kind] ? link(places[kind]) : link("activities", { q: filter });
  const found = filter && h("a", { href: link("activities", { q: filter }), "aria-label": `Activities of ${title}` }, count(number, cap));
  return h("li", {}, h("b", {}, words(kind)), h("a", { href, "data-focus": `news ${kind} ${subject}` }, title), h("span", { class: "grow" }, detail), found, since && time(since, "ago"));
}

const START = () => empty(
  "Nothing is here yet.",
  h("p", {}, "Start a worker: ", h("code", {}, "taskq worker app:taskq")),
  h("p", {}, "Enqueue something: ", h("code", {}, "await send_email.enqueue(to=\"ada@example.com\")")),
);

customElements.define("tq-overview", Overview);
export default Overview;
