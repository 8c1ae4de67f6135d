/**
 * Throughput, wait and run time: three charts of answers of `api/series`, and what steers them. In the
 * address: `window`, `by`, `hide` (names of lines that are not shown), `as` (`table`).
 */

import { amend, decoded } from "../core/address.js";
import { h, redraw } from "../core/dom.js";
import { duration, plural, words } from "../core/format.js";
import { chart, HUES } from "./chart.js";
import { BAD, choice, panel } from "./status.js";

const WINDOWS = [["5m", "5 min", "the last 5 minutes"], ["1h", "1 h", "the last hour"], ["24h", "24 h", "the last 24 hours"]];
const BYS = { none: "By outcome", type: "By type", queue: "By queue" };
const FORMS = [["", "Chart"], ["table", "Table"]];
const OUTCOMES = ["completed", "retrying", "failed", "dead_letter", "timed_out", "crashed", "cancelled"];
const PERCENTILES = { p50: "var(--completed)", p95: "var(--pending)", p99: "var(--failed)" };

/** Lines of a chart at the most, before they are summed up. */
export const TOP = 8;

/** The charts of a page; `bys` are what its lines may be of: `none`, `type`, `queue`. */
export class Trends {
  #page;
  #bys;
  #share = h("small");
  #explained = { wait: h("small"), run: h("small") };
  #flow = this.#chart({ label: "Attempts that ended", stacked: true });
  #times = { wait: this.#chart({ label: "Wait, from ready to started", write: duration }), run: this.#chart({ label: "Run time, from started to ended", write: duration }) };

  constructor(page, bys) {
    this.#page = page;
    this.#bys = bys;
    this.panels = [
      panel("Throughput", this.#share, this.#flow),
      h("div", { class: "two" }, panel("Wait", this.#explained.wait, this.#times.wait), panel("Run time", this.#explained.run, this.#times.run)),
    ];
  }

  /** What is asked for, by the address: `window` and `by`. */
  get view() {
    const { window, by } = this.#page.params;
    return { window: WINDOWS.some(([name]) => name === window) ? window : "1h", by: this.#bys.includes(by) ? by : "none" };
  }

  /** The window in words. */
  get span() {
    return WINDOWS.find(([name]) => name === this.view.window)[2];
  }

  /** What `listed` needs for the buttons: make each by `control`. */
  get controls() {
    const { window, by } = this.view;
    return [
      { name: "Lines", options: this.#bys.map((name) => [name, BYS[name]]), value: by, key: "by" },
      { name: "Window", options: WINDOWS, value: window, key: "window" },
      { name: "Shown as", options: FORMS, value: this.#page.params.as === "table" ? "table" : "", key: "as" },
    ];
  }

  /** Show an answer of `api/series`. */
  show({ at, step, lines }) {
    const { by } = this.view;
    const shown = { at, step, whole: `in ${this.span}`, off: this.#off, table: this.#page.params.as === "table" };
    this.#flow.show({ ...shown, lines: flows(by, at, lines) });
    for (const name of ["wait", "run"]) this.#times[name].show({ ...shown, lines: latencies(by, name, lines) });
    const said = by === "none" ? "median, 95th and 99th percentile" : `95th percentile (p95), by ${by}`;
    redraw(this.#explained.wait, `from ready to started; ${said}`);
    redraw(this.#explained.run, `from started to ended; ${said}`);
    redraw(this.#share, failing(lines), step === 60 ? "each column is a minute" : `each column is ${step / 60} minutes`);
  }

  get #off() {
    return (this.#page.params.hide ?? "").split(",").filter(Boolean).map(decoded);
  }

  #chart(properties) {
    const made = chart(properties);
    made.addEventListener("hide", ({ detail }) => {
      const off = this.#off.includes(detail) ? this.#off.filter((name) => name !== detail) : [...this.#off, detail];
      amend({ hide: off.map(encodeURIComponent).join(",") });
    });
    return made;
  }
}

/** One of the buttons of `controls`. */
export function control({ name, key, options, value }) {
  return choice(name, options, value, (to) => amend({ [key]: to, ...(key === "by" ? { hide: "" } : {}) }));
}

function flows(by, at, lines) {
  if (by === "none") {
    const [{ outcomes, total }] = lines;
    const rank = (name) => (OUTCOMES.indexOf(name) + OUTCOMES.length + 1) % (OUTCOMES.length + 1);
    return Object.keys(outcomes).sort((one, other) => rank(one) - rank(other)).map((name) => ({
      name: words(name), hue: `var(--${name}, var(--retrying))`, values: outcomes[name], total: total[name],
    }));
  }
  const sum = ({ outcomes }) => at.map((_, place) => Object.values(outcomes).reduce((all, each) => all + each[place], 0));
  return lines.map((line, place) => ({ ...named(line, place), values: sum(line), total: summed(line.total) }));
}

function latencies(by, of, lines) {
  if (by !== "none") return lines.map((line, place) => ({ ...named(line, place), values: line[of].p95, total: line[`${of}_total`].p95 }));
  const [line] = lines;
  return Object.entries(PERCENTILES).map(([name, hue]) => ({ name, hue, values: line[of][name], total: line[`${of}_total`][name] }));
}

function named({ name, others }, place) {
  return { name: others ? "all others" : name, hue: HUES[others ? 9 : place] };
}

function summed(total, names = Object.keys(total)) {
  return names.reduce((sum, name) => sum + (total[name] ?? 0), 0);
}

function failing(lines) {
  const [all, bad, again] = [undefined, BAD, ["retrying"]].map((names) => lines.reduce((sum, { total }) => sum + summed(total, names), 0));
  const share = (number) => `${number && number / all < 0.001 ? "< 0.1" : Math.round((1000 * number) / all) / 10} %`;
  return all ? [h("b", { class: bad ? "is-failed" : "" }, share(bad)), ` failed, ${share(again)} tried again, of ${plural(all, "attempt")} · `] : "";
}
