/**
 * `<tq-table>`: rows that are kept while their items are there, walked by `j` and `k`, opened by
 * `enter`, selected by `x`, and by `X` or with shift up to there.
 *
 * Set `columns`, `key(item)`, and `href(item)` or null; `selectable` for boxes to tick. Then
 * `show(items)`. A column is {label, cell(item), number, by, sort}; a cell is a node, a text or a
 * list of them. By a column one can sort, from its head:
 * - `by(item)` gives a value, for tables that hold all their items. The rows are sorted here, and the
 *   address says how: `sort=label`, or `sort=-label` for the largest first. What has no value is last.
 * - `sort` has orders of the API, each with its direction: {newest: "descending", oldest:
 *   "ascending"}. `order` is the one that the items are in; the event `sorted` (`detail`: the order,
 *   or "" for none) asks for another.
 *
 * `gone` has the keys of rows that are drawn pale. The event `picked` tells that what is selected has
 * changed. The first cell of a row holds its link. Narrow windows show each row as a card.
 */

import { amend, here } from "../core/address.js";
import { h, listed, redraw } from "../core/dom.js";
import { shortcuts } from "../core/keys.js";

const WORDS = new Intl.Collator("en", { numeric: true });

class Table extends HTMLElement {
  columns = [];
  key = (item) => item.id;
  href = null;
  label = "";
  selectable = false;
  order = null;
  items = [];
  picked = new Set();
  gone = new Set();
  #given = [];
  #latest = null;
  #drawn = "";
  #body = h("tbody");
  #head = h("thead");
  #ends = new AbortController();

