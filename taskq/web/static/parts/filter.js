/**
 * `<tq-filter>`: a box for the filter language, which offers what may stand at the caret. `value` is
 * its text; the event `asked` says that somebody wants what it says.
 *
 * A combobox with a listbox, as ARIA has it: arrows choose, Enter or Tab takes, Escape closes the
 * list, then clears the box. The focus stays in the box.
 */

import { get } from "../core/api.js";
import { h, redraw } from "../core/dom.js";

/** Milliseconds of rest before it is asked what may follow. */
const REST = 100;

class Filter extends HTMLElement {
  #list = h("ul", { id: "offered", class: "offered", role: "listbox", "aria-label": "What may follow", hidden: true });
  #box = h("input", {
    type: "text", role: "combobox", "aria-label": "Filter", "data-search": true, placeholder: "status:failed type:send_* age>1h \"timed out\"", maxlength: 2000, autocomplete: "off",
    spellcheck: "false", enterkeyhint: "search", "aria-autocomplete": "list", "aria-controls": "offered", "aria-expanded": "false",
  });
  #offers = [];
  #at = -1;
  #rest = 0;
  #asking = null;

  connectedCallback() {
    if (this.firstChild) return;
    const ask = (event) => {
      event.preventDefault();
      this.#ask();
    };
    this.append(h("form", { class: "row", on: { submit: ask } }, h("div", { class: "grow completes" }, this.#box, this.#list), h("button", { class: "primary" }, "Search")));
    this.#box.addEventListener("input", () => this.#soon());
    this.#box.addEventListener("keydown", (event) => this.#pressed(event));
    this.#box.addEventListener("blur", () => this.#close());
    this.#list.addEventListener("mousedown", (event) => event.preventDefault());
    this.#list.addEventListener("click", (event) => this.#take([...this.#list.children].indexOf(event.target.closest("li"))));
  }

  get value() {
    return this.#box.value.trim();
  }

  /** Leaves alone what somebody is typing. */
  set value(text) {
    if (document.activeElement !== this.#box) this.#box.value = text;
  }

  #ask() {
    this.#close();
    this.dispatchEvent(new Event("asked"));
  }

  #pressed(event) {
    const open = !this.#list.hidden;
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by && open) this.#choose((this.#at + by + this.#offers.length + (by < 0 && this.#at < 0 ? 1 : 0)) % this.#offers.length);
    else if (by) this.#offer();
    else if (open && event.key === "Enter" && this.#at >= 0) this.#take(this.#at);
    else if (open && event.key === "Tab" && !event.shiftKey) this.#take(Math.max(0, this.#at));
    else if (open && event.key === "Escape") this.#close();
    else if (event.key === "Escape" && this.#box.value) this.#clear();
    else return;
    event.preventDefault();
  }

  #clear() {
    this.#box.value = "";
    this.#ask();
  }

  #soon() {
    clearTimeout(this.#rest);
    this.#rest = setTimeout(() => this.#offer(), REST);
  }

  async #offer() {
    const { value, selectionStart: at } = this.#box;
    this.#asking?.abort();
    this.#asking = new AbortController();
    try {
      const { start, end, items } = await get("suggestions", { q: value, at }, this.#asking.signal);
      if (this.#box.value !== value || document.activeElement !== this.#box) return;
      const typed = value.slice(start, end);
      this.#draw(items.filter(({ text }) => text !== typed).map((item) => ({ ...item, start, end })));
    } catch (error) {
      if (error.name === "AbortError") return;
      this.#close(); // what is half typed need not be right
    }
  }

  #draw(offers) {
    if (!offers.length) return this.#close();
    this.#offers = offers;
    redraw(this.#list, offers.map(({ label, detail }, place) => h("li", { id: `offered-${place}`, role: "option" }, h("b", {}, label), detail && h("small", {}, detail))));
    this.#list.hidden = false;
    this.#list.scrollTop = 0;
    this.#box.setAttribute("aria-expanded", "true");
    this.#choose(-1);
  }

  #choose(place) {
    this.#list.children[this.#at]?.removeAttribute("aria-selected");
    this.#at = place;
    const now = this.#list.children[place];
    now?.setAttribute("aria-selected", "true");
    now?.scrollIntoView({ block: "nearest" });
    if (now) this.#box.setAttribute("aria-activedescendant", now.id);
    else this.#box.removeAttribute("aria-activedescendant");
  }

  #take(place) {
    const offer = this.#offers[place];
    if (!offer) return;
    const { value } = this.#box;
    const caret = offer.start + offer.text.length;
    this.#box.value = value.slice(0, offer.start) + offer.text + value.slice(offer.end);
    this.#box.setSelectionRange(caret, caret);
    this.#close();
    if (offer.kind === "field") this.#offer();
  }

  #close() {
    clearTimeout(this.#rest);
    this.#asking?.abort();
    this.#list.hidden = true;
    this.#choose(-1);
    this.#box.setAttribute("aria-expanded", "false");
  }
}

customElements.define("tq-filter", Filter);

/** What is found where a filter is wrong: nothing, and `problem` says why. Any other error is raised. */
export function refused(error) {
  if (error.status !== 400) throw error;
  return { items: [], next: null, searched_to: null, total: { count: 0, exact: true }, problem: error.message };
}

/** A box that says `text`; `act(text)` is called when somebody asks for what is in it. */
export function filterBox(text, act) {
  const made = h("tq-filter");
  made.value = text;
  made.addEventListener("asked", () => act(made.value));
  return made;
}
