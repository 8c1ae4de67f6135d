/** What a chart shows of an answer of `api/series`. */

import { words } from "../core/format.js";
import { HUES } from "./chart.js";

const PERCENTILES = { p50: "var(--completed)", p95: "var(--pending)", p99: "var(--failed)" };

/** How many attempts ended: by outcome; or in each line, where there is one of each type or queue. */
export function flows({ by, lines, at }) {
  if (by === "none") {
    return Object.entries(lines[0].outcomes).map(([name, values]) => ({ name: words(name), hue: `var(--${name}, var(--retrying))`, values }));
  }
  const sum = ({ outcomes }) => at.map((_, place) => Object.values(outcomes).reduce((all, each) => all + each[place], 0));
  return lines.map((line, place) => ({ name: line.others ? "all others" : line.name, hue: HUES[line.others ? 9 : place], values: sum(line) }));
}

/** The percentiles of how long something took. */
export function percentiles(of) {
  return Object.entries(PERCENTILES).map(([name, hue]) => ({ name, hue, values: of[name] }));
}
