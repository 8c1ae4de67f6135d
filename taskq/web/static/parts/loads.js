/** The page of queues or of types: what they hold, who serves them, how they fare. */

import { Page } from "../core/page.js";
import { get } from "../core/api.js";
import { link } from "../core/address.js";
import { h, redraw } from "../core/dom.js";
import { count, duration, plural } from "../core/format.js";
import { live } from "../core/live.js";
import { STATES, chip, empty } from "./status.js";
import { steer } from "./steer.js";
import { table } from "./table.js";
import { time } from "./time.js";

/** A subclass has `title` and `kind`: `queues` or `types`. */
export class Loads extends Page {
  start() {
    const field = this.kind === "queues" ? "queue" : "type";
    const name = ({ name }) => h("a", { href: link("activities", { q: `${field}:${JSON.stringify(name)}` }) }, name);
    const button = (item) => steer(this.kind, item.name, item.paused, () => this.refresh());
    const columns = [{ label: "Name", cell: (item) => [name(item), paused(item)] }, ...COLUMNS, { label: "Command", cell: button }];
    this.table = table({ label: this.title, columns, key: (item) => item.name });
    this.listen(live, "activities", () => this.soon(3000));
  }

  read(signal) {
    return get(this.kind, {}, signal);
  }

  draw({ items }) {
    redraw(this.body, items.length ? this.table : empty(`There are no ${this.kind} yet.`));
    this.table.show(items);
  }
}

function paused({ paused }) {
  return paused && h("small", {}, "paused ", time(paused.since, "ago"), ` by ${paused.by}`, paused.reason && `: ${paused.reason}`);
}

function held({ by_status, cap }) {
  const some = STATES.filter((status) => by_status[status]).map((status) => chip(status, count(by_status[status], cap)));
  return some.length ? some : "–";
}

function served({ workers, unserved }) {
  const gap = ({ queue, type, waiting }) => h("small", { class: "problem" }, `No worker serves ${type} in ${queue}: ${waiting} waiting. Start one for that queue.`);
  return [plural(workers, "worker"), unserved.map(gap)];
}

function ended({ rates }) {
  const all = Object.values(rates.outcomes).reduce((sum, each) => sum + each, 0);
  return all ? `${((all / rates.seconds) * 60).toFixed(1)} / min` : "–";
}

const spread = ({ p50, p95, p99 }) => (p50 === null ? "–" : [p50, p95, p99].map(duration).join(" · "));

const COLUMNS = [
  { label: "Activities", cell: held },
  { label: "Oldest pending", cell: (item) => duration(item.oldest_pending) },
  { label: "Ended", number: true, cell: ended },
  { label: "Wait p50 · p95 · p99", cell: (item) => spread(item.rates.wait) },
  { label: "Run p50 · p95 · p99", cell: (item) => spread(item.rates.run) },
  { label: "Served by", cell: served },
];
