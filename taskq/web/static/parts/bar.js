/**
 * The bar of an activity on an axis of time: pale while its latest attempt waited, full while it ran;
 * all before that, when it was not due, was tried, or had ended already, is a thin line.
 */

import { duration, exact } from "../core/format.js";
import { svg } from "../core/dom.js";

const THIN = 0.4;

/** From when until when the axis goes, in milliseconds: now, where one of them has not ended. */
export function span(activities) {
  const times = activities.flatMap(({ created_at, started_at, finished_at }) => [created_at, started_at, finished_at]).filter(Boolean).map(Date.parse);
  const from = Math.min(...times);
  const now = activities.every(({ finished_at }) => finished_at) ? from : Date.now();
  return { from, until: Math.max(...times, now, from + 1) };
}

/** Its times in milliseconds: `made`, `ready` (when its latest wait began), `begun` (null: it does not
 * run and has not), `until` (now, where it has not ended). */
function times({ status, created_at, ready_at, started_at, finished_at }) {
  const [made, due] = [created_at, ready_at].map(Date.parse);
  const until = finished_at ? Date.parse(finished_at) : Date.now();
  const begun = started_at && (finished_at || status === "processing") ? Date.parse(started_at) : null;
  return { made, ready: Math.min(Math.max(made, due), begun ?? until), begun, until, due };
}

/** Draw it, or draw one anew that was made before. */
export function bar(drawn, activity, { from, until }) {
  const whole = drawn ?? svg("svg", { class: `bar is-${activity.status}`, "aria-hidden": "true" }, ["before", "waits", "runs"].map((kind) => svg("rect", { class: kind })));
  const at = (time) => ((Math.min(time, until) - from) / (until - from)) * 100;
  const { made, ready, begun, until: end } = times(activity);
  const [before, waits, runs] = whole.children;
  place(before, at(made), at(ready), 0);
  place(waits, at(ready), at(begun ?? end), begun === null && ready < end ? THIN : 0);
  place(runs, at(begun ?? end), at(end), begun === null ? 0 : THIN);
  return whole;
}

function place(rect, from, until, least) {
  const width = Math.max(least, until - from);
  rect.setAttribute("x", `${Math.min(from, 100 - width)}%`);
  rect.setAttribute("width", `${width}%`);
}

/** What the bar shows, in words; `times`: with all times in full. The wait is that of its page's overview. */
export function told(activity, all = false) {
  const { made, ready, begun, until, due } = times(activity);
  const between = (from, to) => duration(Math.max(0, (to - from) / 1000));
  const waited = due <= (begun ?? until);
  const said = [
    waited && `waited ${between(ready, begun ?? until)}`, begun !== null && `${activity.finished_at ? "ran" : "has run"} ${between(begun, until)}`,
    ready > made && `there ${between(made, ready)} before`, !waited && begun === null && !activity.finished_at && "not due yet",
  ].filter(Boolean).join(", ");
  if (!all) return said;
  const lines = [["Created", activity.created_at], ["Ready", activity.ready_at], ["Started", activity.started_at], ["Ended", activity.finished_at]].filter(([, iso]) => iso);
  return [said, ...lines.map(([name, iso]) => `${name}: ${exact(iso).replace("\n", " · ")}`)].join("\n");
}
