/**
 * What a timeline tells: its events in words, the phases that an activity went through, its
 * attempts. Pure. Of earlier attempts only the end is on record, so that their waiting and running
 * are one phase, `mixed`.
 */

import { duration, words } from "../core/format.js";
import { OVER } from "./acts.js";

const KINDS = {
  scheduled: "scheduled for later",
  dead_letter: "failed for good: a dead letter",
  crashed: "its worker was lost",
  interrupted: "interrupted, not counted",
  snoozed: "put off by its handler",
  handed_back: "handed back before it began",
  retried: "retried by an operator",
  linked: "another activity waits for it too",
};
/** What ends an attempt, and as what it waits afterwards. */
const ENDS = {
  failed: "retrying", timed_out: "retrying", crashed: "pending", interrupted: "pending", snoozed: "scheduled", handed_back: "pending",
  completed: null, dead_letter: null, cancelled: null,
};
export const PHASES = {
  scheduled: "Not due yet", pending: "Waited", processing: "Ran", mixed: "Waited and ran", retrying: "Waited to retry", over: "Had ended",
};

/** An event's kind in words. */
export function told(kind) {
  return Object.hasOwn(KINDS, kind) ? KINDS[kind] : words(kind);
}

/** What an event says, in one line. */
export function said({ kind, detail }) {
  const parts = Object.entries(detail).map(([name, value]) => {
    if (name === "error" && value?.type) return [value.type, value.message].filter(Boolean).join(": ");
    if (name === "delay") return `again in ${duration(value)}`;
    if (name === "actor") return `by ${value}`;
    if (name === "reason") return value && `“${value}”`;
    if (name === "payload") return "with other arguments";
    if (name === "status" && kind === "retried") return `was ${words(String(value))}`;
    return `${words(name)}: ${typeof value === "string" ? value : JSON.stringify(value)}`;
  });
  return parts.filter(Boolean).join(" · ");
}

/** Its phases so far, oldest first: kind, begin, end (ms; null: it goes on), attempt. */
export function phases(activity, items) {
  const found = [];
  let from = Date.parse(activity.created_at);
  let due = from;
  let waits = "scheduled";
  let runs = false;
  const add = (kind, until, attempt = null) => {
    if (until === null || until > from) found.push({ kind, from, until, attempt });
    from = until ?? from;
  };
  const wait = (until) => {
    if (due > from) add(waits, Math.min(due, until));
  };
  if (!items.some((entry) => "delay" in entry.detail || entry.kind === "retried")) due = Date.parse(activity.ready_at);
  for (const { kind, at, attempt, detail } of items) {
    const time = Date.parse(at);
    if (kind === "started") {
      wait(time);
      add("pending", time);
      runs = true;
    } else if (kind === "retried" || kind === "rescheduled") {
      if (kind === "retried") add("over", time);
      else wait(time);
      waits = "scheduled";
      due = kind === "retried" ? time : Date.parse(detail.ready_at) || due;
    } else if (kind in ENDS) {
      if (!runs) wait(time);
      add(runs ? "processing" : attempt && kind !== "handed_back" ? "mixed" : "pending", time, attempt);
      runs = false;
      due = time + (detail.delay ?? 0) * 1000;
      waits = ENDS[kind];
    }
  }
  return OVER.has(activity.status) ? found : [...found, ...present(activity, { from, waits })];
}

/** What has no end yet. */
function present({ status, ready_at, attempts }, { from, waits }) {
  const ready = Date.parse(ready_at);
  if (status !== "pending" || ready <= from) return [{ kind: status, from, until: null, attempt: status === "processing" ? attempts : null }];
  return [{ kind: waits ?? "retrying", from, until: ready, attempt: null }, { kind: "pending", from: ready, until: null, attempt: null }];
}

/**
 * Its attempts, the newest first: `number`, `kind` of the end (null: it runs), `started`, `ended`
 * (null: not on record, not yet), `waited` (seconds; null: nobody knows), `worker`, `error`, `delay`.
 */
export function attempts(activity, items) {
  const found = [];
  let open = null;
  for (const entry of items) {
    const { kind, at, attempt, worker, detail } = entry;
    if (kind === "started") {
      const waited = (Date.parse(at) - Date.parse(activity.ready_at)) / 1000;
      open = { number: attempt, kind: null, started: at, ended: null, waited: waited >= 0 ? waited : null, worker, error: null, delay: null };
      found.push(open);
    } else if (Object.hasOwn(ENDS, kind) && (attempt || open)) {
      const made = open ?? { number: attempt, started: null, waited: null, worker };
      Object.assign(made, { kind, ended: at, error: detail.error ?? null, delay: detail.delay ?? null });
      if (made !== open) found.push(made);
      open = null;
    } else if (kind === "retried") {
      found.push({ number: null, kind: `was ${words(String(detail.status))}`, started: null, ended: null, waited: null, worker: null, error: detail.error ?? null, delay: null, retried: at, by: said(entry) });
    }
  }
  return found.reverse();
}
