/** Short news of what was done, said to screen readers too. */

import { h } from "../core/dom.js";

const PATIENCE = 6000;
const place = h("div", { class: "toasts", role: "status", "aria-live": "polite" });
document.body.append(place);

/** Say something for some seconds; `kind` `wrong` is for what did not work. */
export function toast(sentence, { kind = "done" } = {}) {
  const close = h("button", { class: "quiet", "aria-label": "Close", on: { click: () => shown.remove() } }, "×");
  const shown = h("div", { class: `toast ${kind}` }, h("span", {}, sentence), close);
  place.append(shown);
  setTimeout(() => shown.remove(), PATIENCE);
}
