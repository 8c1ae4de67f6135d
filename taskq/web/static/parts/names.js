/** A box that narrows what a page lists by name. */

import { h } from "../core/dom.js";

/** `act(text)` is called as somebody types; `clear()` of what is returned empties it. */
export function nameBox(what, text = "", act) {
  const box = h("input", { type: "search", "data-search": true, "aria-label": `${what} by name`, placeholder: "Filter by name", value: text, autocomplete: "off", spellcheck: "false" });
  box.addEventListener("input", () => act(box.value.trim()));
  const clear = () => {
    box.value = "";
    box.focus();
    act("");
  };
  return Object.assign(h("div", { class: "names", role: "search" }, box), { clear });
}

/** Those whose name has the text in it, whatever the case. */
export function narrowed(items, text = "") {
  const wanted = text.toLowerCase();
  return items.filter(({ name }) => name.toLowerCase().includes(wanted));
}
