/**
 * `<tq-tree>`: a tree of activities, indented, each with a bar on one axis of time: pale while it
 * waited, full while it ran. Only the rows in view are drawn, so that a thousand cost no more than
 * thirty.
 */

import { link } from "../core/address.js";
import { h, redraw, svg } from "../core/dom.js";
import { duration } from "../core/format.js";
import { chip } from "./status.js";

const ROW = 32;
const MOST = 16;

class Tree extends HTMLElement {
  #nodes = [];
  #closed = new Set();

  connectedCallback() {
    this.#sheet ??= this.#made();
  }

  #sheet = null;

  #made() {
    this.rows = h("div", { class: "rows" });
    this.view = h("div", { class: "view", tabindex: "0", role: "group", "aria-label": "Tree", on: { scroll: () => this.#draw() } }, this.rows);
    this.append(this.view);
    return this.view;
  }

  /** Show these nodes, depth first; `current` is the id that one looks at. */
  show(nodes, current) {
    this.connectedCallback();
    this.#nodes = nodes;
    this.current = current;
    const times = nodes.flatMap(({ activity: a }) => [a.created_at, a.started_at, a.finished_at]).filter(Boolean).map(Date.parse);
    this.from = Math.min(...times);
    this.until = Math.max(...times, nodes.some(({ activity: a }) => !a.finished_at) ? Date.now() : 0, this.from + 1);
    this.#draw();
  }

  #draw() {
    const open = this.#open();
    this.rows.style.setProperty("height", `${open.length * ROW}px`);
    this.view.style.setProperty("height", `${Math.min(MOST, open.length) * ROW + 2}px`);
    const first = Math.max(0, Math.floor(this.view.scrollTop / ROW) - 4);
    redraw(this.rows, open.slice(first, first + MOST + 9).map((node, place) => this.#row(node, first + place)));
  }

  /** The nodes that are not below a closed one. */
  #open() {
    let below = Infinity;
    return this.#nodes.filter((node) => {
      if (node.level > below) return false;
      below = this.#closed.has(node.activity.id) ? node.level : Infinity;
      return true;
    });
  }

  #row(node, place) {
    const { activity, level } = node;
    const { id } = activity;
    const next = this.#nodes[this.#nodes.indexOf(node) + 1];
    const turn = () => {
      if (!this.#closed.delete(id)) this.#closed.add(id);
      this.#draw();
    };
    const open = !this.#closed.has(id);
    const parent = next && next.level > level;
    const fold = parent && h("button", { class: "quiet fold", "aria-expanded": String(open), "aria-label": `Children of ${activity.type}`, "data-focus": `fold ${id}`, on: { click: turn } }, open ? "▾" : "▸");
    const name = h("a", { href: link(["activities", id]), "data-focus": `node ${id}`, "aria-current": id === this.current && "true", title: activity.step ?? activity.type }, activity.step ?? activity.type);
    return h("div", { class: "node", style: { top: `${place * ROW}px` } },
      h("span", { class: "name", style: { "padding-left": `${Math.min(level, 12) * 14}px` } }, fold || h("span", { class: "fold" }), name),
      chip(activity.status), this.#bar(activity), h("small", {}, duration(activity.duration)));
  }

  #bar({ created_at: made, started_at: begun, finished_at: ended, status }) {
    const at = (iso) => (((iso ? Date.parse(iso) : this.until) - this.from) / (this.until - this.from)) * 100;
    const bar = (from, until, kind) => svg("rect", { x: `${from}%`, width: `${Math.max(0.4, until - from)}%`, y: 9, height: 10, rx: 2, class: kind });
    const wait = bar(at(made), at(begun ?? ended), "waits");
    return svg("svg", { class: `bar is-${status}`, "aria-hidden": "true" }, wait, begun && bar(at(begun), at(ended), "runs"));
  }
}

customElements.define("tq-tree", Tree);
