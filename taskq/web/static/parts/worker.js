/** One worker: how it is, what it runs, what it serves. */

import { link } from "../core/address.js";
import { h } from "../core/dom.js";
import { plural } from "../core/format.js";
import { activityLink, meter } from "./status.js";
import { time } from "./time.js";

/** So many of what it runs are shown; the rest is folded. */
const SHOWN = 5;
const HUES = { running: "is-completed", lost: "is-failed" };

/** A card of it; `open` has the names of what is unfolded, and keeps what somebody unfolds. */
export function card(worker, open) {
  const { id, name, host, pid, slots_used: used, concurrency, running, lost, threads_stuck: stuck } = worker;
  const state = lost ? "lost" : worker.state;
  const about = [host, `process ${pid}`, worker.version, worker.async_backend].join(" · ");
  return h("article", { class: "panel worker", "aria-label": `Worker ${name}` },
    h("header", {}, h("h3", {}, name), h("span", { class: `chip ${HUES[state] ?? "is-pending"}` }, state),
      h("span", { class: "used" }, meter(used, concurrency, "slots used"), `${used} / ${concurrency}`)),
    h("p", { class: "soft" }, h("span", {}, about), h("span", {}, "started ", time(worker.started_at, "ago"), " · heard ", time(worker.seen_at, "ago"))),
    stuck > 0 && h("p", { class: "problem" },
      `${plural(stuck, "thread")} outlived the timeout of an attempt, and a slot is held for each: only a restart of the process frees it.`),
    worker.suspended > 0 && h("p", { class: "soft" }, `${plural(worker.suspended, "attempt waits", "attempts wait")} for others.`),
    running.length ? runs(worker, open) : h("p", { class: "soft" }, lost ? "It held nothing." : "Idle: runs nothing now."),
    h("footer", {}, h("p", {}, h("span", { class: "soft" }, "Queues"), served("queues", worker.queues)), serves(worker, open),
      h("a", { href: link("activities", { q: `worker:${id}` }), "aria-label": `Activities of ${name}` }, "Activities")));
}

function runs({ id, running, lost }, open) {
  const rows = (items) => h("ul", {}, items.map((each) => run(each, lost)));
  const rest = running.slice(SHOWN);
  return [rows(running.slice(0, SHOWN)), rest.length > 0 && folded(`${id} runs`, open, `${rest.length} more`, rows(rest))];
}

function run({ id, type, started_at: since, lease_until: lease, attempt, progress }, lost) {
  const left = lost ? ["comes back as its lease ends, ", time(lease, "ago")] : ["lease ends ", time(lease, "ago")];
  return h("li", {}, h("span", { class: "what" }, h("b", {}, type), " ", activityLink(id)), progress && far(progress, type),
    h("small", {}, since && ["for ", time(since, "since"), " · "], attempt > 1 && `attempt ${attempt} · `, lease && left));
}

function far({ done, total, note }, type) {
  return h("span", {}, total && meter(done, total, `progress of ${type}`), h("small", {}, note ?? (total ? `${done} of ${total}` : String(done))));
}

function folded(name, open, label, content) {
  const made = h("details", { open: open.has(name) }, h("summary", { "data-focus": name }, label), content);
  made.addEventListener("toggle", () => (made.open ? open.add(name) : open.delete(name)));
  return made;
}

function serves({ id, types }, open) {
  return types.length ? folded(`${id} types`, open, plural(types.length, "type"), h("small", {}, served("types", types))) : h("span", {}, "Every type");
}

function served(kind, names) {
  return h("span", {}, names.map((name, place) => [place > 0 && ", ", h("a", { href: link([kind, name]) }, name)]));
}
