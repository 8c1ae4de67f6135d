/** The attempts of one activity, the newest first, and what each worker had to do with it. */

import { link } from "../core/address.js";
import { h } from "../core/dom.js";
import { count, duration, plural } from "../core/format.js";
import { copyButton } from "./copy.js";
import { empty, facts, panel } from "./status.js";
import { attempts, told } from "./story.js";
import { time } from "./time.js";

/** Attempts that are drawn; older ones are in the timeline. */
const MOST = 50;

/** The way to what a worker had; ids of workers begin alike, so its last digits are shown, after `before`. */
export function workerLink(id, name = null, before = "") {
  return id && h("a", { href: link("activities", { q: `worker:${id}` }), title: id }, name ?? `${before}…${id.slice(-6)}`);
}

/** An error: what it says, and its traceback folded unless `open`. */
export function trouble(error, open = false) {
  const { type = "error", message, traceback } = error;
  const said = message === null ? "hidden from your role" : message;
  return [
    h("p", { class: "problem" }, h("b", {}, type), said && `: ${said}`),
    traceback && h("details", { open }, h("summary", {}, "Traceback"), h("pre", { tabindex: "0", role: "group", "aria-label": "Traceback" }, traceback.trimEnd()), copyButton(traceback, "Copy traceback")),
  ];
}

/** The panels of the attempts. */
export function attemptsOf(activity, { items }) {
  const all = attempts(activity, items);
  if (!all.length) return [panel("Attempts", null, empty("It has not been attempted yet."))];
  const of = activity.max_attempts === null ? "without a limit" : `of at most ${count(activity.max_attempts)}`;
  const aside = h("small", {}, `${count(activity.attempts)} ${of}`, activity.crash_count > 0 && `, ${plural(activity.crash_count, "crash", "crashes")} of at most ${activity.max_crashes}`);
  return [
    panel("Attempts", aside, h("ol", { class: "attempts" }, all.slice(0, MOST).map((each) => row(each, activity))), all.length > MOST && h("p", { class: "soft" }, `${count(all.length - MOST)} older ones are in the timeline.`)),
    panel("Workers", null, workers(activity, items)),
  ];
}

function row(each, activity) {
  if (each.retried) return h("li", {}, h("div", { class: "row" }, h("b", {}, told("retried")), time(each.retried), h("small", {}, each.by)));
  const { number, kind, started, ended, waited, worker, error, delay } = each;
  const ran = started && ended ? duration((Date.parse(ended) - Date.parse(started)) / 1000) : started ? time(started, "since") : null;
  return h("li", {},
    h("div", { class: "row" }, h("b", {}, number ? `Attempt ${number}` : "Attempt"), h("span", { class: `is-${kind ?? "processing"}` }, kind ? told(kind) : "runs")),
    facts([
      ["Began", started ? time(started) : h("span", { class: "soft", title: "Only the end of an earlier attempt is on record" }, "not on record")], ["Ended", ended && time(ended)], ["Waited", waited === null ? null : duration(waited)], ["Ran", ran],
      ["Worker", workerLink(worker, worker === activity.worker ? activity.worker_name : null)], ["Again after", delay !== null && duration(delay)],
    ].filter(([, value]) => value)),
    error && trouble(error));
}

/** By worker: how many events, of what. */
function workers(activity, items) {
  const by = Map.groupBy(items.filter(({ worker }) => worker), ({ worker }) => worker);
  if (!by.size) return empty("No worker has had it yet.");
  const line = ([id, entries]) => {
    const kinds = [...Map.groupBy(entries, ({ kind }) => kind)].map(([kind, those]) => `${told(kind)}${those.length > 1 ? ` × ${those.length}` : ""}`);
    return h("li", { class: "row" }, workerLink(id, id === activity.worker ? activity.worker_name : null), h("small", {}, plural(entries.length, "event")), h("span", { class: "soft" }, kinds.join(", ")));
  };
  return h("ul", {}, [...by].map(line));
}
