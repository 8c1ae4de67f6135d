/**
 * Dialogs: what asks before something is commanded, and what explains. They are the browser's own,
 * so that the focus stays inside, and comes back.
 */

import { h, redraw } from "../core/dom.js";
import { newId, post } from "../core/api.js";
import { toast } from "./toast.js";

/** Show something until it is closed. */
export function show(title, ...content) {
  const close = h("button", { type: "submit" }, "Close");
  const form = h("form", { method: "dialog" }, h("h2", {}, title), content, h("footer", {}, close));
  opened(h("dialog", { "aria-label": title }, form));
}

/**
 * Ask for values, then `act(values)`; resolves to what that gives, or to undefined if it was closed.
 * Where it fails, the dialog stays open and says why, and nothing that was typed is lost.
 *
 * `text` explains (a string or nodes), `go` is on the button, `danger` makes it red. Fields:
 * {name, label, type, value, hint, required, options: [[value, label]], rows, max}; `type` is one of
 * input's, or `area`, `select`, `check`.
 */
export function ask({ title, text = null, fields = [], go, danger = false, act }) {
  return new Promise((resolve) => {
    const problem = h("div", { role: "alert" });
    const inputs = new Map(fields.map((field) => [field.name, input(field)]));
    const cancel = h("button", { type: "button", class: "quiet", on: { click: () => dialog.close() } }, "Back");
    const submit = h("button", { type: "submit", class: danger ? "danger" : "primary" }, go);
    const body = fields.map((field) => labelled(field, inputs.get(field.name)));
    const intro = typeof text === "string" ? h("p", {}, text) : text;
    const form = h("form", {}, h("h2", {}, title), intro, body, problem, h("footer", {}, cancel, submit));
    const dialog = h("dialog", { "aria-label": title }, form);
    let answer;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const values = Object.fromEntries([...inputs].map(([name, each]) => [name, each.type === "checkbox" ? each.checked : each.value]));
      submit.disabled = true;
      try {
        answer = (await act(values)) ?? null;
        dialog.close();
      } catch (error) {
        redraw(problem, h("p", { class: "problem" }, error.message));
      }
      submit.disabled = false;
    });
    dialog.addEventListener("close", () => resolve(answer));
    opened(dialog);
  });
}

/**
 * Ask why, then give a command: POST to `path` what `body(values)` makes. The command has one id for
 * as long as the dialog is open, so that pressing the button again does nothing twice. `done(answer)`
 * is the sentence to say afterwards. Resolves to the answer, or undefined. A raw `body` is a string
 * of JSON members (`"arguments": {…}`), for numbers that must not be rounded.
 */
export function command(path, { done, body = () => ({}), fields = [], ...more }) {
  const id = newId();
  const reason = { name: "reason", label: "Reason", hint: "For the record; may be empty.", max: 1000 };
  const act = async ({ reason: why, ...values }) => {
    const given = body(values);
    const base = { reason: why, command_id: id };
    const raw = typeof given === "string";
    const answer = await post(path, raw ? `${JSON.stringify(base).slice(0, -1)},${given}}` : { ...base, ...given });
    toast(done(answer));
    return answer;
  };
  return ask({ ...more, fields: [...fields, reason], act });
}

function opened(dialog) {
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function input({ name, type = "text", value = "", required = false, options = [], rows = 8, max = null }) {
  const id = `field-${name}`;
  if (type === "select") {
    const made = h("select", { id }, options.map(([is, label]) => h("option", { value: is }, label)));
    made.value = value;
    return made;
  }
  if (type === "area") return h("textarea", { id, rows, required, spellcheck: "false", value });
  if (type === "check") return h("input", { id, type: "checkbox", checked: value === true });
  return h("input", { id, type, value, required, maxlength: max, autocomplete: "off", spellcheck: "false" });
}

function labelled({ name, label, type, hint }, made) {
  const words = h("label", { for: `field-${name}` }, label);
  const told = hint && h("small", { id: `hint-${name}` }, hint);
  if (told) made.setAttribute("aria-describedby", `hint-${name}`);
  return h("div", { class: type === "check" ? "field check" : "field" }, type === "check" ? [made, words] : [words, made], told);
}
