/** Bulk commands: how far each is, how fast, who gave it and why, what it left as it was. */

import { link } from "../core/address.js";
import { h, redraw } from "../core/dom.js";
import { count, duration, words } from "../core/format.js";
import { live } from "../core/live.js";
import { Page } from "../core/page.js";
import { may } from "../core/session.js";
import { OVER, stop } from "../parts/acts.js";
import { chip, empty, meter } from "../parts/status.js";
import { table } from "../parts/table.js";
import { time } from "../parts/time.js";
import { turning, walked } from "../parts/walking.js";

const SIZE = 50;
const VERBS = { priority: "change priority" };

class Bulk extends Page {
  title = "Bulk commands";

  start() {
    this.table = table({ label: this.title, columns: columns(() => this.refresh()), href: (item) => link(["activities", item.id]) });
    this.more = h("div", { class: "row" });
    this.listen(live, "activities", () => this.soon(1000));
  }

  read(signal) {
    return walked("bulk", { limit: SIZE, cursor: this.params.cursor }, signal);
  }

  draw({ items, next }) {
    redraw(this.body, items.length ? this.table : next ? empty("Nothing yet: the search can go on.") : nothing(), this.more);
    redraw(this.more, turning(this.params, "cursor", next, items.length ? "Older" : "Go on"));
    this.table.show(items.map((item) => ({ ...item, ...pace(item) })));
  }
}

function nothing() {
  return empty("A bulk command does the same to everything that a filter finds, and goes on by itself.",
    h("p", {}, "Retry all of a ", h("a", { href: link("dead") }, "cause"), ", or search for ", h("a", { href: link("activities") }, "activities"), " and choose what to do with all of them."));
}

/** How many a second since it was given, and the seconds that are left, as far as they can be told. */
function pace({ status, done, skipped, total, rate, created_at: from, finished_at: until }) {
  const seen = done + skipped;
  const seconds = ((until ? Date.parse(until) : Date.now()) - Date.parse(from)) / 1000;
  const speed = seen && seconds >= 1 ? Math.min(seen / seconds, rate ?? Infinity) : null;
  return { seconds: OVER.has(status) ? seconds : null, speed, left: !OVER.has(status) && speed ? Math.round(Math.max(0, total - seen) / speed) : null };
}

function about(item) {
  if (item.filter) return h("a", { href: link("activities", { q: item.filter }), title: "What it finds now" }, h("code", {}, item.filter));
  return h("span", { class: "soft" }, item.ids === null ? "its filter is hidden from your role" : `${count(item.ids)} selected`);
}

function progress({ done, skipped, total, exact, speed, left, rate, seconds }) {
  const limit = rate ? `at most ${rate} a second` : null;
  const now = speed === null || (rate && speed > 0.9 * rate) ? null : `${speed < 10 ? Math.round(speed * 10) / 10 : count(Math.round(speed))} a second`;
  const rest = left === null ? seconds ? `took ${duration(Math.round(seconds * 10) / 10)}` : null : `${duration(left)} left`;
  return [
    h("span", { class: "nowrap" }, meter(done + skipped, total, "done"), `${count(done)} of ${exact ? "" : "at least "}${count(total)}`),
    h("small", {}, [now, limit, rest].filter(Boolean).join(", ")),
    skipped > 0 && h("small", { class: "is-pending" }, `${count(skipped)} left as they were`),
  ];
}

/** How it stands. Between two of its steps it waits like anything else, and yet goes on. */
function state({ status, done, skipped, error, problem }) {
  const goes = status === "processing" || (!OVER.has(status) && status !== "retrying" && done + skipped > 0);
  return [
    goes ? h("span", { class: "chip is-processing" }, "running") : status === "cancelled" ? h("span", { class: "chip is-cancelled" }, "stopped") : chip(status),
    error && status !== "cancelled" && h("small", { class: "told is-failed" }, error), problem && h("small", { class: "told" }, `one was skipped: ${problem}`),
  ];
}

function columns(after) {
  return [
    { label: "Command", by: (item) => item.action ?? "", cell: (item) => h("b", { class: "verb" }, words(VERBS[item.action] ?? item.action ?? "–")) },
    { label: "Of", cell: about },
    { label: "State", by: (item) => item.status, cell: state },
    { label: "Progress", by: (item) => item.done, cell: progress },
    { label: "Who", by: (item) => item.actor, cell: (item) => [h("span", { class: "nowrap" }, item.actor), h("small", {}, item.reason || "no reason given")] },
    { label: "Given", by: (item) => item.created_at, cell: (item) => h("span", { class: "nowrap" }, time(item.created_at, "ago")) },
    { label: "", cell: (item) => h("div", { class: "row deeds" }, may("operator") && !OVER.has(item.status) && h("button", { class: "small danger", "aria-label": `Stop ${words(item.action ?? "")}`, "data-focus": `stop ${item.id}`, on: { click: async () => (await stop(item)) && after() } }, "Stop")) },
  ];
}

customElements.define("tq-bulk", Bulk);
export default Bulk;
