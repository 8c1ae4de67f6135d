/** Small charts: in a line of text, or below a heading. */

import { link } from "../core/address.js";
import { clock, duration, exact, words } from "../core/format.js";
import { h, svg } from "../core/dom.js";

const HIGH = 96;

/** A small bar for each value (null: none), as high as it is of the largest; `label` says of what. */
export function spark(values, label) {
  const most = Math.max(1, ...values.map((each) => each ?? 0));
  const bar = (value, place) => {
    const height = value ? Math.max(1, Math.round((value / most) * 200) / 10) : 0;
    return height && `M${place * 4},20v${-height}h3v${height}z`;
  };
  const size = { viewBox: `0 0 ${Math.max(1, values.length * 4 - 1)} 20`, width: values.length * 4, height: 20 };
  return svg("svg", { ...size, class: "spark", role: "img", "aria-label": label }, svg("path", { d: values.map(bar).filter(Boolean).join("") }));
}

/** The sums of neighbours, so that no more than `most` values are left. */
export function coarse(values, most = 24) {
  const each = Math.ceil(values.length / most);
  const sums = Array.from({ length: Math.ceil(values.length / each) }, () => 0);
  values.forEach((value, place) => (sums[Math.floor(place / each)] += value));
  return sums;
}

function run({ at, id, status, duration: seconds }, ...bar) {
  const took = seconds === null ? "" : `, ${duration(seconds)}`;
  const title = `${words(status)}${took}\n${exact(at)}`;
  return h("a", { class: `is-${status}`, href: link(["activities", id]), title, "aria-label": title, "data-focus": `run ${id}` }, bar);
}

/** A schedule's `recent` times, oldest first: a bar for each, coloured by what became of it. */
export function runs(recent) {
  return recent.length ? h("span", { class: "runs" }, recent.map((each) => run(each))) : "–";
}

/** The same, each bar as high as it was long. */
export function history(recent) {
  const most = Math.max(...recent.map((each) => each.duration ?? 0), 0.001);
  const bar = (each) => run(each, h("i", { style: { height: `${Math.max(4, ((each.duration ?? 0) / most) * HIGH)}px` } }));
  return h("figure", { class: "history" },
    h("div", { class: "took" }, recent.map(bar)),
    h("figcaption", {}, h("small", {}, clock(recent[0].at)), h("small", {}, `up to ${duration(most)}`), h("small", {}, clock(recent.at(-1).at))));
}
