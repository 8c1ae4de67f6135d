/** Numbers, times and JSON as people read them. Pure, but for the zone that one prefers. */

import { preferences } from "./preferences.js";

const COUNT = new Intl.NumberFormat("en");
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** A count: `1,204`; one that was stopped at `cap`: `10,000+`. */
export function count(number, cap = Infinity) {
  return number >= cap ? `${COUNT.format(cap)}+` : COUNT.format(number);
}

/** A count for little room: `12.4K`. */
export function short(number) {
  return SHORT.format(number);
}

/** Seconds: `340 ms`, `2.5 s`, `3 m 20 s`, `4 h 5 m`, `2 d 3 h`; null: a dash. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 0.0095) return `${trimmed(seconds * 1000, 1)} ms`;
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 59.95) return `${trimmed(seconds, seconds < 10 ? 2 : 1)} s`;
  const units = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];
  let rest = Math.round(seconds);
  const first = units.findIndex(([, size]) => rest >= size);
  return units.slice(first, first + 2).map(([unit, size]) => {
    const number = Math.floor(rest / size);
    rest -= number * size;
    return number ? `${number} ${unit}` : "";
  }).join(" ").trim();
}

const UNITS = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86400, w: 604800 };

/** The seconds that are meant by `90`, `90s`, `5m`, `1h30m` or `2d`, as on the command line; NaN for another text. */
export function secondsOf(text) {
  const written = text.replace(/\s+/g, "").toLowerCase();
  if (!/^(\d+(\.\d+)?(ms|[smhdw]))+$/.test(written)) return written ? Number(written) : NaN;
  return [...written.matchAll(/([\d.]+)(ms|[smhdw])/g)].reduce((sum, [, number, unit]) => sum + number * UNITS[unit], 0);
}

function trimmed(number, digits) {
  return String(Number(number.toFixed(digits)));
}

/** How long ago, or how far ahead, a time is: `12 s ago`, `in 3 m`. */
export function ago(iso, now = Date.now()) {
  const seconds = (now - Date.parse(iso)) / 1000;
  const size = Math.abs(seconds);
  if (size < 1) return "now";
  const [unit, length] = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]].find(([, each]) => size >= each);
  const text = `${Math.floor(size / length)} ${unit}`;
  return seconds > 0 ? `${text} ago` : `in ${text}`;
}

const PARTS = { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };

const MADE = new Map();

/** Kept, since making one takes far longer than writing a time with it. */
function formatter(zone, more) {
  const name = [zone, ...Object.keys(more)].join();
  if (!MADE.has(name)) MADE.set(name, new Intl.DateTimeFormat("en-CA", { ...PARTS, ...more, ...(zone === "local" ? {} : { timeZone: zone }) }));
  return MADE.get(name);
}

function written(iso, zone, more = {}) {
  const made = formatter(zone, more).formatToParts(new Date(iso));
  const of = Object.fromEntries(made.map((each) => [each.type, each.value]));
  const fraction = of.fractionalSecond ? `.${of.fractionalSecond}` : "";
  return [`${of.year}-${of.month}-${of.day}`, `${of.hour}:${of.minute}:${of.second}${fraction}`, of.timeZoneName ?? ""];
}

/** A time by the preferred zone: the hour alone for today, else with its day. */
export function clock(iso, zone = zoneName()) {
  const [day, hour] = written(iso, zone);
  const [today] = written(new Date().toISOString(), zone);
  return day === today ? hour : `${day} ${hour}`;
}

/** A time in full, in the reader's zone and in UTC: what is shown on hover. */
export function exact(iso) {
  const more = { fractionalSecondDigits: 3, timeZoneName: "short" };
  const mine = written(iso, "local", more).join(" ");
  const utc = written(iso, "UTC", more).join(" ");
  return mine === utc ? utc : `${mine}\n${utc}`;
}

/** The zone in which times are shown. */
export function zoneName() {
  return preferences.get("zone") === "utc" ? "UTC" : "local";
}

/** An id's last digits, `…b46fb2e2`; its first ones are those of the time, and so alike. */
export function brief(id) {
  return id ? `…${id.slice(-8)}` : "–";
}

/** `1 activity`, `2 activities`. */
export function plural(number, one, many = `${one}s`) {
  return `${COUNT.format(number)} ${number === 1 ? one : many}`;
}

/** A state or event in words: `dead_letter` is `dead letter`. */
export function words(name) {
  return name.replaceAll("_", " ");
}

/**
 * JSON text with line breaks. It is never read as numbers: digits stay as they are, however many.
 */
export function pretty(text) {
  let made = "";
  let depth = 0;
  const tokens = text.match(/"(?:[^"\\]|\\.)*"?|[{}[\],:]|[^\s{}[\],:"]+/g) ?? [];
  tokens.forEach((token, place) => {
    const closes = token === "}" || token === "]";
    if (closes) depth -= 1;
    const empty = closes && (tokens[place - 1] === "{" || tokens[place - 1] === "[");
    if (closes && !empty) made += line(depth);
    made += token === ":" ? ": " : token;
    if (token === "{" || token === "[") {
      depth += 1;
      const next = tokens[place + 1];
      if (next !== "}" && next !== "]") made += line(depth);
    } else if (token === ",") made += line(depth);
  });
  return made;
}

function line(depth) {
  return `\n${"  ".repeat(depth)}`;
}
