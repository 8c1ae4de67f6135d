/**
 * Dialogs: what asks before something is commanded, and what explains. They are the browser's own,
 * so that the focus stays inside, and comes back.
 */

import { h, redraw } from "../core/dom.js";
import { newId, post } from "../core/api.js";
import { drawn, filled, named } from "./fields.js";
import { toast } from "./toast.js";

/** Show something until it is closed. */
export function show(title, ...content) {
  const close = h("button", { type: "submit" }, "Close");
  const form = h("form", { method: "dialog" }, h("h2", {}, title), content, h("footer", {}, close));
  opened(h("dialog", { "aria-label": title }, form));
}

/**
 * Ask for values, then `act(values)`; resolves to what that gives, or to undefined if it was closed.
 * Where it fails, the dialog stays open and says why, at the field if one is named; nothing that was
 * typed is lost, and no click beside the dialog closes it. Ctrl-Enter sends it from an area too.
 *
 * `text` explains (a string or nodes), `go` is on the button; `danger` makes it red, and the focus
 * is then on the way back. What `fields` may say stands in fields.js.
 */
export function ask({ title, text = null, fields = [], go, danger = false, act }) {
  return new Promise((resolve) => {
    const { nodes, inputs } = drawn(fields);
    const problem = h("div", { id: "dialog-problem", role: "alert" });
    const back = h("button", { type: "button", class: "quiet", autofocus: danger, on: { click: () => dialog.close() } }, "Back");
    const submit = h("button", { type: "submit", class: danger ? "danger" : "primary" }, go);
    const intro = typeof text === "string" ? h("p", {}, text) : text;
    const form = h("form", {}, h("h2", {}, title), intro, nodes, problem, h("footer", {}, back, submit));
    const dialog = h("dialog", { "aria-label": title }, form);
    const unfold = ({ target }) => target.closest("details")?.setAttribute("open", "");
    let answer;
    const send = async () => {
      form.setAttribute("aria-busy", "true");
      try {
        answer = (await act(filled(fields, inputs))) ?? null;
        dialog.close();
      } catch (error) {
        redraw(problem, h("p", { class: "problem" }, error.message));
        blame(inputs, named(error, fields), unfold);
      }
      form.removeAttribute("aria-busy");
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!form.hasAttribute("aria-busy")) send();
    });
    form.addEventListener("invalid", unfold, true);
    form.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.target.closest("button")) return;
      event.preventDefault();
      form.requestSubmit(submit);
    });
    dialog.addEventListener("close", () => resolve(answer));
    opened(dialog);
  });
}

/** Mark the field that is wrong, and lead to it. */
function blame(inputs, wrong, unfold) {
  for (const [name, each] of inputs) {
    const told = (each.getAttribute("aria-describedby") ?? "").split(" ").filter((id) => id !== "dialog-problem");
    each.setAttribute("aria-invalid", String(name === wrong));
    each.setAttribute("aria-describedby", [...told, name === wrong && "dialog-problem"].filter(Boolean).join(" "));
  }
  const field = inputs.get(wrong);
  if (!field) return;
  unfold({ target: field });
  field.focus();
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
