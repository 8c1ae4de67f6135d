/**
 * `<tq-table>`: rows that are kept while their items are there, walked by `j` and `k`, opened by
 * `enter`, selected by `x`.
 *
 * Set `columns` ([{name, label, cell(item), sort, number}]; a cell is a node, a text or a list of
 * them, `sort` names an order), `key(item)`, and `href(item)` or null; `selectable` for boxes to tick.
 * Then `show(items)`. Events: `picked` when what is selected has changed, `sorted` (`detail`: the
 * order). The first cell of a row holds its link. Narrow windows show each row as a card.
 */

import { h, listed, redraw } from "../core/dom.js";
import { shortcuts } from "../core/keys.js";

class Table extends HTMLElement {
  columns = [];
  key = (item) => item.id;
  href = null;
  label = "";
  selectable = false;
  order = null;
  items = [];
  picked = new Set();
  #body = h("tbody");
  #head = h("thead");
  #ends = new AbortController();

  connectedCallback() {
    if (!this.#body.parentNode) this.append(h("table", { "aria-label": this.label }, this.#head, this.#body));
    this.#drawHead();
    const keys = { j: ["next row", () => this.#step(1)], k: ["row before", () => this.#step(-1)] };
    if (this.href) keys.Enter = ["open the row", () => this.current && this.#open(this.current)];
    if (this.selectable) keys.x = ["select the row", () => this.current && this.pick(this.key(this.current))];
    shortcuts(keys, this.#ends.signal);
  }

  disconnectedCallback() {
    this.#ends.abort();
    this.#ends = new AbortController();
  }

  /** The item whose row has the focus, or null. */
  get current() {
    const row = this.#body.contains(document.activeElement) ? document.activeElement.closest("tr") : null;
    return this.items.find((item) => String(this.key(item)) === row?.dataset.key) ?? null;
  }

  /** Show these items, in this order. */
  show(items) {
    this.items = items;
    const marked = items.map((item) => ({ item, picked: this.picked.has(this.key(item)) }));
    listed(this.#body, marked, ({ item }) => this.key(item), (each) => this.#row(each));
    this.#drawHead();
  }

  /** Select a row, or not any more; without a key all of them. */
  pick(key) {
    const keys = key === undefined ? this.items.map(this.key) : [key];
    const all = keys.every((each) => this.picked.has(each));
    for (const each of keys) all ? this.picked.delete(each) : this.picked.add(each);
    this.show(this.items);
    this.dispatchEvent(new Event("picked"));
  }

  #drawHead() {
    const all = this.items.length > 0 && this.items.every((item) => this.picked.has(this.key(item)));
    const box = h("input", { type: "checkbox", "aria-label": "Select all rows", "data-focus": "all", checked: all, on: { change: () => this.pick() } });
    const cells = this.columns.map((column) => h("th", { scope: "col", class: column.number && "number" }, this.#heading(column)));
    redraw(this.#head, h("tr", {}, this.selectable && h("th", { scope: "col", class: "box" }, box), cells));
  }

  #heading({ label, sort }) {
    if (!sort) return label;
    const act = () => this.dispatchEvent(new CustomEvent("sorted", { detail: sort }));
    const pressed = String(this.order === sort);
    return h("button", { class: "sort", "aria-pressed": pressed, "data-focus": `sort ${sort}`, on: { click: act } }, label);
  }

  #row({ item, picked }) {
    const key = String(this.key(item));
    const box = () => h("input", { type: "checkbox", checked: picked, "aria-label": `Select ${key}`, "data-focus": `box ${key}`, on: { change: () => this.pick(this.key(item)) } });
    const cells = this.columns.map(({ label, cell, number }, place) => {
      const content = cell(item);
      const linked = place === 0 && this.href ? h("a", { class: "open", href: this.href(item), "data-focus": `row ${key}` }, content) : content;
      return h("td", { class: number && "number", "data-label": label }, linked);
    });
    const click = (event) => event.target.closest("a, button, input, label") || String(getSelection()) || this.#open(item);
    const row = { "data-key": key, class: picked && "picked", tabindex: this.href ? null : "-1", "data-focus": this.href ? null : `row ${key}` };
    return h("tr", { ...row, on: this.href ? { click } : {} }, this.selectable && h("td", { class: "box" }, box()), cells);
  }

  #open(item) {
    if (this.href) location.hash = this.href(item);
  }

  #step(by) {
    const rows = [...this.#body.children];
    const at = rows.indexOf(document.activeElement.closest?.("tr"));
    const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, at + by))];
    (next?.querySelector("a.open") ?? next)?.focus();
    next?.scrollIntoView({ block: "nearest" });
  }
}

customElements.define("tq-table", Table);

/** A table with these properties set. */
export function table(properties) {
  return Object.assign(h("tq-table"), properties);
}
