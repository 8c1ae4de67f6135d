/**
 * The fields of a dialog, from what is said of each:
 *
 * {name, label, type, value, hint, required, options, list, quick, more, rows, max}
 *
 * `type` is one of input's, or `area`, `json` (an area for a text of JSON, which is checked before
 * it is sent), `select` (`options`: [[value, label]]), `check`. `list` has values that are suggested
 * while one types; `quick` buttons that fill the field in: [[label, () => value]]. Fields with
 * `more` are folded away under "More", unless one of them has a value.
 */

import { h } from "../core/dom.js";
import { flaw } from "../core/jsontext.js";

/** What was typed is wrong; `field` is the name of its field. */
export class Wrong extends Error {
  constructor(field, sentence) {
    super(sentence);
    this.field = field;
  }
}

/** The fields as they are shown; `nodes` to show, `inputs` by name. */
export function drawn(fields) {
  const inputs = new Map(fields.map((field) => [field.name, input(field)]));
  const shown = (more) => fields.filter((field) => Boolean(field.more) === more).map((field) => labelled(field, inputs.get(field.name)));
  const rest = shown(true);
  const open = fields.some(({ more, value }) => more && value !== undefined && value !== null && value !== "" && value !== false);
  const folded = rest.length > 0 && h("details", { class: "more", open }, h("summary", {}, "More"), h("div", { class: "fields" }, rest));
  return { nodes: [shown(false), folded], inputs };
}

/** What is in the fields, by name. Raises Wrong for a text that should be JSON and is none. */
export function filled(fields, inputs) {
  return Object.fromEntries(fields.map(({ name, type }) => {
    const { checked, value } = inputs.get(name);
    const wrong = type === "json" ? flaw(value) : null;
    if (wrong) throw new Wrong(name, wrong);
    return [name, type === "check" ? checked : value];
  }));
}

/** The field that an error is about, as it or its sentence says; else null. */
export function named(error, fields) {
  const said = ({ name }) => new RegExp(`(^|[^\\w])${name}([^\\w]|$)`).test(error.message);
  return error.field ?? fields.find(said)?.name ?? null;
}

function input({ name, type = "text", value = "", required = false, options = [], list = null, rows = 8, max = null }) {
  const id = `field-${name}`;
  if (type === "select") {
    const made = h("select", { id }, options.map(([is, label]) => h("option", { value: is }, label)));
    made.value = value;
    return made;
  }
  if (type === "area" || type === "json") return h("textarea", { id, rows, required, spellcheck: "false", value });
  if (type === "check") return h("input", { id, type: "checkbox", checked: value === true });
  return h("input", { id, type, value, required, maxlength: max, list: list && `list-${name}`, autocomplete: "off", spellcheck: "false", step: type === "datetime-local" && "1" });
}

function labelled({ name, label, type, hint, list, quick }, made) {
  const words = h("label", { for: `field-${name}` }, label);
  const told = hint && h("small", { id: `hint-${name}` }, hint);
  if (told) made.setAttribute("aria-describedby", `hint-${name}`);
  if (type === "check") return h("div", { class: "field check" }, made, words, told);
  const fill = (value) => {
    made.value = value();
    made.focus();
  };
  const button = ([text, value]) => h("button", { type: "button", class: "small", on: { click: () => fill(value) } }, text);
  return h("div", { class: "field" }, words, made, list && h("datalist", { id: `list-${name}` }, list.map((each) => h("option", { value: each }))),
    quick && h("div", { class: "row" }, quick.map(button)), told);
}
