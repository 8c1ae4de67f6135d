/** How queues and types fare: the columns that both tables have, and what all of them come to. */

import { h } from "../core/dom.js";
import { link } from "../core/address.js";
import { count, duration, plural, short, words } from "../core/format.js";
import { reserved } from "./acts.js";
import { pauseButton, pausedNote } from "./pause.js";
import { BAD, facts } from "./status.js";

/** So many of the last hour's attempts failed that somebody should look. */
const ALARMING = 0.05;

/** Where there is nothing to tell; a card leaves it out. */
const none = () => h("span", { class: "none" }, "–");

function sum(outcomes, counts = () => true) {
  return Object.entries(outcomes).reduce((all, [name, each]) => all + (counts(name) ? each : 0), 0);
}

/** How many attempts ended in the last hour. */
export function ended({ rates }) {
  return sum(rates.outcomes);
}

/** What share of them failed for good; null where none ended. */
export function failing(item) {
  const all = ended(item);
  return all ? sum(item.rates.outcomes, (name) => BAD.includes(name)) / all : null;
}

/** A share in words, in red where it is alarming. */
export function percent(share) {
  if (!share) return share === 0 ? "0 %" : none();
  const text = share < 0.01 ? "< 1 %" : `${Math.round(share * 100)} %`;
  return share < ALARMING ? text : h("b", { class: "is-failed" }, text);
}

/** How many a minute. */
export function pace(item) {
  const each = (60 * ended(item)) / item.rates.seconds;
  return `${each > 0 && each < 0.1 ? "< 0.1" : short(each)} a minute`;
}

const hue = (outcome) => `var(--${outcome}, var(--retrying))`;
const parted = ({ outcomes: all }) => Object.entries(all).filter(([, number]) => number > 0);

/** How the last hour's attempts ended: a bar, and for whoever does not see it the numbers. */
export function outcomes({ name, rates }) {
  const shown = parted(rates);
  const said = shown.map(([outcome, number]) => `${count(number)} ${words(outcome)}`).join(", ") || "no attempt ended";
  const bar = ([outcome, number]) => h("i", { style: { "--hue": hue(outcome), "flex-grow": String(number) } });
  return h("span", { class: "shares", role: "img", title: said, "aria-label": `Last hour of ${name}: ${said}` }, shown.map(bar));
}

/** The same with a line that says what each colour is. */
export function endings(item) {
  const key = ([outcome, number]) => h("span", {}, h("i", { style: { "--hue": hue(outcome) } }), `${count(number)} ${words(outcome)}`);
  return [outcomes(item), h("p", { class: "ends" }, parted(item.rates).map(key))];
}

/** A count of a state, which leads to its activities; a dash for none. */
export function held(kind, item, status) {
  const number = item.by_status[status] ?? 0;
  if (!number) return none();
  const text = count(number, item.cap);
  const href = link("activities", { [kind.slice(0, -1)]: item.name, status });
  return h("a", { href, "aria-label": `${text} ${words(status)} of ${item.name}` }, text);
}

/** Who serves it; nobody is said plainly where something waits. */
export function servers(kind, item) {
  if (!item.workers) return h("span", { class: item.unserved.length ? "is-failed" : "soft" }, "none");
  const href = link("workers", { [kind.slice(0, -1)]: item.name });
  return h("a", { href, "aria-label": `${plural(item.workers, "worker")} of ${item.name}` }, String(item.workers));
}

/** What hinders it: a pause, and what nobody serves. */
function hindered(kind, item) {
  const where = (gap) => (kind === "queues" ? ` of ${gap.type}` : ` in ${gap.queue}`);
  const gaps = item.unserved.map((gap) => h("small", {}, h("span", { class: "is-failed" }, `${count(gap.waiting)} unserved`), where(gap)));
  return [reserved({ queue: item.name }) && h("small", {}, "carries out bulk commands"), pausedNote(item.paused), gaps];
}

