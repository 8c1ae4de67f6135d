/** What failed of one cause: its newest error, arguments of some, all of them; retrying and deleting. */

import { here, link } from "../core/address.js";
import { get, part } from "../core/api.js";
import { h, redraw } from "../core/dom.js";
import { brief, count, plural } from "../core/format.js";
import { live } from "../core/live.js";
import { Page } from "../core/page.js";
import { may } from "../core/session.js";
import { term } from "../core/term.js";
import { retry } from "../parts/acts.js";
import { bulk } from "../parts/bulk.js";
import { filterOf, mend } from "../parts/cause.js";
import { copyButton } from "../parts/copy.js";
import { json } from "../parts/json.js";
import { activityLink, chip, empty, facts, panel } from "../parts/status.js";
import { table } from "../parts/table.js";
import { time } from "../parts/time.js";
import { turning, walked } from "../parts/walking.js";

const SIZE = 50;
/** How many are read in full, for their arguments. */
const SAMPLES = 3;

class Cause extends Page {
  title = "Dead letters";
  #fingerprint = here().path[1];
  #full = new Map();
  #drawn = "";

  start() {
    this.actions = h("div", { class: "row" });
    this.head.append(this.actions);
    this.about = h("div", { class: "body" });
    this.numbers = h("section", { class: "panel" });
    this.picks = h("div", { class: "row picks" });
    this.more = h("div", { class: "row" });
    this.table = table({ label: "Activities", className: "paired", columns: columns(() => this.#again()), href: (item) => link(["activities", item.id]), selectable: may("operator") });
    this.listen(this.table, "picked", () => this.#drawPicks());
    this.listen(live, "stats", () => this.soon(5000));
  }

  async read(signal) {
    const [{ items: [cause] }, page] = await Promise.all([
      get("dead-letters", { q: term("cause", this.#fingerprint), limit: 1 }, signal),
      walked("activities", { q: filterOf(this.#fingerprint), limit: SIZE, cursor: this.params.cursor }, signal),
    ]);
    return { cause, page, samples: cause ? await this.#samples(cause, page.items, signal) : [] };
  }

  /** Some of them in full, the newest first; what was read once is not read again. */
  async #samples(cause, items, signal) {
    const ids = [...new Set([cause.example, ...items.map(({ id }) => id)])].slice(0, SAMPLES);
    const read = async (id) => {
      if (!this.#full.has(id)) this.#full.set(id, await get(`activities/${part(id)}`, {}, signal));
      return this.#full.get(id);
    };
    const found = await Promise.all(ids.map((id) => read(id).catch((error) => (error.status === 404 ? null : Promise.reject(error)))));
    return found.filter(Boolean);
  }

  #again() {
    this.table.picked.clear();
    this.#full.clear();
    this.refresh();
  }

  draw({ cause, page, samples }) {
    if (!cause) {
      redraw(this.actions);
      return redraw(this.body, empty("Nothing has failed of this cause, or all of it was retried or deleted.", h("a", { href: link("dead") }, "All causes")));
    }
    this.cause = cause;
    this.#drawHead(samples);
    this.#drawAbout(samples);
    redraw(this.more, turning(this.params, "cursor", page.next));
    redraw(this.body, this.numbers, this.about, this.picks, this.table, this.more);
    this.table.show(page.items);
    this.#drawPicks();
  }

  #drawHead(samples) {
    const { cause } = this;
    const all = `${count(cause.count)}${cause.capped ? "+" : ""}`;
    const known = samples.filter((each) => each.arguments !== null);
    const button = (label, act, kind) => h("button", { class: kind, "data-focus": label, on: { click: async () => (await act()) && this.#again() } }, label);
    const many = (action) => () => bulk(action, { filter: filterOf(cause.fingerprint) });
    redraw(this.head.firstChild, cause.title ?? cause.type);
    redraw(this.actions,
      may("operator") && button(`Retry all ${all}`, many("retry"), "primary"),
      may("operator") && known.length > 0 && button("Change an argument", () => mend(cause, known), null),
      may("admin") && button("Delete all", many("delete"), "danger"));
    redraw(this.numbers, facts([
      ["Activities", all], ["Dead letters", count(cause.dead)], ["Type", h("a", { href: link("activities", { type: cause.type, q: filterOf(cause.fingerprint) }) }, cause.type)],
      ["Queues", cause.queues.join(", ")], ["First seen", time(cause.first, "ago")], ["Last seen", time(cause.last, "ago")], ["Cause", h("span", { class: "id" }, cause.fingerprint)],
    ]));
  }

  /** Only where it has changed: what somebody reads or has unfolded stays. */
  #drawAbout(samples) {
    const key = samples.map(({ id }) => id).join();
    if (key === this.#drawn) return;
    this.#drawn = key;
    const [newest] = samples;
    const { error } = newest ?? {};
    const text = error?.traceback ?? (error?.message ? `${error.type}: ${error.message}` : null);
    redraw(this.about, h("div", { class: "two loose" },
      panel("Newest error", text && copyButton(text, "Copy the error"),
        text ? h("pre", { tabindex: "0", "aria-label": "Traceback" }, text) : h("p", { class: "soft" }, "Hidden from your role.")),
      panel(`Arguments of ${plural(samples.length, "activity", "activities")}`, null, samples.map(sample))));
  }

  #drawPicks() {
    const ids = [...this.table.picked];
    const button = (action, label, kind) => h("button", { class: `small ${kind}`, "data-focus": `picked ${action}`, on: { click: async () => (await bulk(action, { ids })) && this.#again() } }, `${label} ${count(ids.length)} selected`);
    redraw(this.picks, h("h2", {}, plural(this.cause?.count ?? 0, "activity", "activities")),
      ids.length > 0 && [may("operator") && button("retry", "Retry", ""), may("admin") && button("delete", "Delete", "danger")]);
  }
}

/** The newest one's arguments to read and copy, those of others to compare. */
function sample(each, place) {
  const name = `arguments of ${brief(each.id)}`;
  const text = place && each.arguments !== null ? h("pre", { tabindex: "0", "aria-label": name }, each.arguments) : json(each.arguments, name);
  return h("div", { class: "sample" }, activityLink(each.id), text);
}

function columns(after) {
  const again = ({ id }) => async () => (await retry(await get(`activities/${part(id)}`))) && after();
  return [
    { label: "Activity", cell: (item) => h("span", { class: "id" }, brief(item.id)) },
    { label: "State", cell: (item) => chip(item.status) },
    { label: "Queue", cell: (item) => item.queue },
    { label: "Ended", cell: (item) => time(item.finished_at, "ago") },
    { label: "Attempts", number: true, cell: (item) => `${item.attempts} / ${item.max_attempts ?? "∞"}` },
    { label: "Message", cell: (item) => (item.error?.message ? h("span", { class: "soft" }, item.error.message.slice(0, 160)) : "–") },
    { label: "", cell: (item) => h("div", { class: "row deeds" }, may("operator") && h("button", { class: "small", "aria-label": `Retry ${brief(item.id)}`, "data-focus": `retry ${item.id}`, on: { click: again(item) } }, "Retry")) },
  ];
}

customElements.define("tq-cause", Cause);
export default Cause;
