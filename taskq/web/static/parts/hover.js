/**
 * A card with more about an activity, beside its row: after the mouse has rested there, or at the
 * key `i`. It stays while the mouse is on it; Escape closes it. Not for fingers, nor below a dialog.
 */

import { get, part } from "../core/api.js";
import { h } from "../core/dom.js";
import { brief, duration, pretty } from "../core/format.js";
import { nameOf } from "./columns.js";
import { chip, facts } from "./status.js";
import { time } from "./time.js";

const RESTS = 600;
const LEAVES = 200;
const LINES = 12;
const LONGEST = 1200;
/** What was read, by id; an activity whose row has changed is read anew. */
const KNOWN = new Map();
const MOST = 50;

class Card {
  #element = h("aside", { class: "hover", role: "tooltip", id: "hover", hidden: true });
  #table;
  #waiting = 0;
  #wanted = null;
  #described = null;
  #mouse = 0;

  constructor(table, signal) {
    this.#table = table;
    const on = (target, kind, act) => target.addEventListener(kind, act, { signal });
    const away = () => this.#later(() => this.#leave(), LEAVES);
    on(table, "pointerover", (event) => event.pointerType === "mouse" && this.#over(event.target.closest("tbody tr")));
    on(table, "pointermove", (event) => (this.#mouse = event.clientX));
    on(table, "pointerleave", away);
    on(this.#element, "pointerenter", () => clearTimeout(this.#waiting));
    on(this.#element, "pointerleave", away);
    on(document, "keydown", (event) => event.key !== "i" && this.#leave());
    on(document, "pointerdown", (event) => this.#element.contains(event.target) || this.#leave());
    on(document, "scroll", () => this.#element.hidden || this.#leave());
    signal.addEventListener("abort", () => {
      this.#leave();
      this.#element.remove();
    });
    document.body.append(this.#element);
  }

  /** Show it for the row that has the focus, or leave. */
  turn() {
    if (!this.#element.hidden) return this.#leave();
    const row = this.#table.current && document.activeElement.closest("tr");
    if (!row) return;
    this.#described = row.querySelector("a.open");
    this.#described?.setAttribute("aria-describedby", this.#element.id);
    this.#show(row);
  }

  #over(row) {
    if (!row) return;
    if (this.#table.at(row)?.id === this.#wanted) clearTimeout(this.#waiting);
    else this.#later(() => this.#show(row, this.#mouse), this.#element.hidden ? RESTS : LEAVES);
  }

  #later(act, wait) {
    clearTimeout(this.#waiting);
    this.#waiting = setTimeout(act, wait);
  }

  #leave() {
    clearTimeout(this.#waiting);
    this.#wanted = null;
    this.#element.hidden = true;
    this.#described?.removeAttribute("aria-describedby");
  }

  async #show(row, x = null) {
    const item = this.#table.at(row);
    if (!item || document.querySelector("dialog[open], details.menu[open]")) return;
    this.#wanted = item.id;
    const known = await read(item).catch(() => null);
    const now = this.#table.querySelector(`tr[data-key="${item.id}"]`); // it may have been drawn anew meanwhile
    if (!known || !now || this.#wanted !== item.id) return;
    this.#element.replaceChildren(...content(known));
    this.#element.hidden = false;
    placed(this.#element, now.getBoundingClientRect(), x);
  }
}

/** Let a table of activities have cards, until `signal` ends; answers what shows that of the current row. */
export function hoverCards(table, signal) {
  const card = new Card(table, signal);
  return () => card.turn();
}

async function read(item) {
  const row = JSON.stringify(item);
  const known = KNOWN.get(item.id);
  if (known?.row === row) return known.activity;
  const activity = await get(`activities/${part(item.id)}`);
  KNOWN.delete(item.id);
  KNOWN.set(item.id, { row, activity });
  if (KNOWN.size > MOST) KNOWN.delete(KNOWN.keys().next().value);
  return activity;
}

function content(activity) {
  const { tags, error, result, hidden } = activity;
  const when = [
    ["Created", time(activity.created_at)],
    ["Started", activity.started_at && time(activity.started_at)],
    ["Ended", activity.finished_at && time(activity.finished_at)],
    ["Duration", activity.duration === null ? null : duration(activity.duration)],
    ["Worker", activity.worker && (activity.worker_name ?? brief(activity.worker))],
    ["Progress", activity.progress?.note],
    ["Tags", Object.entries(tags).map(([key, value]) => `${key}: ${value}`).join(", ")],
  ];
  return [
    h("header", { class: "row" }, h("b", {}, nameOf(activity)), chip(activity.status), h("span", { class: "id soft" }, brief(activity.id))),
    facts(when),
    ...(hidden ? [h("p", { class: "soft" }, "Arguments and result are hidden from your role.")] : [text("Arguments", activity.arguments), text("Result", result)]),
    error && h("section", {}, h("h3", {}, "Error"), h("pre", { class: "problem" }, cut(error.message ? `${error.type}: ${error.message}` : error.type))),
  ].filter(Boolean);
}

function text(label, json) {
  return json === null ? null : h("section", {}, h("h3", {}, label), h("pre", {}, cut(pretty(json.slice(0, LONGEST)), json.length > LONGEST)));
}

function cut(whole, more = false) {
  const lines = whole.slice(0, LONGEST).split("\n");
  return lines.slice(0, LINES).join("\n") + (more || lines.length > LINES || whole.length > LONGEST ? "\n…" : "");
}

/** Below the row, or above it where there is more room; beside the mouse, whose way down stays free. */
function placed(card, row, x) {
  const gap = 4;
  const { width, height } = card.getBoundingClientRect();
  const below = row.bottom + gap + height <= innerHeight || row.top < innerHeight - row.bottom;
  const top = below ? row.bottom + gap : row.top - gap - height;
  card.style.setProperty("top", `${Math.max(gap, Math.min(top, innerHeight - height - gap))}px`);
  const beside = x === null ? row.left + 48 : x + 24 + width + gap <= innerWidth ? x + 24 : x - 24 - width;
  card.style.setProperty("left", `${Math.max(gap, Math.min(beside, innerWidth - width - gap))}px`);
}
