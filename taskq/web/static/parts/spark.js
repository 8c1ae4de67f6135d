/** Charts so small that they stand in a line of text. */

import { link } from "../core/address.js";
import { duration, exact, words } from "../core/format.js";
import { h, svg } from "../core/dom.js";

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

/** A schedule's `recent` times, oldest first: a bar for each, coloured by what became of it. */
export function runs(recent = []) {
  const run = ({ at, id, status, duration: seconds }) => {
    const took = seconds === null ? "" : `, ${duration(seconds)}`;
    const title = `${words(status)}${took}\n${exact(at)}`;
    return h("a", { class: `is-${status}`, href: link(["activities", id]), title, "aria-label": title, "data-focus": `run ${id}` });
  };
  return recent.length ? h("span", { class: "runs" }, recent.map(run)) : "–";
}
