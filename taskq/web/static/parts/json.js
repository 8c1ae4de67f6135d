/** `<tq-json>`: JSON text, with line breaks or exactly as it is stored; copied as it is stored. */

import { h, redraw } from "../core/dom.js";
import { pretty } from "../core/format.js";
import { copyButton } from "./copy.js";

/** Characters that are drawn at once; a button shows more. */
const MOST = 20000;

class Json extends HTMLElement {
  #raw = false;
  #most = MOST;

  /** Show this text; null: it is hidden from one's role. `name` says what it is. */
  show(text, name) {
    this.text = text;
    this.name = name;
    this.draw();
  }

  draw() {
    if (this.text === null) return redraw(this, h("p", { class: "soft" }, "Hidden from your role."));
    const head = this.text.slice(0, this.#most * (this.#raw ? 1 : 2));
    const shown = (this.#raw ? head : pretty(head)).slice(0, this.#most);
    const cut = this.text.length > shown.length && shown.length >= this.#most;
    const turn = () => {
      this.#raw = !this.#raw;
      this.draw();
    };
    const more = () => {
      this.#most *= 4;
      this.draw();
    };
    redraw(
      this,
      h("div", { class: "row tools" },
        h("button", { class: "quiet small", "aria-pressed": String(this.#raw), "data-focus": `raw ${this.name}`, on: { click: turn } }, "Raw"),
        copyButton(() => this.text, `Copy ${this.name}`)),
      h("pre", { tabindex: "0", "aria-label": this.name }, shown),
      cut && h("button", { class: "small", "data-focus": `more ${this.name}`, on: { click: more } }, "Show more"),
    );
  }
}

customElements.define("tq-json", Json);

/** A piece of JSON under its name. */
export function json(text, name) {
  const made = h("tq-json");
  made.show(text, name);
  return made;
}
