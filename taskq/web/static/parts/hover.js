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

/** Let a table of activities have cards, until `signal` ends; answers what shows that of the current row. */
export function hoverCards(table, signal) {
  const card = h("aside", { class: "hover", role: "tooltip", id: "hover", hidden: true });
  let waiting = 0;
  let wanted = null;

  const leave = () => {
    clearTimeout(waiting);
    wanted = null;
    card.hidden = true;
  };
  const later = (act, wait) => {
    clearTimeout(waiting);
    waiting = setTimeout(act, wait);
  };
  const show = async (row) => {
    const item = table.at(row);
    if (!item || document.querySelector("dialog[open], details.menu[open]")) return;
    wanted = item.id;
    const known = await read(item).catch(() => null);
    if (!known || wanted !== item.id || signal.aborted || !row.isConnected) return;
    card.replaceChildren(...content(known));
    card.hidden = false;
    placed(card, row.getBoundingClientRect());
  };
  const over = (event) => {
    if (event.pointerType !== "mouse") return;
    const row = event.target.closest("tbody tr");
    if (row && table.at(row)?.id === wanted) clearTimeout(waiting);
    else if (row) later(() => show(row), card.hidden ? RESTS : LEAVES);
  };

  const on = (target, kind, act) => target.addEventListener(kind, act, { signal });
  on(table, "pointerover", over);
  on(table, "pointerleave", () => later(leave, LEAVES));
  on(card, "pointerenter", () => clearTimeout(waiting));
  on(card, "pointerleave", () => later(leave, LEAVES));
  on(document, "keydown", (event) => event.key !== "i" && leave());
  on(document, "pointerdown", (event) => card.contains(event.target) || leave());
  on(document, "scroll", leave);
  signal.addEventListener("abort", () => {
    leave();
    card.remove();
  });
  document.body.append(card);
  return () => {
    const row = table.current && document.activeElement.closest("tr");
    if (!card.hidden) return leave();
    row?.querySelector("a.open")?.setAttribute("aria-describedby", card.id);
    if (row) show(row);
  };
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

/** Below the row, or above it where there is more room. */
function placed(card, row) {
  const gap = 4;
  const { width, height } = card.getBoundingClientRect();
  const below = row.bottom + gap + height <= innerHeight || row.top < innerHeight - row.bottom;
  const top = below ? row.bottom + gap : row.top - gap - height;
  card.style.setProperty("top", `${Math.max(gap, Math.min(top, innerHeight - height - gap))}px`);
  card.style.setProperty("left", `${Math.max(gap, Math.min(row.left + 48, innerWidth - width - gap))}px`);
}
