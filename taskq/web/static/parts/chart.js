/**
 * `<tq-chart>`: how many, as columns on top of each other (`stacked`), or how long, as lines over a
 * logarithmic axis; as wide as there is room. Set `label`, `stacked` and `write(value)`, then
 * `show({ at, step, lines, whole, off, table })`: `at` says when each step begins, `step` is seconds; a
 * line has a `name`, a `hue` (a CSS colour), `values` (null: a gap) and its `total`, that of `whole`,
 * the window in words; `off` are names of lines that are hidden; with `table` the numbers are shown.
 *
 * The last step is not over yet, and drawn lighter. The legend has the totals, or the values of the
 * step under the pointer or chosen by the arrow keys. Event `hide` (`detail`: a name): hide or show it.
 * What is shown again unchanged is not drawn again.
 */

import { h, listed, redraw, say, svg } from "../core/dom.js";
import { clock, short, zoneName } from "../core/format.js";
import { counts, durations, times } from "./scale.js";

const HEIGHT = 200;
const [TOP, RIGHT, BOTTOM, LEFT] = [8, 8, HEIGHT - 22, 56];
/** Pixels that a time on the axis needs. */
const ROOM = 72;

/** Colours for lines that mean no state, in order. */
export const HUES = ["accent", "completed", "pending", "scheduled", "retrying", "dead_letter", "processing", "failed", "edge", "cancelled"].map((each) => `var(--${each})`);

