/** How long the last times of a schedule took: a bar for each, as high as it was long. */

import { link } from "../core/address.js";
import { clock, duration, exact, words } from "../core/format.js";
import { h } from "../core/dom.js";

const HIGH = 96;

/** `recent` is what the API says of a schedule's last times, oldest first. */
export function history(recent) {
  const most = Math.max(...recent.map((run) => run.duration ?? 0), 0.001);
  const bar = ({ at, id, status, duration: took }) => {
    const title = `${words(status)}${took === null ? "" : `, ${duration(took)}`}\n${exact(at)}`;
    const height = `${Math.max(4, ((took ?? 0) / most) * HIGH)}px`;
    return h("a", { class: `is-${status}`, href: link(["activities", id]), title, "aria-label": title, "data-focus": `bar ${id}` }, h("i", { style: { height } }));
  };
  return h("figure", { class: "history" },
    h("div", { class: "took" }, recent.map(bar)),
    h("figcaption", {}, h("small", {}, clock(recent[0].at)), h("small", {}, `up to ${duration(most)}`), h("small", {}, clock(recent.at(-1).at))));
}
