/** What can be done to all that failed of one cause; also with one argument changed. */

import { get } from "../core/api.js";
import { h, redraw } from "../core/dom.js";
import { count, plural } from "../core/format.js";
import { flaw, flawOfArguments, members } from "../core/jsontext.js";
import { term } from "../core/term.js";
import { begun, ordered, RATE } from "./bulk.js";
import { command } from "./dialog.js";
import { Wrong } from "./fields.js";

/** The filter that finds them. */
export function filterOf(fingerprint) {
  return `status:dead_letter,failed ${term("cause", fingerprint)}`;
}

/** The values by name of a JSON object's text, each as it is written: no digit is lost. */
function valuesOf(text) {
  return new Map(members(text).map(({ name, from, until }) => [JSON.parse(name), text.slice(from, until)]));
}

/**
 * Ask which argument shall be what in all of a cause, and retry them so. `samples` are some of
 * them ({id, arguments}), which show before and after. Resolves to the answer, or undefined.
 */
export async function mend({ fingerprint, type }, samples) {
  const filter = filterOf(fingerprint);
  const [preview, { items }] = await Promise.all([get("bulk/preview", { action: "retry", q: filter }), get("types")]);
  const takes = items.find(({ name }) => name === type)?.task?.parameters ?? [];
  const stored = samples.filter((each) => !flawOfArguments(each.arguments)).map((each) => valuesOf(each.arguments));
  const names = [...new Set([...stored.flatMap((each) => [...each.keys()]), ...takes.map(({ name }) => name)])];
  const shown = h("div", { class: "samples", "aria-live": "polite" });
  const before = (name) => stored.find((each) => each.has(name))?.get(name) ?? "null";
  const given = command("bulk", {
    title: `Change an argument and retry ${plural(preview.count, "activity", "activities")}`, go: `Retry ${count(preview.count)}`, text: shown,
    fields: [
      { name: "argument", label: "Argument", type: "select", value: names[0], options: names.map((each) => [each, each]) },
      { name: "value", label: "Its new value, as JSON", value: before(names[0]), required: true, hint: "A text stands in double quotes. One that it does not fit is skipped." },
      RATE,
    ],
    body: ({ argument, value, rate }) => {
      if (flaw(value)) throw new Wrong("value", flaw(value));
      const base = ordered("retry", { filter }, preview, { rate });
      return `${JSON.stringify(base).slice(1, -1)},"changes":{${JSON.stringify(argument)}:${value}}`;
    },
    done: begun,
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
  if (before === after.trim()) return h("p", {}, h("b", {}, name), " ", h("code", {}, before), " stays: nothing changes");
  return h("p", {}, h("b", {}, name), " ", h("code", {}, before), " → ", flaw(after) ? h("span", { class: "problem" }, "no JSON yet") : h("code", {}, after));
}