class Chart extends HTMLElement {
  label = "";
  stacked = false;
  write = short;
  #shown = { at: [], step: 60, lines: [], whole: "", off: [], table: false };
  #text = "";
  #times = [];
  #chosen = null;
  #width = 0;
  #values = new Map();
  #drawing = svg("svg", { role: "img", tabindex: "0", "aria-label": "Nothing yet", "data-focus": "drawing" });
  #mark = svg("rect", { class: "mark", y: TOP, height: BOTTOM - TOP });
  #plot = h("div", { class: "plot" }, this.#drawing);
  #time = h("time");
  #legend = h("div", { class: "lines" });
  #said = h("span", { class: "away", role: "status" });
  /** Tells the width, which is not asked for: that would make the browser lay out the page at each draw. */
  #watch = new ResizeObserver(([{ contentRect }]) => {
    if (this.#width === contentRect.width) return;
    this.#width = contentRect.width;
    this.#draw();
  });

  connectedCallback() {
    this.classList.add("chart");
    if (!this.firstChild) {
      this.append(this.#plot, h("div", { class: "legend" }, this.#time, this.#legend), this.#said);
      for (const kind of ["pointermove", "pointerdown"]) this.#drawing.addEventListener(kind, (event) => this.#choose(this.#stepAt(event)));
      this.#drawing.addEventListener("pointerleave", (event) => event.pointerType === "touch" || this.#choose(null));
      this.#drawing.addEventListener("keydown", (event) => this.#walk(event));
    }
    this.#watch.observe(this);
  }

  disconnectedCallback() {
    this.#watch.disconnect();
  }

  /** Draw these lines. */
  show(shown) {
    const text = JSON.stringify([shown, zoneName()]);
    if (text === this.#text) return;
    this.#text = text;
    this.#shown = shown;
    this.#times = shown.at.map((at) => Date.parse(at));
    this.#times.push((this.#times.at(-1) ?? 0) + shown.step * 1000);
    if (this.#chosen >= shown.at.length) this.#chosen = null;
    this.#draw();
  }

  #x(time) {
    const [from, to] = [this.#times[0], this.#times.at(-1)];
    return LEFT + ((time - from) / (to - from)) * (this.#width - LEFT - RIGHT);
  }

  #stepAt(event) {
    const x = event.clientX - this.#drawing.getBoundingClientRect().left;
    const { length } = this.#shown.at;
    return Math.max(0, Math.min(length - 1, Math.floor(((x - LEFT) / (this.#width - LEFT - RIGHT)) * length)));
  }

  #walk(event) {
    const last = this.#shown.at.length - 1;
    const now = this.#chosen ?? last + 1;
    const to = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last, Escape: null }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.#choose(to === null ? null : Math.max(0, Math.min(last, to)));
    const values = this.#seen.map(({ name }) => `${name} ${this.#values.get(name).textContent}`);
    say(this.#said, [this.#time.textContent, ...values].join(", "));
  }

  #choose(place) {
    this.#chosen = place;
    this.#tell();
  }

  get #seen() {
    return this.#shown.lines.filter(({ name }) => !this.#shown.off.includes(name));
  }

  #draw() {
    if (!this.#width || !this.#text) return;
    const layers = this.#layers();
    const values = layers.flatMap(({ high }) => high).filter((value) => value !== null);
    const none = !values.some(Boolean) && h("p", { class: "nothing" }, this.#shown.off.length && this.#shown.lines.length ? "All lines with something in this time are hidden." : "Nothing ended in this time.");
    if (none || this.#shown.table) redraw(this.#plot, none || this.#numbers());
    else {
      const scale = (this.stacked ? counts : durations)(values);
      const y = (value) => tenth(BOTTOM - scale.share(value) * (BOTTOM - TOP));
      this.#drawing.setAttribute("aria-label", this.#sentence(layers));
      this.#drawing.replaceChildren(this.#mark, ...this.#axes(scale.ticks, y), ...layers.flatMap((layer) => this.#layer(layer, y)));
      redraw(this.#plot, this.#drawing);
    }
    const entries = this.#shown.lines.map(({ name, hue }) => ({ name, hue, on: !this.#shown.off.includes(name) }));
    listed(this.#legend, entries, ({ name }) => name, (entry) => this.#entry(entry));
    this.#tell();
  }

  #layers() {
    const sums = this.#shown.at.map(() => 0);
    return this.#seen.map((line) => {
      const low = [...sums];
      if (this.stacked) line.values.forEach((value, place) => (sums[place] += value ?? 0));
      return { line, low, high: this.stacked ? [...sums] : line.values };
    });
  }

  #axes(ticks, y) {
    const grid = ticks.flatMap((value) => [
      svg("line", { class: "grid", x1: LEFT, x2: this.#width - RIGHT, y1: y(value), y2: y(value) }),
      svg("text", { x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, this.write(value)),
    ]);
    const [from, to] = [this.#times[0], this.#times.at(-1)];
    const ahead = zoneName() === "UTC" ? 0 : -new Date(to).getTimezoneOffset();
    const round = times(from, to, Math.max(1, Math.floor((this.#width - LEFT) / ROOM)), ahead).filter((time) => this.#x(time) > LEFT + 14 && this.#x(time) < this.#width - RIGHT);
    return [...grid, ...round.flatMap((time) => [
      svg("line", { class: "grid", x1: tenth(this.#x(time)), x2: tenth(this.#x(time)), y1: BOTTOM, y2: BOTTOM + 4 }),
      svg("text", { x: tenth(this.#x(time)), y: HEIGHT - 4, "text-anchor": "middle" }, hour(time)),
    ])];
  }

  #layer({ line, low, high }, y) {
    const last = this.#shown.at.length - 1;
    const parts = this.stacked ? [[0, last - 1, ""], [last, last, " now"]] : [[0, last - 1, ""], [Math.max(0, last - 1), last, " now"]];
    return parts.map(([from, to, now]) => {
      const places = Array.from({ length: to - from + 1 }, (_, place) => from + place);
      const d = this.stacked ? this.#columns(places, low, high, y) : this.#path(places, high, y);
      return svg("path", { class: (this.stacked ? "area" : "line") + now, d, style: { [this.stacked ? "fill" : "stroke"]: line.hue } });
    });
  }

  #columns(places, low, high, y) {
    const gap = this.#x(this.#times[1]) - LEFT > 5 ? 1 : 0;
    return places.map((at) => {
      if (low[at] === high[at]) return "";
      return `M${tenth(this.#x(this.#times[at]))},${y(high[at])}H${tenth(this.#x(this.#times[at + 1]) - gap)}V${y(low[at])}H${tenth(this.#x(this.#times[at]))}Z`;
    }).join("");
  }

  #path(places, values, y) {
    let pen = "M";
    return places.map((at) => {
      if (values[at] === null) {
        pen = "M";
        return "";
      }
      const point = `${pen}${tenth((this.#x(this.#times[at]) + this.#x(this.#times[at + 1])) / 2)},${y(values[at])}`;
      const alone = pen === "M" && (values[at + 1] ?? null) === null;
      pen = "L";
      return alone ? `${point}h0.1` : point;
    }).join("");
  }

  /** What the drawing shows, for who cannot see it. */
  #sentence(layers) {
    const { at, whole } = this.#shown;
    const { line, high } = layers.reduce((one, other) => (Math.max(...other.high) >= Math.max(...one.high) ? other : one));
    const most = Math.max(...high);
    const totals = layers.map((layer) => `${layer.line.name} ${this.write(layer.line.total)}`).join(", ");
    const peak = `${this.write(most)}${this.stacked ? "" : ` (${line.name})`} at ${hour(this.#times[high.indexOf(most)])}`;
    return `${this.label}, ${hour(at[0])} to ${hour(this.#times.at(-1))}. ${whole}: ${totals}. Most: ${peak}.`;
  }

  #numbers() {
    const { at } = this.#shown;
    const head = h("tr", {}, ["From", ...this.#seen.map(({ name }) => name)].map((name) => h("th", { scope: "col" }, name)));
    const row = (time, place) => h("tr", {}, h("th", { scope: "row" }, day(time)), this.#seen.map(({ values }) => h("td", { class: "number" }, this.#number(values[place]))));
    return h("div", { class: "view", tabindex: "0", role: "region", "aria-label": this.label, "data-focus": "numbers" }, h("table", { "aria-label": this.label }, h("thead", {}, head), h("tbody", {}, at.map(row).reverse())));
  }

  #number(value) {
    return (value ?? null) === null ? "–" : this.write(value);
  }

  #entry({ name, hue, on }) {
    const value = h("b");
    this.#values.set(name, value);
    const act = () => this.dispatchEvent(new CustomEvent("hide", { detail: name }));
    return h("button", { class: "quiet small", title: name, "aria-pressed": String(on), "data-focus": `line ${name}`, on: { click: act } }, h("i", { style: { "--hue": hue } }), h("span", {}, name), value);
  }

  /** The legend's numbers: of the step that is chosen, else of the whole. */
  #tell() {
    const { at, lines, whole } = this.#shown;
    const place = this.#chosen;
    this.#mark.toggleAttribute("hidden", place === null);
    for (const line of lines) if (this.#values.has(line.name)) say(this.#values.get(line.name), this.#number(place === null ? line.total : line.values[place]));
    if (place === null) return say(this.#time, whole);
    const from = this.#x(this.#times[place]);
    this.#mark.setAttribute("x", tenth(from));
    this.#mark.setAttribute("width", tenth(this.#x(this.#times[place + 1]) - from));
    say(this.#time, place === at.length - 1 ? `since ${day(at[place])}` : `${day(at[place])} to ${hour(this.#times[place + 1])}`);
  }
}

function tenth(number) {
  return Math.round(number * 10) / 10;
}

function day(time) {
  return clock(time).slice(0, -3);
}

function hour(time) {
  return day(time).slice(-5);
}

customElements.define("tq-chart", Chart);

/** A chart with these properties set. */
export function chart(properties) {
  return Object.assign(h("tq-chart"), properties);
}
