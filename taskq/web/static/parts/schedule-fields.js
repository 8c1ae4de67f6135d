/** The fields of the form of a schedule, and what can be read from them. */

import { h } from "../core/dom.js";
import { secondsOf } from "../core/format.js";
import { LEVELS } from "./status.js";

/** The zone of this browser. */
export const HERE = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
const UNITS = [["1", "seconds"], ["60", "minutes"], ["3600", "hours"], ["86400", "days"]];
const CATCH_UP = [["latest", "run the latest of them, once"], ["none", "leave out what is more than 10 s late"], ["all", "run all of them"]];
const OVERLAP = [["allow", "run the next all the same"], ["skip", "leave the next out"], ["queue", "let the next wait until it has ended"]];

/** All of them, by name: those of `item`, else with what `like` has; `begun` are arguments to begin with. */
export function inputs(item, like, names, begun) {
  const input = (name, value, more = {}) => h("input", { id: `schedule-${name}`, value: value ?? "", autocomplete: "off", spellcheck: "false", ...more });
  const select = (name, options, value, more = {}) => Object.assign(h("select", { id: `schedule-${name}`, ...more }, options.map(([is, label]) => h("option", { value: is }, label))), { value });
  const [number, unit] = apart(like.every ?? 3600);
  return {
    name: input("name", item?.name, { maxlength: 200, required: true, disabled: item !== null, "aria-describedby": "schedule-nameless" }),
    type: select("type", names.map((each) => [each, each]), like.type ?? names[0] ?? ""),
    arguments: h("textarea", { id: "schedule-arguments", rows: 6, spellcheck: "false", "aria-describedby": "schedule-takes", value: like.arguments ?? (item ? "{}" : begun) }),
    cron: input("cron", like.cron ?? "0 9 * * *", { class: "id" }),
    tz: input("tz", like.cron ? like.timezone : HERE, { list: "zones" }),
    number: input("number", number),
    unit: select("unit", UNITS, unit, { "aria-label": "Unit" }),
    queue: input("queue", like.queue, { placeholder: "the task's own" }),
    priority: select("priority", [["", "the task's own"], ...LEVELS], like.priority ?? ""),
    catch_up: select("catch_up", CATCH_UP, like.catch_up ?? "latest"),
    overlap: select("overlap", OVERLAP, like.overlap ?? "allow"),
    jitter: input("jitter", like.jitter ?? 0, { "aria-describedby": "schedule-uneven" }),
    reason: input("reason", "", { maxlength: 1000 }),
  };
}

/** Zones that are suggested. */
export function zones() {
  return h("datalist", { id: "zones" }, ["UTC", ...Intl.supportedValuesOf("timeZone")].map((each) => h("option", { value: each })));
}

/** A field under its name: an input, with a unit beside it or what is wrong with it below. */
export function field(label, ...inputs) {
  const joined = inputs.length > 1 && inputs[1].tagName === "SELECT";
  return h("div", { class: "field" }, h("label", { for: inputs[0].id }, label), joined ? h("div", { class: "row joined" }, inputs) : inputs);
}

/** So many units, or a length of time with units of its own; in seconds. */
export function length(text, unit) {
  const number = Number(text);
  return text.trim() && Number.isFinite(number) ? number * Number(unit) : secondsOf(text);
}

/** Seconds as a number of the largest unit that fits. */
function apart(seconds) {
  const [unit] = [...UNITS].reverse().find(([size]) => seconds % Number(size) === 0) ?? UNITS[0];
  return [seconds / Number(unit), unit];
}
