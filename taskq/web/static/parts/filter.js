/**
 * `<tq-filter>`: a box for the filter language, with what may stand at the caret. `value` is its
 * text; the event `asked` says that somebody wants what it says.
 */

import { get } from "../core/api.js";
import { h, redraw } from "../core/dom.js";

class Filter extends HTMLElement {
  #box = h("input", { type: "search", "aria-label": "Filter", "data-search": true, placeholder: "status:failed type:send_* age>1h \"timed out\"", maxlength: 2000, autocomplete: "off", spellcheck: "false", list: "offered" });
  #offered = h("datalist", { id: "offered" });

  connectedCallback() {
    if (this.firstChild) return;
    const ask = (event) => {
      event.preventDefault();
      this.dispatchEvent(new Event("asked"));
    };
    this.append(h("form", { class: "row", on: { submit: ask } }, h("div", { class: "grow" }, this.#box, this.#offered), h("button", { class: "primary" }, "Search")));
    this.#box.addEventListener("input", () => this.#offer());
  }

  get value() {
    return this.#box.value.trim();
  }

  /** Leaves alone what somebody is typing. */
  set value(text) {
    if (document.activeElement !== this.#box) this.#box.value = text;
  }

  async #offer() {
    const { value, selectionStart: at } = this.#box;
    try {
      const { start, end, items } = await get("suggestions", { q: value, at });
      if (this.#box.value !== value) return;
      redraw(this.#offered, items.map((item) => h("option", { value: value.slice(0, start) + item.text + value.slice(end) }, item.detail || item.label)));
    } catch (error) {
      if (error.status !== 400) throw error; // what is half typed need not be right
    }
  }
}

customElements.define("tq-filter", Filter);

/** A box that says `text`; `act(text)` is called when somebody asks for what is in it. */
export function filterBox(text, act) {
  const made = h("tq-filter");
  made.value = text;
  made.addEventListener("asked", () => act(made.value));
  return made;
}
