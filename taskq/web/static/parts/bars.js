/** How much each of a few has of something, as bars that can be compared. */

import { h, listed } from "../core/dom.js";
import { count } from "../core/format.js";

/**
 * Show `items` in a list: each has a `name`, a `number`, a `hue` (a CSS colour) and the `href` where
 * it leads. Counts stop at `cap`.
 */
export function bars(list, items, cap) {
  const most = Math.max(1, ...items.map(({ number }) => number));
  const shown = items.map((item) => ({ ...item, share: Math.round((1000 * item.number) / most) / 10 }));
  listed(list, shown, ({ name }) => name, ({ name, number, hue, href, share }) =>
    h("li", {}, h("a", { href }, h("span", { class: "name", title: name }, name),
      h("span", { class: "track", "aria-hidden": "true" }, h("i", { style: { "--hue": hue, width: `${share}%` } })), h("b", {}, count(number, cap)))));
}
