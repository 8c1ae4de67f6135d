/** What there is to say about one activity: how it stands, its details, its error, its metadata. */

import { link } from "../core/address.js";
import { h } from "../core/dom.js";
import { count, duration, words } from "../core/format.js";
import { quoted, term } from "../core/term.js";
import { OVER, WAITS } from "./acts.js";
import { trouble, workerLink } from "./attempts.js";
import { json } from "./json.js";
import { activityLink, chip, facts, meter, panel } from "./status.js";
import { time } from "./time.js";

function search(q, text) {
  return text && h("a", { href: link("activities", { q }) }, text);
}

/** How it stands, in a line of short sentences that count by themselves. */
export function stands(a) {
  const most = a.max_attempts ?? "any number";
  const which = a.status === "processing" ? `attempt ${a.attempts} of ${most}` : a.attempts > 0 && `${count(a.attempts)} of ${most} attempts`;
  const all = [
    ...({ processing: running, retrying: again, scheduled: again, pending: ready }[a.status] ?? ended)(a),
    which,
    a.cancel_requested_at && !OVER.has(a.status) && ["cancel requested ", time(a.cancel_requested_at, "ago")],
    a.deadline_at && !OVER.has(a.status) && ["deadline ", time(a.deadline_at, "ago")],
    a.expires_at && !OVER.has(a.status) && ["expires ", time(a.expires_at, "ago")],
  ];
  return h("p", { class: "stands" }, all.filter(Boolean).map((each) => h("span", {}, each)));
}

function running(a) {
  const limit = a.timeout && new Date(Date.parse(a.started_at) + a.timeout * 1000).toISOString();
  return [
    ["runs for ", time(a.started_at, "since")], a.worker && ["on ", workerLink(a.worker, a.worker_name, "worker ")],
    a.lease_until && ["lease ends ", time(a.lease_until, "ago")], limit && [Date.parse(limit) > Date.now() ? "times out " : "timeout passed ", time(limit, "ago")],
  ];
}

function again(a) {
  return [[a.status === "retrying" ? "retries " : "due ", time(a.ready_at, "ago")]];
}

function ready(a) {
  return [["ready ", time(a.ready_at, "ago")], !a.known && "no task of this app has its type"];
}

function ended(a) {
  return [["ended ", time(a.finished_at, "ago")], a.duration !== null && `ran ${duration(a.duration)}`];
}

/** What it waits for. */
export function blocked(children) {
  const one = (child) => h("li", { class: "row" }, chip(child.status), h("a", { href: link(["activities", child.id]), title: child.id }, child.step ?? child.type), child.progress && meter(child.progress.done, child.progress.total ?? child.progress.done, "progress"), WAITS.has(child.status) && h("small", {}, "due ", time(child.ready_at, "ago")));
  return h("section", { class: "panel blocked", "aria-label": "Blocked on" }, h("header", {}, h("h2", {}, "Blocked on"), h("small", {}, "children that have not ended")), h("ul", {}, children.map(one)));
}

/** How far it says that it has come. */
export function progress({ done, total, note, at }) {
  return panel("Progress", h("small", {}, "reported ", time(at, "ago")), h("p", { class: "progress" }, total !== null && meter(done, total, "progress"), h("b", {}, total === null ? done : `${done} / ${total}`), h("span", { class: "soft" }, note)));
}

/** The latest error; `alike` counts what failed of the same cause. */
export function errorOf({ error, fingerprint, status }, alike) {
  const same = alike && `Same cause: ${count(alike.count)}${alike.exact ? "" : "+"}`;
  return panel(OVER.has(status) ? "Error" : "Latest error", h("span", { class: "row" }, h("small", {}, error.kind !== "error" && `${words(error.kind)}, `, `attempt ${error.attempts}`), fingerprint && h("a", { href: link("activities", { q: term("cause", fingerprint) }) }, same || "Same cause")),
    trouble(error, true));
}

/** What it was called with, and what came of it. */
export function payloads(a) {
  return h("div", { class: "two" }, panel("Arguments", null, json(a.arguments, "arguments")),
    (a.result !== null || (a.hidden && a.status === "completed")) && panel("Result", null, json(a.result, "result")));
}

/** The facts of an activity, in three groups. */
export function details(a) {
  const waited = a.started_at ? (Date.parse(a.started_at) - Date.parse(a.ready_at)) / 1000 : -1;
  const group = (name, pairs) => pairs.some(([, value]) => value) && h("div", {}, h("h3", {}, name), facts(pairs.filter(([, value]) => value)));
  return panel("Details", null, h("div", { class: "groups" },
    group("Times", [
      ["Created", time(a.created_at)], ["Ready", time(a.ready_at)], ["Started", a.started_at && time(a.started_at)], ["Ended", a.finished_at && time(a.finished_at)],
      ["Waited", waited < 0 ? null : duration(waited)], a.status === "processing" ? ["Runs for", time(a.started_at, "since")] : ["Ran", a.duration !== null && duration(a.duration)],
      ["Timeout", a.timeout && duration(a.timeout)], ["Expires", a.expires_at && time(a.expires_at)], ["Deadline", a.deadline_at && time(a.deadline_at)],
    ]),
    group("Execution", [
      ["Type", h("a", { href: link("activities", { type: a.type }) }, a.type)], ["Queue", search(term("queue", a.queue), a.queue)], ["Priority", a.priority.toLowerCase()],
      ["Attempts", `${count(a.attempts)} of ${a.max_attempts ?? "∞"}`], ["Crashes", a.crash_count > 0 && `${a.crash_count} of ${a.max_crashes}`], ["Isolated", a.isolate && "yes"],
      ["Worker", workerLink(a.worker, a.worker_name)],
    ]),
    group("Origin", [
      ["Parent", a.parent_id && activityLink(a.parent_id)], ["Root", a.parent_id && activityLink(a.root_id)], ["Children", a.children > 0 && search(term("parent", a.id), count(a.children, 1000))], ["Step", a.step],
      ["First root", a.origin_id !== a.root_id && activityLink(a.origin_id)], ["Generation", a.generation || null],
      ["Correlation", search(term("corr", a.correlation_id), a.correlation_id)], ["User", search(term("user", a.user_id), a.user_id)], ["Source", search(term("source", a.source), a.source)],
      ["Idempotency key", search(term("key", a.idempotency_key), a.idempotency_key)], ["Tags", tags(a.tags)],
    ])));
}

function tags(held) {
  const all = Object.entries(held);
  return all.length > 0 && h("span", { class: "tags" }, all.map(([name, value]) => h("span", { class: "tag" }, `${name}: ${value}`)));
}

/** Tags, metadata and everything as the API tells it. */
export function metadata(a) {
  const tagged = Object.entries(a.tags).map(([name, value]) => [name, search(term(`tag.${quoted(name)}`, value), value)]);
  return [
    panel("Tags", null, tagged.length ? h("div", { class: "exact" }, facts(tagged)) : h("p", { class: "soft" }, "None.")),
    panel("Metadata", null, json(a.metadata, "metadata")),
    panel("Record", null, json(JSON.stringify(a), "record")),
  ];
}
