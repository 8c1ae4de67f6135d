/** What can be done to all that failed of one cause; also with one argument changed. */

import { get } from "../core/api.js";
import { link } from "../core/address.js";
import { h, redraw } from "../core/dom.js";
import { count, plural } from "../core/format.js";
import { command } from "./dialog.js";

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** The filter that finds them. */
export function filterOf(fingerprint) {
  return `status:dead_letter,failed cause:${fingerprint}`;
}

/** The members of a JSON object's text, each as it is written: no digit is lost. */
export function members(text) {
  const found = new Map();
  let depth = 0;
  let name = null;
  for (const token of text.match(TOKEN) ?? []) {
    const closes = token === "}" || token === "]";
    if (closes) depth -= 1;
    if (depth === 1 && token === ",") name = null;
    else if (depth === 1 && name === null && token !== "{") name = JSON.parse(token);
    else if (name !== null && depth > 0 && !(token === ":" && !found.has(name))) found.set(name, (found.get(name) ?? "") + token);
    else if (name !== null && depth > 0) found.set(name, "");
    if (token === "{" || token === "[") depth += 1;
  }
  return found;
}

/**
 * Ask which argument shall be what in all of a cause, and retry them so. `samples` are some of
 * them ({id, arguments}), which show before and after. Resolves to the answer, or undefined.
 */
export async function mend({ fingerprint, type }, samples) {
  const filter = filterOf(fingerprint);
  const [preview, { items }] = await Promise.all([get("bulk/preview", { action: "retry", q: filter }), get("types")]);
  const takes = items.find(({ name }) => name === type)?.task?.parameters ?? [];
  const stored = samples.map((each) => members(each.arguments));
  const names = [...new Set([...stored.flatMap((each) => [...each.keys()]), ...takes.map(({ name }) => name)])];
  const shown = h("div", { class: "samples", "aria-live": "polite" });
  const before = (name) => stored.find((each) => each.has(name))?.get(name) ?? "null";
  const given = command("bulk", {
    title: `Change an argument and retry ${plural(preview.count, "activity", "activities")}`, go: `Retry ${count(preview.count)}`, text: shown,
    fields: [
      { name: "argument", label: "Argument", type: "select", value: names[0], options: names.map((each) => [each, each]) },
      { name: "value", label: "Its new value, as JSON", value: before(names[0]), required: true, hint: "A text stands in double quotes. One that it does not fit is skipped." },
      { name: "rate", label: "At most so many a second", type: "number", hint: "Empty: as fast as it goes." },
    ],
    body: ({ argument, value, rate }) => {
      JSON.parse(value);
      const base = { action: "retry", filter, ...(preview.exact ? { expected: preview.count } : {}), ...(rate ? { rate: Number(rate) } : {}) };
      return `${JSON.stringify(base).slice(1, -1)},"changes":{${JSON.stringify(argument)}:${value}}`;
    },
    done: () => `The workers do it; see ${link("bulk")}`,
  });
  const form = shown.closest("form");
  const [argument, value] = ["argument", "value"].map((name) => form.querySelector(`#field-${name}`));
  const draw = () => redraw(shown, stored.slice(0, 3).map((each) => line(argument.value, each.get(argument.value), value.value)));
  argument.addEventListener("change", () => {
    value.value = before(argument.value);
    draw();
  });
  value.addEventListener("input", draw);
  draw();
  return given;
}

function line(name, before = "not given", after = "") {
  let wrong = "";
  try {
    JSON.parse(after);
  } catch {
    wrong = "no JSON yet";
  }
  return h("p", {}, h("b", {}, name), " ", h("code", {}, before), " → ", wrong ? h("span", { class: "problem" }, wrong) : h("code", {}, after));
}
