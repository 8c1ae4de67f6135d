/** How a queue or a type fares: the columns that both tables have. */

import { h } from "../core/dom.js";
import { count, duration, short } from "../core/format.js";
import { pauseButton, pausedNote } from "./pause.js";
import { link } from "../core/address.js";

const BAD = ["failed", "dead_letter", "timed_out", "crashed"];

function ended({ outcomes }) {
  return Object.values(outcomes).reduce((sum, each) => sum + each, 0);
}

function failing({ outcomes }) {
  const bad = BAD.reduce((sum, name) => sum + (outcomes[name] ?? 0), 0);
  return bad ? `${Math.round((100 * bad) / ended({ outcomes }))} %` : "–";
}

function held(item, status) {
  const number = item.by_status[status] ?? 0;
  return number ? count(number, item.cap) : "–";
}

/** Columns; `kind` is `queues` or `types`. */
export function columns(kind, after) {
  const filter = kind === "queues" ? "queue" : "type";
  return [
    { label: kind === "queues" ? "Queue" : "Type", cell: (item) => [h("a", { href: link("activities", { [filter]: item.name }), "data-focus": `row ${item.name}` }, h("b", {}, item.name)), pausedNote(item.paused), unserved(item)] },
    { label: "Pending", number: true, cell: (item) => [held(item, "pending"), item.oldest_pending !== null && h("small", {}, `oldest ${duration(item.oldest_pending)}`)] },
    { label: "Running", number: true, cell: (item) => held(item, "processing") },
    { label: "Later", number: true, cell: (item) => [held(item, "scheduled"), (item.by_status.retrying ?? 0) > 0 && h("small", {}, `${held(item, "retrying")} retrying`)] },
    { label: "Last hour", number: true, cell: (item) => [short(ended(item.rates)), h("small", {}, `${short((60 * ended(item.rates)) / item.rates.seconds)} a minute`)] },
    { label: "Failed", number: true, cell: (item) => failing(item.rates) },
    { label: "Waited", number: true, cell: (item) => latency(item.rates.wait) },
    { label: "Ran", number: true, cell: (item) => latency(item.rates.run) },
    { label: "Workers", number: true, cell: (item) => String(item.workers) },
    { label: "", cell: (item) => pauseButton(kind, item, after) },
  ];
}

function latency({ p50, p95, p99 }) {
  if (p50 === null) return "–";
  return h("span", { title: `p50 ${duration(p50)}, p95 ${duration(p95)}, p99 ${duration(p99)}` }, duration(p50), h("small", {}, `p95 ${duration(p95)}`));
}

function unserved({ unserved: gaps }) {
  return gaps.map((gap) => h("small", { class: "is-failed" }, `${count(gap.waiting)} of ${gap.type} in ${gap.queue} wait, and no worker serves them`));
}