  connectedCallback() {
    if (!this.#body.parentNode) this.append(h("table", { "aria-label": this.label }, this.#head, this.#body));
    this.#drawHead();
    const picks = (through) => () => this.current && this.pick(this.key(this.current), through);
    const keys = { j: ["next row", () => this.#step(1)], k: ["previous row", () => this.#step(-1)] };
    if (this.href) keys.Enter = ["open the row", () => this.current && this.#open(this.current)];
    if (this.selectable) Object.assign(keys, { x: ["select the row", picks(false)], X: ["select up to the row", picks(true)] });
    shortcuts(keys, this.#ends.signal);
  }

  disconnectedCallback() {
    this.#ends.abort();
    this.#ends = new AbortController();
  }

  /** The item whose row has the focus, or null. */
  get current() {
    return this.#body.contains(document.activeElement) ? this.at(document.activeElement) : null;
  }

  /** The item whose row an element is in, or null. */
  at(element) {
    const key = element.closest("tr")?.dataset.key;
    return this.items.find((item) => String(this.key(item)) === key) ?? null;
  }

  /** Show these items: in this order, or in that of the column that the address names. */
  show(items) {
    this.#given = items;
    this.items = this.#sorted(items);
    const heads = this.columns.map(({ label }) => label).join();
    const marked = this.items.map((item) => ({ item, heads, picked: this.picked.has(this.key(item)), gone: this.gone.has(this.key(item)) }));
    listed(this.#body, marked, ({ item }) => this.key(item), (each) => this.#row(each));
    this.#drawHead();
  }

  /**
   * Select a row, or not any more; without a key all of them. `through`: with all between it and the
   * one before, which then are as that one is.
   */
  pick(key, through = false) {
    const keys = this.items.map(this.key);
    const ends = [keys.indexOf(this.#latest), keys.indexOf(key)].sort((one, other) => one - other);
    const ranged = through && ends[0] >= 0;
    const meant = key === undefined ? keys : ranged ? keys.slice(ends[0], ends[1] + 1) : [key];
    const wanted = ranged ? this.picked.has(this.#latest) : !meant.every((each) => this.picked.has(each));
    for (const each of meant) wanted ? this.picked.add(each) : this.picked.delete(each);
    this.#latest = key ?? null;
    this.show(this.#given);
    this.dispatchEvent(new Event("picked"));
  }

  /** The column that the address sorts by, and whether downwards; null: none of this table's. */
  #sorting() {
    const asked = here().params.sort ?? "";
    const down = asked.startsWith("-");
    const column = this.columns.find(({ label, by }) => by && label === asked.slice(Number(down)));
    return column ? { column, down } : null;
  }

  #sorted(items) {
    const sorting = this.#sorting();
    if (!sorting) return items;
    const valued = items.map((item) => [sorting.column.by(item), item]);
    return valued.sort(([one], [other]) => compared(one, other, sorting.down)).map(([, item]) => item);
  }

  #turn({ label, by, number, sort }) {
    if (!by) return this.dispatchEvent(new CustomEvent("sorted", { detail: following(Object.keys(sort), this.order) }));
    const sorting = this.#sorting();
    const down = sorting?.column.label === label ? !sorting.down : Boolean(number);
    amend({ sort: `${down ? "-" : ""}${label}` });
    this.show(this.#given);
  }

  #direction({ label, by, sort }) {
    const sorting = by && this.#sorting();
    if (sorting?.column.label === label) return sorting.down ? "descending" : "ascending";
    return sort?.[this.order] ?? null;
  }

  #drawHead() {
    const picked = this.items.filter((item) => this.picked.has(this.key(item))).length;
    const ticked = picked > 0 && (picked === this.items.length ? "all" : "some");
    const drawn = JSON.stringify([ticked, this.columns.map((column) => [column.label, this.#direction(column)])]);
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    const box = h("input", { type: "checkbox", "aria-label": "Select all rows", "data-focus": "all", checked: ticked === "all", on: { click: () => this.pick() } });
    box.indeterminate = ticked === "some";
    redraw(this.#head, h("tr", {}, this.selectable && h("th", { scope: "col", class: "box" }, box), this.columns.map((column) => this.#heading(column))));
  }

  #heading(column) {
    const { label, number, by, sort } = column;
    const button = () => h("button", { class: "sort", "data-focus": `sort ${label}`, on: { click: () => this.#turn(column) } }, label);
    return h("th", { scope: "col", class: number && "number", "aria-sort": this.#direction(column) }, by || sort ? button() : label);
  }

  #row({ item, picked, gone }) {
    const key = String(this.key(item));
    const cells = this.columns.map(({ label, cell, number }, place) => {
      const content = cell(item);
      const linked = place === 0 && this.href ? h("a", { class: "open", href: this.href(item), "data-focus": `row ${key}` }, content) : content;
      return h("td", { class: `${number ? "number" : ""} ${content === "–" ? "none" : ""}`, "data-label": label }, linked, place === 0 && gone && h("span", { class: "away" }, "no longer like this"));
    });
    const click = (event) => event.target.closest("a, button, input, label, .box") || String(getSelection()) || this.#open(item);
    const row = { "data-key": key, class: `${picked ? "picked" : ""} ${gone ? "gone" : ""}`, tabindex: this.href ? null : "-1", "data-focus": this.href ? null : `row ${key}` };
    return h("tr", { ...row, on: this.href ? { click } : {} }, this.selectable && h("td", { class: "box" }, this.#box(item, key, picked)), cells);
  }

  #box(item, key, picked) {
    const click = (event) => {
      this.pick(this.key(item), event.shiftKey);
      event.target.checked = this.picked.has(this.key(item));
    };
    const mousedown = (event) => event.shiftKey && event.preventDefault(); // or texts are selected
    return h("input", { type: "checkbox", checked: picked, "aria-label": `Select ${key}`, "data-focus": `box ${key}`, on: { click, mousedown } });
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

function following(orders, now) {
  const next = orders[orders.indexOf(now) + 1];
  return next ?? (orders.length > 1 ? orders[0] : "");
}

function compared(one, other, down) {
  const none = [one, other].map((value) => value === null || value === undefined || value === "");
  if (none[0] || none[1]) return none[0] - none[1];
  const order = typeof one === "number" && typeof other === "number" ? one - other : WORDS.compare(one, other);
  return down ? -order : order;
}

/** A table with these properties set. */
export function table(properties) {
  return Object.assign(h("tq-table"), properties);
}
