/** The columns of the list of activities: all that there are, those that one has chosen, the menu. */

import { link } from "../core/address.js";
import { h, redraw } from "../core/dom.js";
import { brief, duration } from "../core/format.js";
import { preferences } from "../core/preferences.js";
import { term } from "../core/term.js";
import { reserved } from "./acts.js";
import { menu } from "./menu.js";
import { activityLink, chip } from "./status.js";
import { time } from "./time.js";

const FIRST = "activity";
const USUAL = [FIRST, "state", "queue", "priority", "created", "waited", "duration", "attempts", "error"];

const COLUMNS = [
  { name: FIRST, label: "Activity", cell: (item) => [h("b", { class: "name", title: nameOf(item) }, nameOf(item)), h("small", { class: "id" }, brief(item.id))] },
  { name: "state", label: "State", cell: state },
  { name: "queue", label: "Queue", cell: (item) => [h("span", { class: "name", title: item.queue }, item.queue), reserved(item) && h("small", {}, "reserved")] },
  { name: "priority", label: "Priority", cell: (item) => item.priority.toLowerCase() },
  { name: "created", label: "Created", sort: { newest: "descending", oldest: "ascending" }, cell: (item) => time(item.created_at) },
  { name: "ready", label: "Ready", sort: { due: "ascending" }, cell: (item) => time(item.ready_at) },
  { name: "started", label: "Started", sort: { started: "ascending" }, cell: (item) => time(item.started_at) },
  { name: "ended", label: "Ended", cell: (item) => time(item.finished_at) },
  { name: "worker", label: "Worker", cell: (item) => asked("worker", item.worker, brief(item.worker)) },
  { name: "waited", label: "Waited", number: true, cell: waited },
  { name: "duration", label: "Duration", number: true, cell: (item) => (item.status === "processing" ? time(item.started_at, "since") : duration(item.duration)) },
  { name: "attempts", label: "Attempts", number: true, cell: (item) => `${item.attempts} / ${item.max_attempts ?? "∞"}` },
  { name: "error", label: "Error", cell: ({ error }) => error && h("small", { class: "cut", title: error.message }, error.type, error.message && `: ${error.message}`) },
  { name: "tags", label: "Tags", cell: ({ tags }) => Object.entries(tags).map(([key, value]) => h("small", { class: "cut" }, `${key}: ${value}`)) },
  { name: "correlation", label: "Correlation", cell: (item) => asked("corr", item.correlation_id) },
  { name: "source", label: "Source", cell: (item) => asked("source", item.source) },
  { name: "user", label: "User", cell: (item) => asked("user", item.user_id) },
  { name: "parent", label: "Parent", cell: (item) => activityLink(item.parent_id) },
  { name: "root", label: "Root", cell: (item) => (item.parent_id ? activityLink(item.root_id) : "–") },
];

/** What an activity is called in lists. */
export function nameOf(item) {
  return reserved(item) ? "Bulk command" : item.step ?? item.type;
}

function state({ status, progress, cancel_requested: stops }) {
  const far = progress?.total ? `${Math.round((100 * progress.done) / progress.total)} %` : null;
  return [chip(status), (far || stops) && h("small", {}, [far, stops && status === "processing" && "being cancelled"].filter(Boolean).join(", "))];
}

function waited({ status, ready_at: ready, started_at: started }) {
  if (status === "pending") return time(ready, "since");
  return started && Date.parse(started) >= Date.parse(ready) ? duration((Date.parse(started) - Date.parse(ready)) / 1000) : "–";
}

/** A value that leads to all that have it. */
function asked(field, value, text = value) {
  if (!value) return "–";
  return h("a", { class: "cut", href: link("activities", { q: term(field, value) }), title: value }, text);
}

/** The columns that one has chosen in this browser; the first is always there. */
export function chosen() {
  const names = preferences.get("columns").split(",").filter(Boolean);
  const wanted = new Set(names.length ? [FIRST, ...names] : USUAL);
  return COLUMNS.filter(({ name }) => wanted.has(name));
}

/** The menu to choose them; who shows them listens to the preferences. */
export function columnsMenu() {
  const list = h("fieldset", {});
  const choose = () => {
    const names = [...list.querySelectorAll("input:checked")].map(({ value }) => value);
    preferences.set("columns", String(names) === String(USUAL) ? "" : names.join());
  };
  const draw = () => {
    const now = new Set(chosen().map(({ name }) => name));
    const box = ({ name, label }) =>
      h("label", {}, h("input", { type: "checkbox", value: name, checked: now.has(name), disabled: name === FIRST, "data-focus": `column ${name}`, on: { change: choose } }), label);
    redraw(list, h("legend", { class: "away" }, "Columns"), COLUMNS.map(box));
  };
  const usual = h("button", { class: "small", on: { click: () => { preferences.set("columns", ""); draw(); } } }, "The usual ones");
  draw();
  return menu("Columns", list, usual);
}
