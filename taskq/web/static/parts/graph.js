/**
 * `<tq-graph>`: a tree of activities as boxes and lines, from left to right; on a line stands the
 * step that it was called as. One moves it by dragging or by the arrow keys, and zooms by buttons,
 * by `+`, `−` and `0`, or by the wheel with Ctrl.
 */

import { link } from "../core/address.js";
import { h, redraw, svg } from "../core/dom.js";
import { count, duration, words } from "../core/format.js";
import { BOX, laidOut } from "../core/layout.js";
import { outline, tally } from "../core/outline.js";
import { STATES } from "./status.js";

const LEAST = 0.1;
const MOST = 2.5;
/** Smaller than this, nothing can be read: the graph is first shown at least so large. */
const READABLE = 1;
const STEP = 60;
const MARGIN = 24;

class Graph extends HTMLElement {
  #entries = [];
  #text = "";
  #spread = new Set();
  #at = null;
  #drag = null;

  #make() {
    if (this.view) return;
    this.lines = svg("g", { class: "lines" });
    this.boxes = svg("g");
    this.moved = svg("g", {}, this.lines, this.boxes);
    this.view = svg("svg", { class: "graph", tabindex: "0", role: "group", "aria-label": "Graph: arrow keys move it, + and - zoom, 0 fits it in" }, this.moved);
    const on = {
      keydown: (event) => this.#key(event), wheel: (event) => this.#wheel(event), focusin: (event) => this.#focused(event.target),
      pointerdown: (event) => this.#down(event), pointermove: (event) => this.#move(event), click: (event) => this.#click(event),
      pointerup: () => this.#up(), pointercancel: () => this.#up(), dragstart: (event) => event.preventDefault(),
    };
    for (const [kind, act] of Object.entries(on)) this.view.addEventListener(kind, act, { capture: kind === "click", passive: false });
    const button = (text, label, act) => h("button", { class: "small", "aria-label": label, title: label, "data-focus": label, on: { click: act } }, text);
    this.zooms = [button("−", "Zoom out", () => this.#zoom(1 / 1.25)), button("+", "Zoom in", () => this.#zoom(1.25)), button("Fit", "Fit all in", () => this.#fit())];
    this.tools = h("div", { class: "row" });
    this.append(this.tools, this.view);
  }

  /** Show these nodes, depth first; `current` is the id that one looks at; `before` stands before its tools. */
  show(nodes, current, before = null) {
    this.#make();
    redraw(this.tools, before, h("span", { class: "grow" }), this.zooms);
    const text = JSON.stringify([nodes, current]);
    if (text === this.#text) return;
    this.#text = text;
    this.#entries = outline(nodes);
    this.current = current;
    this.#draw();
    if (!this.#at) requestAnimationFrame(() => this.#begin());
  }

  #draw() {
    this.plan = laidOut(this.#entries, this.current, this.#spread);
    redraw(this.lines, this.plan.lines.map(line));
    redraw(this.boxes, this.plan.boxes.map((box) => (box.more ? this.#more(box) : this.#box(box))));
  }

  #box({ entry: { activity }, x, y }) {
    const { id, type, status } = activity;
    const current = id === this.current;
    const ran = activity.duration === null ? "" : ` · ${duration(activity.duration)}`;
    const name = [activity.step, type, words(status)].filter(Boolean).join(", ");
    return svg("a", { href: link(["activities", id]), class: `member is-${status}`, transform: `translate(${x} ${y})`, "data-focus": `box ${id}`, "aria-label": name, "aria-current": current && "true" },
      svg("title", {}, name), frame(), svg("rect", { class: "state", x: 8, y: 10, width: 4, height: BOX.height - 20, rx: 2 }),
      label(type, 20, 20, 23), svg("text", { x: 20, y: 37, class: "soft" }, `${words(status)}${ran}`));
  }

  /** Several in one box: what they are, and a press shows them. */
  #more({ more, parent, x, y }) {
    const counts = tally(more);
    const states = STATES.filter((state) => counts[state]).map((state) => `${count(counts[state])} ${words(state)}`).join(", ");
    const spread = (event) => {
      if (event.key && event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      this.#spread.add(parent.activity.id);
      this.#draw();
      this.boxes.querySelector(`[data-focus="box ${more[0].activity.id}"]`)?.focus();
    };
    const text = `${count(more.length)} more`;
    return svg("g", { class: "member many", tabindex: "0", role: "button", transform: `translate(${x} ${y})`, "data-focus": `more ${parent.activity.id}`, "aria-label": `${text} below ${parent.activity.type}: ${states}`, on: { click: spread, keydown: spread } },
      svg("title", {}, states), frame(), svg("text", { x: 20, y: 20 }, text), label(states, 20, 37, 27, "soft"));
  }

  /** As it is first seen: all of it, if that can be read, else the middle of what one looks at. */
  #begin() {
    this.#fit();
    if (this.#at.scale >= READABLE) return;
    const box = this.plan.boxes.find(({ entry }) => entry?.activity.id === this.current) ?? this.plan.boxes[0];
    const { width, height } = this.view.getBoundingClientRect();
    const middle = (room, all, at) => (all * READABLE <= room - 2 * MARGIN ? (room - all * READABLE) / 2 : Math.min(MARGIN, room / 2 - at * READABLE));
    const [x, y] = [middle(width, this.plan.width, box.x + BOX.width / 2), middle(height, this.plan.height, box.y + BOX.height / 2)];
    this.#put({ scale: READABLE, x, y });
  }

  #fit() {
    const { width, height } = this.view.getBoundingClientRect();
    const scale = Math.max(LEAST, Math.min(1, (width - 2 * MARGIN) / this.plan.width, (height - 2 * MARGIN) / this.plan.height));
    this.#put({ scale, x: (width - this.plan.width * scale) / 2, y: (height - this.plan.height * scale) / 2 });
  }

  #put(at) {
    this.#at = at;
    this.moved.setAttribute("transform", `translate(${at.x} ${at.y}) scale(${at.scale})`);
  }

  /** Nearer or farther; what is at this point of the view, else in its middle, stays there. */
  #zoom(by, point = null) {
    const { width, height } = this.view.getBoundingClientRect();
    const [px, py] = point ?? [width / 2, height / 2];
    const { scale, x, y } = this.#at;
    const next = Math.min(MOST, Math.max(LEAST, scale * by));
    this.#put({ scale: next, x: px - ((px - x) * next) / scale, y: py - ((py - y) * next) / scale });
  }

  #pan(dx, dy) {
    this.#put({ ...this.#at, x: this.#at.x + dx, y: this.#at.y + dy });
  }

  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const acts = {
      ArrowLeft: () => this.#pan(STEP, 0), ArrowRight: () => this.#pan(-STEP, 0), ArrowUp: () => this.#pan(0, STEP), ArrowDown: () => this.#pan(0, -STEP),
      "+": () => this.#zoom(1.25), "=": () => this.#zoom(1.25), "-": () => this.#zoom(1 / 1.25), 0: () => this.#fit(),
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  }

  #wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const { left, top } = this.view.getBoundingClientRect();
    this.#zoom(Math.exp(-event.deltaY / 400), [event.clientX - left, event.clientY - top]);
  }