/** The percentiles, in words. */
function spread({ p50, p95, p99 }) {
  return p50 === null ? "–" : `p50 ${duration(p50)}, p95 ${duration(p95)}, p99 ${duration(p99)}`;
}

/** The median, and below it who took longer. */
export function times(of) {
  return of.p50 === null ? "–" : [duration(of.p50), h("small", {}, `p95 ${duration(of.p95)}`), h("small", {}, `p99 ${duration(of.p99)}`)];
}

function latency(of) {
  return of.p50 === null ? none() : h("span", { title: spread(of) }, duration(of.p50), h("small", {}, `p95 ${duration(of.p95)}`));
}

/** Columns; `kind` is `queues` or `types`, `after()` is called when something was commanded. */
export function columns(kind, after) {
  const number = (label, by, cell) => ({ label, number: true, by, cell });
  const status = (item, name) => item.by_status[name] ?? 0;
  const name = (item) => h("a", { class: "open", href: link([kind, item.name]) }, h("b", {}, item.name));
  const oldest = ({ oldest_pending: age }) => age !== null && h("small", {}, `oldest ${duration(Math.max(1, Math.round(age)))}`);
  const retrying = (item) => status(item, "retrying") > 0 && h("small", {}, held(kind, item, "retrying"), " retrying");
  const scheduled = (item) => (status(item, "scheduled") > 0 || !status(item, "retrying")) && held(kind, item, "scheduled");
  return [
    { label: kind === "queues" ? "Queue" : "Type", by: (item) => item.name, cell: (item) => [name(item), hindered(kind, item)] },
    number("Pending", (item) => status(item, "pending"), (item) => [held(kind, item, "pending"), oldest(item)]),
    number("Running", (item) => status(item, "processing"), (item) => held(kind, item, "processing")),
    number("Later", (item) => status(item, "scheduled") + status(item, "retrying"), (item) => [scheduled(item), retrying(item)]),
    number("Last hour", ended, (item) => (ended(item) ? [h("span", { class: "hour" }, outcomes(item), count(ended(item))), h("small", {}, pace(item))] : none())),
    number("Failed", (item) => failing(item) ?? -1, (item) => percent(failing(item))),
    number("Waited", (item) => item.rates.wait.p50 ?? -1, (item) => latency(item.rates.wait)),
    number("Ran", (item) => item.rates.run.p50 ?? -1, (item) => latency(item.rates.run)),
    number("Workers", (item) => item.workers, (item) => servers(kind, item)),
    { label: "", name: "acts", number: true, cell: (item) => pauseButton(kind, item, after) },
  ];
}

/** All of them together. */
export function totals(kind, items) {
  const all = (status) => items.reduce((number, item) => number + (item.by_status[status] ?? 0), 0);
  const most = Math.min(...items.map((item) => item.cap));
  const told = (status) => (items.some((item) => item.by_status[status] >= most) ? `${count(all(status))}+` : count(all(status)));
  const merged = {};
  for (const { rates } of items) for (const [name, number] of Object.entries(rates.outcomes)) merged[name] = (merged[name] ?? 0) + number;
  const whole = { name: `all ${kind}`, rates: { outcomes: merged, seconds: items[0].rates.seconds } };
  const some = (number, hue) => h("span", { class: number ? hue : "soft" }, count(number));
  return h("section", { class: "panel totals", "aria-label": `All ${kind}` }, facts([
    [kind === "queues" ? "Queues" : "Types", count(items.length)],
    ["Paused", some(items.filter((item) => item.paused).length, "is-pending")],
    ["Unserved", some(items.filter((item) => item.unserved.length).length, "is-failed")],
    ["Pending", told("pending")], ["Running", told("processing")],
    ["Attempts in the last hour", [count(ended(whole)), h("small", {}, pace(whole))]],
    ["Failed of them", percent(failing(whole))],
  ]), endings(whole));
}
