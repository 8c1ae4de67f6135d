/** Making an activity by hand: a call of one of the app's tasks. */

import { get } from "../core/api.js";
import { h, say } from "../core/dom.js";
import { pretty, secondsOf, words } from "../core/format.js";
import { flawOfArguments } from "../core/jsontext.js";
import { command, show } from "./dialog.js";
import { Wrong } from "./fields.js";
import { signature, skeleton } from "./signature.js";
import { activityLink, LEVELS } from "./status.js";

const DUPLICATES = ["allow_reuse", "allow_reuse_on_failure", "no_reuse"];

/**
 * Ask what to enqueue; `like` has what stands in the form already, by the names of the API: `type`,
 * `arguments` (a text of JSON, which is sent as it is), `queue`, `priority`, `tags`, `correlation_id` …
 * Resolves to the answer, or undefined.
 */
export async function enqueue(like = {}) {
  const { items } = await get("types");
  const tasks = new Map(items.filter(({ task }) => task).map(({ name, task }) => [name, task]));
  const title = like.type ? `Enqueue ${like.type}` : "Enqueue";
  const gone = like.type && !tasks.has(like.type);
  if (gone || !tasks.size) return show(title, missing(gone ? `task ${like.type}` : "task"));
  const type = like.type ?? [...tasks.keys()][0];
  const asked = command("enqueue", {
    title, go: "Enqueue", fields: fields({ ...like, type }, tasks), body,
    done: ({ created, id }) => [created ? "Enqueued: " : "Already there: ", activityLink(id)],
  });
  follow(tasks);
  return asked;
}

function missing(what) {
  return h("p", {}, `This console's app has no ${what}. Start it with the app that has: `, h("code", {}, "taskq web app:taskq"));
}

function fields(like, tasks) {
  const tags = Object.entries(like.tags ?? {}).map((pair) => pair.join("=")).join("\n");
  const queues = [...new Set([...tasks.values()].map(({ queue }) => queue))].sort();
  const more = (name, label, rest = {}) => ({ name, label, value: like[name] ?? "", more: true, ...rest });
  return [
    { name: "type", label: "Type", type: "select", value: like.type, options: [...tasks.keys()].map((each) => [each, each]) },
    { name: "arguments", label: "Arguments", type: "area", value: like.arguments ? pretty(like.arguments) : skeleton(tasks.get(like.type)), hint: signature(tasks.get(like.type)) },
    more("queue", "Queue", { list: queues, hint: "Empty: that of the task" }),
    more("priority", "Priority", { type: "select", options: [["", "that of the task"], ...LEVELS] }),
    more("run_at", "Not before", { type: "datetime-local", hint: "In your own zone" }),
    more("delay", "Or after", { hint: LENGTH }),
    more("timeout", "Timeout", { hint: LENGTH }),
    more("max_retries", "Retries at most", { hint: like.max_retries === null && "The one before has no limit; empty is what the task has." }),
    more("idempotency_key", "Idempotency key"),
    more("on_duplicate", "If the key is taken", { type: "select", options: [["", "return existing, the default"], ...DUPLICATES.map((name) => [name, words(name)])] }),
    more("tags", "Tags", { type: "area", rows: 3, value: tags, hint: "name=value, one a line" }),
    more("correlation_id", "Correlation"),
    more("source", "Source"),
    more("user_id", "User"),
  ];
}

/** Arguments that nobody has touched, and what is said of them, follow the type. */
function follow(tasks) {
  const at = (name) => document.getElementById(name);
  const type = at("field-type");
  let begun = skeleton(tasks.get(type.value));
  type.addEventListener("change", () => {
    const task = tasks.get(type.value);
    const text = at("field-arguments");
    if (text.value === begun) text.value = skeleton(task);
    begun = skeleton(task);
    say(at("hint-arguments"), signature(task));
  });
}

/** The form as members of a JSON object; what is empty is left out. */
function body({ arguments: text, tags, run_at: when, ...rest }) {
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value.trim()).map(([name, value]) => [name, NUMBERS[name] ? number(name, value) : value]));
  if (when) given.run_at = new Date(when).toISOString();
  if (tags.trim()) given.tags = Object.fromEntries(tags.split("\n").filter((line) => line.trim()).map(tag));
  const flaw = flawOfArguments(text);
  if (flaw) throw new Wrong("arguments", flaw);
  return `${JSON.stringify(given).slice(1, -1)},"arguments":${text}`;
}

const LENGTH = "Seconds, or 90s, 5m, 1h30m, 2d";
const NUMBERS = { delay: "Or after", timeout: "Timeout", max_retries: "Retries at most" };

function number(name, value) {
  const length = name !== "max_retries";
  const read = length ? secondsOf(value) : Number(value);
  if (Number.isFinite(read)) return read;
  throw new Wrong(name, `${NUMBERS[name]}: “${value}” is no ${length ? "length of time, such as 90, 5m or 1h30m" : "number"}.`);
}

function tag(line) {
  const [name, ...value] = line.split("=");
  if (!value.length || !name.trim()) throw new Wrong("tags", `Tags: “${line.trim()}” is not name=value.`);
  return [name.trim(), value.join("=").trim()];
}
