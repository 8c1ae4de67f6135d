/** The bar of an activity on an axis of time: pale while it waited, full while it ran. */

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

/** Draw it, or draw one anew that was made before. */
export function bar(drawn, { created_at: made, started_at: begun, finished_at: ended, status }, { from, until }) {
  const whole = drawn ?? svg("svg", { class: `bar is-${status}`, "aria-hidden": "true" }, svg("rect", { class: "waits" }), svg("rect", { class: "runs" }));
  const at = (iso) => (((iso ? Date.parse(iso) : until) - from) / (until - from)) * 100;
  const [waits, runs] = whole.children;
  place(waits, at(made), at(begun ?? ended));
  place(runs, at(begun), begun ? at(ended) : at(begun) - 1);
  return whole;
}

function place(rect, from, until) {
  const width = until < from ? 0 : Math.max(THIN, until - from);
  rect.setAttribute("x", `${Math.min(from, 100 - width)}%`);
  rect.setAttribute("width", `${width}%`);
}

/** What the bar shows, in words; `times`: with all times in full. */
export function told({ created_at: made, started_at: begun, finished_at: ended }, times = false) {
  const between = (from, until) => duration(Math.max(0, (Date.parse(until ?? new Date().toISOString()) - Date.parse(from)) / 1000));
  const said = [`waited ${between(made, begun ?? ended)}`, begun && `${ended ? "ran" : "has run"} ${between(begun, ended)}`].filter(Boolean).join(", ");
  if (!times) return said;
  const lines = [["Created", made], ["Started", begun], ["Ended", ended]].filter(([, iso]) => iso);
  return [said, ...lines.map(([name, iso]) => `${name}: ${exact(iso).replace("\n", " · ")}`)].join("\n");
}
