/**
 * `<tq-chart>`: lines or stacked areas over time, as wide as there is room. Set `label` and
 * `stacked`, `write(value)` for its numbers, then `show(at, step, lines)`: `at` says when each step
 * begins, `step` is seconds, a line has a `name`, a `hue` (a CSS colour) and `values` (null: a gap).
 * The last step is not over yet, and drawn lighter. The legend has the values of the step under the
 * pointer, or of the one that the arrow keys have chosen; its buttons hide lines.
 */

import { h, redraw, say, svg } from "../core/dom.js";
import { clock, short } from "../core/format.js";

const HEIGHT = 200;
const LEFT = 52;
const BOTTOM = HEIGHT - 22;

/** Colours for lines that mean no state, in order. */
export const HUES = ["accent", "completed", "pending", "scheduled", "retrying", "dead_letter", "processing", "failed", "edge", "cancelled"].map((each) => `var(--${each})`);

/** The next of 1, 2, 5, 10, 20, 50 …, so that an axis seldom changes. */
export function ceiling(value) {
  const size = 10 ** Math.floor(Math.log10(value || 1));
  return [1, 2, 5, 10].find((each) => each * size >= value) * size;
}

class Chart extends HTMLElement {
  label = "";
  stacked = false;
  write = short;
  #at = [];
  #lines = [];
  #hidden = new Set();
  #chosen = null;
  #width = 0;
  #drawing = svg("svg", { role: "img", tabindex: "0", "aria-label": "Nothing yet" });
  #mark = svg("line", { class: "grid", y1: 8, y2: BOTTOM });
  #legend = h("div", { class: "legend" });
  #time = h("time");
  #watch = new ResizeObserver(() => this.#width !== this.clientWidth && this.#draw());

  connectedCallback() {
    this.classList.add("chart");
    if (!this.firstChild) {
      this.append(this.#drawing, this.#legend);
      this.#drawing.addEventListener("pointermove", (event) => this.#choose(this.#stepAt(event)));
      this.#drawing.addEventListener("pointerleave", () => this.#choose(null));
      this.#drawing.addEventListener("keydown", (event) => this.#walk(event));
    }
    this.#watch.observe(this);
  }

  disconnectedCallback() {
    this.#watch.disconnect();
  }

  /** Draw these lines. */
  show(at, step, lines) {
    this.#at = at;
    this.#lines = lines;
    if (this.#chosen >= at.length) this.#chosen = null;
    this.#draw();
  }

  #x(place) {
    return LEFT + (place / Math.max(1, this.#at.length - 1)) * (this.#width - LEFT - 8);
  }

  #stepAt(event) {
    const x = event.clientX - this.#drawing.getBoundingClientRect().left;
    const share = (x - LEFT) / (this.#width - LEFT - 8);
    return Math.max(0, Math.min(this.#at.length - 1, Math.round(share * (this.#at.length - 1))));
  }

  #walk(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const last = this.#at.length - 1;
    this.#choose(Math.max(0, Math.min(last, (this.#chosen ?? last + 1) + by)));
  }

  #choose(place) {
    this.#chosen = place;
    this.#drawLegend();
  }

  #draw() {
    this.#width = this.clientWidth;
    if (!this.#width) return;
    const seen = this.#lines.filter(({ name }) => !this.#hidden.has(name));
    const sums = this.#at.map(() => 0);
    const layers = seen.map((line) => {
      const low = [...sums];
      if (this.stacked) line.values.forEach((value, place) => (sums[place] += value ?? 0));
      return { line, low, high: this.stacked ? [...sums] : line.values };
    });
    const most = ceiling(Math.max(0, ...layers.flatMap(({ high }) => high)));
    const y = (value) => BOTTOM - (value / most) * (BOTTOM - 8);
    this.#drawing.setAttribute("aria-label", `${this.label}; the axis goes to ${this.write(most)}`);
    this.#drawing.replaceChildren(...this.#axes(most, y), ...layers.flatMap((layer) => this.#layer(layer, y)), this.#mark);
    this.#drawLegend();
  }

  #axes(most, y) {
    const grid = [0, most / 2, most].flatMap((value) => [
      svg("line", { class: "grid", x1: LEFT, x2: this.#width - 8, y1: y(value), y2: y(value) }),
      svg("text", { x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, this.write(value)),
    ]);
    const number = Math.max(1, Math.floor(this.#width / 140));
    const every = Math.max(1, Math.ceil(this.#at.length / number));
    const times = this.#at.flatMap((at, place) => {
      if (place % every || this.#x(place) > this.#width - 40) return [];
      return svg("text", { x: this.#x(place), y: HEIGHT - 4, "text-anchor": place ? "middle" : "start" }, hour(at));
    });
    return [...grid, ...times];
  }

  #layer({ line, low, high }, y) {
    const last = this.#at.length - 1;
    const parts = [[0, Math.max(0, last - 1), ""], [Math.max(0, last - 1), last, " now"]];
    return parts.map(([from, to, now]) => {
      const places = this.#at.map((_, place) => place).slice(from, to + 1);
      const d = this.stacked
        ? `M${[...places.map((at) => `${this.#x(at)},${y(high[at])}`), ...places.reverse().map((at) => `${this.#x(at)},${y(low[at])}`)].join("L")}Z`
        : this.#path(places, high, y);
      const paint = this.stacked ? { fill: line.hue } : { stroke: line.hue };
      return svg("path", { class: (this.stacked ? "area" : "line") + now, d, style: paint });
    });
  }

  #path(places, values, y) {
    let pen = "M";
    return places.map((at) => {
      if (values[at] === null) {
        pen = "M";
        return "";
      }
      const point = `${pen}${this.#x(at)},${y(values[at])}`;
      const alone = pen === "M" && (values[at + 1] ?? null) === null;
      pen = "L";
      return alone ? `${point}h2` : point;
    }).join("");
  }

  #drawLegend() {
    const last = this.#at.length - 1;
    const place = this.#chosen ?? last;
    this.#mark.toggleAttribute("hidden", this.#chosen === null);
    for (const end of ["x1", "x2"]) this.#mark.setAttribute(end, this.#x(place));
    say(this.#time, this.#at.length ? hour(this.#at[place]) + (place === last ? " (now)" : "") : "");
    const entry = ({ name, hue, values }) => {
      const act = () => {
        if (!this.#hidden.delete(name)) this.#hidden.add(name);
        this.#draw();
      };
      const value = values[place] ?? null;
      const about = { class: "quiet small", title: name, "aria-pressed": String(!this.#hidden.has(name)), "data-focus": `line ${name}`, on: { click: act } };
      return h("button", about, h("i", { style: { "--hue": hue } }), h("span", {}, name), h("b", {}, value === null ? "–" : this.write(value)));
    };
    redraw(this.#legend, this.#time, this.#lines.map(entry));
  }
}

function hour(iso) {
  return clock(iso).replace(/:\d\d$/, "");
}

customElements.define("tq-chart", Chart);

/** A chart with these properties set. */
export function chart(properties) {
  return Object.assign(h("tq-chart"), properties);
}