  #down(event) {
    if (event.button === 0) this.#drag = { x: event.clientX, y: event.clientY, far: false };
  }

  #move(event) {
    if (!this.#drag || !event.buttons) return;
    const [dx, dy] = [event.clientX - this.#drag.x, event.clientY - this.#drag.y];
    if (!this.#drag.far && Math.hypot(dx, dy) < 4) return;
    if (!this.#drag.far) this.view.setPointerCapture(event.pointerId);
    this.#drag = { x: event.clientX, y: event.clientY, far: true };
    this.view.classList.add("held");
    this.#pan(dx, dy);
  }

  #up() {
    this.view.classList.remove("held");
    if (!this.#drag?.far) this.#drag = null;
  }

  /** A press that has moved the graph opens nothing. */
  #click(event) {
    if (this.#drag?.far && event.detail) {
      event.preventDefault();
      event.stopPropagation();
    }
    this.#drag = null;
  }

  /** What has the focus is in view. */
  #focused(target) {
    const box = target.closest(".member")?.getBoundingClientRect();
    if (!box || this.#drag || !this.#at) return;
    const view = this.view.getBoundingClientRect();
    const shift = (from, until, least, most) => Math.max(0, least + MARGIN - from) - Math.max(0, until - most + MARGIN);
    this.#pan(shift(box.left, box.right, view.left, view.right), shift(box.top, box.bottom, view.top, view.bottom));
  }
}

function frame() {
  return svg("rect", { class: "paper", width: BOX.width, height: BOX.height, rx: 8 });
}

/** A text, cut off where there is no more room. */
function label(text, x, y, most, kind = null) {
  return svg("text", { x, y, class: kind }, text.length > most ? `${text.slice(0, most - 1)}…` : text);
}

function line({ from, to }) {
  const [x, y, until, low] = [from.x + BOX.width, from.y + BOX.height / 2, to.x, to.y + BOX.height / 2];
  const middle = (x + until) / 2;
  const step = to.entry?.activity.step;
  const named = step && svg("g", { class: "step" }, svg("title", {}, step), label(step, until - 8, low - 6, 15));
  return [svg("path", { d: `M${x} ${y}C${middle} ${y} ${middle} ${low} ${until} ${low}` }), named];
}

customElements.define("tq-graph", Graph);
