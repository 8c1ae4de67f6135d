/** Who did what to what, when and why. What comes meanwhile is told by a button, and moves nothing. */

import { amend, isId, link } from "../core/address.js";
import { get } from "../core/api.js";
import { h, redraw } from "../core/dom.js";
import { count, words } from "../core/format.js";
import { live } from "../core/live.js";
import { Page } from "../core/page.js";
import { json } from "../parts/json.js";
import { activityLink, empty } from "../parts/status.js";
import { table } from "../parts/table.js";
import { time } from "../parts/time.js";
import { turning } from "../parts/walking.js";

const SIZE = 50;
const GAP = 3000;
/** Activities of one entry that are shown, the rest is in its detail. */
const SHOWN = 3;

class Audit extends Page {
  title = "Audit";
  #latest = null;
  #looking = 0;

  start() {
    this.table = table({ label: this.title, columns: COLUMNS, key: (item) => item.number });
    this.news = h("div", { class: "row", role: "status" });
    this.more = h("div", { class: "row" });
    this.head.append(this.news);
    for (const kind of ["activities", "stats", "control"]) this.listen(live, kind, () => (this.#looking ||= setTimeout(() => this.#look(), GAP)));
    this.signal.addEventListener("abort", () => clearTimeout(this.#looking));
  }

  read(signal) {
    return get("audit", { limit: SIZE, before: this.params.before }, signal);
  }

  draw({ items, next }) {
    if (!this.params.before) this.#latest = items[0]?.number ?? 0;
    redraw(this.news);
    redraw(this.body, items.length ? this.table : empty("No command is on record.", h("p", {}, "Whatever somebody retries, cancels, pauses or deletes is written down here, with the reason.")), this.more);
    redraw(this.more, turning(this.params, "before", next));
    this.table.show(items);
  }

  /** Whether there is something newer than what is shown. */
  async #look() {
    try {
      const { items: [newest] } = await get("audit", { limit: 1 }, this.signal);
      this.#looking = 0;
      if (!newest || this.#latest === null || newest.number <= this.#latest) return;
      const act = () => (this.params.before ? amend({ before: "" }, {}) : this.refresh());
      redraw(this.news, h("button", { class: "small", "data-focus": "news", on: { click: act } }, "New entries"));
    } catch (error) {
      this.#looking = 0;
      if (!("code" in error) && error.name !== "AbortError") throw error;
    }
  }
}

/** What was done, its verb first: `queue.pause` is `pause queue`; a bulk command stays one. */
function deed(action) {
  const [kind, verb] = action.split(".").map(words);
  return !verb ? kind : kind === "bulk" ? `${kind} ${verb}` : `${verb} ${kind}`;
}

/** What it left as it was, if anything: all, or how many. */
function effect({ unchanged, ids }) {
  if (!Array.isArray(unchanged)) return "";
  return unchanged.length >= (ids?.length ?? 1) ? "nothing changed" : `${count(unchanged.length)} unchanged`;
}

/** Where that is to which it was done. */
function target({ action, target: name, detail }) {
  const [kind] = action.split(".");
  const places = { queue: ["activities", { queue: name }], type: ["activities", { type: name }], schedule: [["schedules", name], {}] };
  if (places[kind] && name) return h("a", { href: link(...places[kind]) }, name);
  if (isId(name)) return activityLink(name);
  const ids = Array.isArray(detail.ids) ? detail.ids.filter(isId) : [];
  const rest = ids.length - SHOWN;
  return [name && `${name} `, ids.length > 0 && h("span", { class: "ids" }, ids.slice(0, SHOWN).map((id) => activityLink(id)), rest > 0 && h("span", { class: "soft" }, `and ${count(rest)} more`))];
}

const COLUMNS = [
  { label: "When", cell: (item) => time(item.at) },
  { label: "Who", by: (item) => item.actor, cell: (item) => item.actor },
  { label: "What", by: (item) => item.action, cell: (item) => [h("b", { class: "verb" }, deed(item.action)), effect(item.detail) && h("small", {}, effect(item.detail))] },
  { label: "To", by: (item) => item.target, cell: target },
  { label: "Why", cell: (item) => item.reason || "–" },
  { label: "Detail", cell: (item) => (Object.keys(item.detail).length ? h("details", {}, h("summary", { "data-focus": `detail ${item.number}` }, "Show"), json(JSON.stringify(item.detail), `detail ${item.number}`)) : "–") },
];

customElements.define("tq-audit", Audit);
export default Audit;
