/**
 * `<tq-tree>`: a tree of activities, indented, each with a bar on one axis of time (see
 * bar.js). Only the rows in view are drawn, and the one that has the focus, so that a thousand cost
 * no more than thirty. It is walked by the arrow keys, as a tree grid is.
 */

import { amend, go, here, link } from "../core/address.js";
import { h, listed, redraw, say } from "../core/dom.js";
import { count, duration, plural, words } from "../core/format.js";
import { failed, outline, parental, tally, unfolded } from "../core/outline.js";
import { bar, span, told } from "./bar.js";
import { chip, choice, STATES } from "./status.js";

const MOST = 16;
const HEAD = 32;
const NARROW = matchMedia("(max-width: 560px)");
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

class Tree extends HTMLElement {
  #entries = [];
  #shown = [];
  #closed = new Set();
  #active = null;
  #scrolled = 0;
  #ticks = 0;
  #beat = 0;

  connectedCallback() {
    this.#make();
    this.#size();
    this.view.scrollTop = this.#scrolled; // it is lost where the tree is put elsewhere
    NARROW.addEventListener("change", this.#size);
    this.#beat = setInterval(() => this.#grow(), 1000);
  }

  disconnectedCallback() {
    NARROW.removeEventListener("change", this.#size);
    clearInterval(this.#beat);
  }

  #make() {
    if (this.view) return;
    this.row = NARROW.matches ? 60 : 32;
    this.tools = h("div", { class: "row" });
    this.axis = [0, 1, 2].map(() => h("span"));
    const titles = h("div", { class: "titles", role: "row" }, ["Member", "State"].map((text) => h("span", { role: "columnheader" }, text)),
      h("span", { role: "columnheader", class: "axis" }, this.axis), h("span", { role: "columnheader", class: "number" }, "Ran"));
    this.rows = h("div", { class: "rows", role: "rowgroup" });
    const on = { scroll: () => this.#scroll(), keydown: (event) => this.#key(event), focusin: ({ target }) => this.#focused(target) };
    this.view = h("div", { class: "view", role: "treegrid", "aria-label": "Tree", on }, titles, this.rows);
    this.append(this.tools, this.view);
  }

  /** Show these nodes, depth first; `current` is the id that one looks at; `before` stands before its tools. */
  show(nodes, current, before = null) {
    this.#make();
    const first = this.#entries.length === 0;
    this.#entries = outline(nodes);
    this.current = current;
    this.before = before;
    this.#active ??= current;
    this.#measure();
    this.#fold();
    if (first) this.#reveal(current, true);
  }

  #measure() {
    this.span = span(this.#entries.map(({ activity }) => activity));
    const length = this.span.until - this.span.from;
    this.axis.forEach((mark, place) => say(mark, place ? duration((length * place) / 2000) : "0"));
  }

  /** Which rows there are, after anything was folded or has changed. */
  #fold() {
    this.only = here().params.only ?? null;
    this.#shown = unfolded(this.#entries, this.#closed, this.only);
    if (!this.#shown.some(({ activity }) => activity.id === this.#active)) this.#active = this.#shown[0]?.activity.id;
    this.#drawTools();
    this.#draw();
  }

  #drawTools() {
    const counts = tally(this.#entries);
    const states = STATES.filter((state) => counts[state]).map((state) => [state, `${words(state)} ${count(counts[state])}`]);
    const pick = (state) => {
      this.#closed.clear();
      amend({ only: state });
      this.#fold();
    };
    const button = (label, act, can) => h("button", { class: "small", disabled: !can, "data-focus": label, on: { click: act } }, label);
    const parents = this.#entries.filter((entry) => parental(entry) && entry.level > 0).map(({ activity }) => activity.id);
    redraw(this.tools, this.before, choice("Members", [["", `All ${count(this.#entries.length)}`], ...states], this.only ?? "", pick), h("span", { class: "grow" }),
      this.#entries.some(failed) && button("Next failure", () => this.#next(), true),
      button("Fold all", () => this.#close(parents), parents.length > 0), button("Unfold all", () => this.#close([]), this.#closed.size > 0));
  }

  #close(ids) {
    this.#closed = new Set(ids);
    this.#fold();
  }

  /** To the next one that has failed, below the row that one is at. */
  #next() {
    const at = this.#entries.findIndex(({ activity }) => activity.id === this.#active);
    const found = this.#entries.find((each) => failed(each) && each.place > at) ?? this.#entries.find(failed);
    for (let up = this.#entries[found.parent]; up; up = this.#entries[up.parent]) this.#closed.delete(up.activity.id);
    if (this.only && this.only !== found.activity.status) amend({ only: null });
    this.#fold();
    this.#reveal(found.activity.id);
  }

  #size = () => {
    this.row = NARROW.matches ? 60 : 32;
    if (this.#shown.length) this.#draw();
  };

  #scroll() {
    this.#scrolled = this.view.scrollTop;
    this.#draw();
  }

  #draw() {
    this.rows.style.setProperty("height", `${this.#shown.length * this.row}px`);
    this.view.style.setProperty("--rows", Math.min(MOST, this.#shown.length));
    this.view.setAttribute("aria-rowcount", this.#shown.length + 1);
    const first = Math.max(0, Math.floor(this.#scrolled / this.row) - 4);
    const drawn = this.#shown.map((entry, place) => ({ entry, place }))
      .filter(({ entry, place }) => (place >= first && place < first + MOST + 9) || entry.activity.id === this.#active);
    const items = drawn.map(({ entry }) => ({ ...entry, open: !this.#closed.has(entry.activity.id), current: entry.activity.id === this.current }));
    listed(this.rows, items, ({ activity }) => activity.id, (item) => this.#row(item));
    drawn.forEach(({ entry, place }, index) => this.#place(this.rows.children[index], entry, place));
  }

  /** What of a row changes while the row stays: where it is, whether Tab leads to it, its bar. */
  #place(row, { activity }, place) {
    row.style.setProperty("top", `${place * this.row}px`);
    row.setAttribute("aria-rowindex", place + 2);
    row.tabIndex = activity.id === this.#active ? 0 : -1;
    bar(row.querySelector("svg"), activity, this.span);
  }

  #row({ activity, level, place, end, number, of, open, current }) {
    const { id, status } = activity;
    const name = activity.step ?? activity.type;
    const parent = end > place + 1;
    const turn = (event) => {
      event.stopPropagation();
      this.#turn(id);
    };
    const fold = h("button", { class: "quiet fold", tabindex: "-1", hidden: !parent, "aria-label": open ? "Close" : "Open", on: { click: turn } }, open ? "▾" : "▸");
    const cell = (kind, ...content) => h("span", { class: kind, role: "gridcell" }, content);
    const when = cell("when", h("span", { class: "away" }, told(activity)), bar(null, activity, this.span));
    when.addEventListener("pointerenter", () => when.setAttribute("title", told(activity, true)));
    const below = parent && !open && h("small", {}, plural(end - place - 1, "more", "more"));
    const anchor = h("a", { href: link(["activities", id]), tabindex: "-1", "aria-current": current && "true", title: name }, name);
    return h("div", { class: "node", role: "row", "data-focus": `node ${id}`, "data-id": id, "aria-level": level + 1, "aria-posinset": number, "aria-setsize": of, "aria-expanded": parent && String(open) },
      h("span", { class: "name", role: "gridcell", style: { "--level": Math.min(level, 12) } }, fold, anchor, below),
      cell("state", chip(status)), when, cell("number soft", duration(activity.duration)));
  }

  #turn(id) {
    if (!this.#closed.delete(id)) this.#closed.add(id);
    this.#active = id;
    this.#fold();
    this.#reveal(id);
  }

  #focused(target) {
    const id = target.closest("[data-id]")?.dataset.id;
    if (!id || id === this.#active) return;
    this.#active = id;
    this.#draw();
  }

  /** Bring a row into view; the focus comes along, unless it is `quiet`. */
  #reveal(id, quiet = false) {
    const place = this.#shown.findIndex(({ activity }) => activity.id === id);
    if (place < 0) return;
    const room = this.view.clientHeight ? this.view.clientHeight - HEAD : MOST * this.row;
    const top = place * this.row;
    const over = top < this.#scrolled;
    const wanted = quiet ? top - room / 2 : over ? top : top + this.row - room;
    if (over || top + this.row > this.#scrolled + room) this.#scrolled = Math.max(0, Math.min(wanted, this.#shown.length * this.row - room));
    this.view.scrollTop = this.#scrolled;
    this.#active = id;
    this.#draw();
    if (!quiet) this.rows.querySelector(`[data-id="${id}"]`).focus({ preventScroll: true });
  }

  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const at = this.#shown.findIndex(({ activity }) => activity.id === this.#active);
    const entry = this.#shown[at];
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: MOST - 1, PageUp: 1 - MOST, Home: -Infinity, End: Infinity }[event.key];
    const open = entry && parental(entry) && !this.#closed.has(entry.activity.id);
    if (!entry) return;
    if (step) this.#reveal(this.#shown[Math.max(0, Math.min(this.#shown.length - 1, at + step))].activity.id);
    else if (event.key === "ArrowRight" && parental(entry)) open ? this.#reveal(this.#shown[at + 1].activity.id) : this.#turn(entry.activity.id);
    else if (event.key === "ArrowLeft" && open) this.#turn(entry.activity.id);
    else if (event.key === "ArrowLeft" && entry.parent >= 0) this.#reveal(this.#entries[entry.parent].activity.id);
    else if (event.key === "Enter" && !event.target.closest("a, button")) go(["activities", entry.activity.id]);
    else if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
  }

  /** Bars of what goes on grow: each second, or where motion is not wanted each ten. */
  #grow() {
    this.#ticks += 1;
    if (document.hidden || (STILL.matches && this.#ticks % 10) || this.#entries.every(({ activity }) => activity.finished_at)) return;
    this.#measure();
    this.#draw();
  }
}

customElements.define("tq-tree", Tree);
