/** Schedules: when, what became of the last times, what comes next; or all that they made, one by one. */

import { amend, link } from "../core/address.js";
import { get } from "../core/api.js";
import { h, redraw } from "../core/dom.js";
import { brief, clock, duration, plural } from "../core/format.js";
import { live } from "../core/live.js";
import { Page } from "../core/page.js";
import { may } from "../core/session.js";
import { OVER } from "../parts/acts.js";
import { marks, scheduleButtons, sentence, tally } from "../parts/schedule-acts.js";
import { runs } from "../parts/spark.js";
import { chip, choice, empty } from "../parts/status.js";
import { table } from "../parts/table.js";
import { time } from "../parts/time.js";

const SIZE = 50;
/** How far back the list of RunnerQ's shape reaches. */
const FURTHEST = 1000;

class Schedules extends Page {
  title = "Schedules";

  start() {
    this.table = table({ label: this.title, columns: columns(() => this.refresh()), key: (item) => item.name, href: (item) => link(["schedules", item.name]) });
    this.runs = table({ label: "Runs", className: "paired", columns: RUNS, href: (item) => link(["activities", item.id]) });
    this.view = h("div");
    this.listen(live, "activities", () => this.soon(5000));
    this.head.append(this.view);
    if (may("admin")) this.head.append(h("div", { class: "row" }, h("a", { class: "button primary", href: link("schedules", { form: "new" }) }, "New schedule")));
  }

  get flat() {
    return this.params.view === "runs";
  }

  /** Where in the list of runs one is. */
  get offset() {
    return Number(this.params.offset) || 0;
  }

  async read(signal) {
    if (!this.flat) return (await get("schedules", {}, signal)).items;
    return get("observability/cron", { limit: SIZE, offset: this.offset }, signal);
  }

  draw(items) {
    redraw(this.view, choice("View", [["", "Schedules"], ["runs", "Runs"]], this.flat ? "runs" : "", (view) => amend({ view, offset: "" }, {})));
    if (this.flat) return this.#drawRuns(items);
    redraw(this.body, items.length ? this.table : nothing());
    this.table.show(items);
  }

  #drawRuns(items) {
    const { offset } = this;
    const turn = (to) => () => amend({ offset: to || "" }, {});
    redraw(this.body, items.length ? this.runs : empty("No schedule has made anything yet."), h("div", { class: "row" },
      offset > 0 && h("button", { "data-focus": "newer", on: { click: turn(offset - SIZE) } }, "Newer"),
      items.length === SIZE && offset + SIZE <= FURTHEST && h("button", { "data-focus": "older", on: { click: turn(offset + SIZE) } }, "Older")));
    this.runs.show(items);
  }
}

function nothing() {
  return empty("A schedule calls a task again and again.",
    h("p", {}, h("code", {}, "@taskq.periodic(\"0 3 * * *\")"), " declares one in code; a worker brings it here when it starts."),
    may("admin") && h("a", { href: link("schedules", { form: "new" }) }, "Make the first one"));
}

function last(item) {
  const run = item.recent.at(-1);
  if (!run) return item.last_at ? time(item.last_at, "ago") : "–";
  return [chip(run.status), h("small", {}, time(run.at, "ago"), run.duration === null ? "" : `, took ${duration(run.duration)}`)];
}

function totals(item) {
  const { ok, failed } = tally(item);
  return !ok && !failed ? "–" : [h("span", {}, `${ok} ok`), h("small", { class: failed ? "is-failed" : "" }, `${failed} failed`)];
}

function next(item) {
  const out = marks(item);
  if (item.paused_at) return [out, h("small", {}, time(item.paused_at, "ago"))];
  if (!item.next_at) return out;
  return [out, " ", time(item.next_at, "ago"), h("small", {}, clock(item.next_at))];
}

function columns(after) {
  return [
    { label: "Schedule", by: (item) => item.name, cell: (item) => [h("b", {}, item.name), h("small", {}, item.type)] },
    { label: "When", by: (item) => item.when, cell: (item) => [sentence(item.when), item.cron && h("small", {}, `${item.cron}  ${item.timezone}`), item.broken && h("small", { class: "is-failed" }, item.broken)] },
    { label: "Next", by: (item) => (item.paused_at ? "9" : item.next_at ?? "8"), cell: next },
    { label: "Last runs", cell: (item) => runs(item.recent) },
    { label: "Results", number: true, by: (item) => tally(item).failed, cell: totals },
    { label: "Last run", by: (item) => item.last_at ?? "", cell: last },
    { label: "Total", number: true, by: (item) => item.fired, cell: (item) => [plural(item.fired, "run"), item.skipped > 0 && h("small", {}, `${item.skipped} skipped`)] },
    { label: "", cell: (item) => scheduleButtons(item, after) },
  ];
}

const made = ({ metadata }) => metadata?.cron_job;
const took = ({ started_at: from, completed_at: done, last_error_at: failed, status }) => {
  const to = done ?? (OVER.has(status) ? failed : null);
  return from && to ? duration((Date.parse(to) - Date.parse(from)) / 1000) : "–";
};

const RUNS = [
  { label: "Activity", cell: (item) => [h("b", {}, item.activity_type), h("small", { class: "id" }, brief(item.id))] },
  { label: "Schedule", cell: (item) => [made(item) ? h("a", { href: link(["schedules", made(item)]) }, made(item)) : "–", item.metadata?.trigger && h("small", { class: "beside" }, "by hand")] },
  { label: "State", cell: (item) => chip(item.status) },
  { label: "Due", cell: (item) => time(item.metadata?.scheduled_for ?? item.created_at) },
  { label: "Started", cell: (item) => time(item.started_at, "ago") },
  { label: "Took", number: true, cell: took },
  { label: "Error", cell: (item) => (item.last_error ? h("small", {}, item.last_error.slice(0, 120)) : "") },
];

customElements.define("tq-schedules", Schedules);
export default Schedules;
