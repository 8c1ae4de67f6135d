/** What has failed for good, by its cause: how many, since when, whether it goes on; narrowed by filter, type and queue. */

import { amend, link } from "../core/address.js";
import { get } from "../core/api.js";
import { h, redraw } from "../core/dom.js";
import { count, plural } from "../core/format.js";
import { live } from "../core/live.js";
import { Page } from "../core/page.js";
import { may } from "../core/session.js";
import { bulk } from "../parts/bulk.js";
import { filterOf } from "../parts/cause.js";
import { filterBox, refused } from "../parts/filter.js";
import { filled, select } from "../parts/narrowing.js";
import { spark } from "../parts/spark.js";
import { empty } from "../parts/status.js";
import { table } from "../parts/table.js";
import { time } from "../parts/time.js";

/** What has failed for good, and why that is not tried again. */
const BAD = { dead_letter: "out of retries (dead letter)", failed: "not to be retried (failed)" };
const MOST = 100;

class Dead extends Page {
  title = "Dead letters";
  #known = { type: new Set(), queue: new Set() };

  start() {
    this.box = filterBox(this.params.q ?? "", (q) => amend({ q }, {}));
    this.selects = ["type", "queue"].map((name) => select(name, name, (changes) => amend(changes, {})));
    this.problem = h("div", { role: "alert" });
    this.trend = h("div", { class: "row pace" });
    this.found = h("div");
    this.table = table({ label: this.title, columns: columns(() => this.refresh()), key: (item) => item.fingerprint, href: (item) => link(["dead", item.fingerprint]) });
    this.body.append(this.trend, h("div", { class: "row narrow" }, h("div", { class: "grow" }, this.box), this.selects), this.problem, this.found);
    this.listen(live, "stats", () => this.soon(5000));
  }

  get narrowed() {
    const { q, type, queue } = this.params;
    return Boolean(q || type || queue);
  }

  async read(signal) {
    const { q, type, queue } = this.params;
    const ask = (narrowed) => get("dead-letters", { ...narrowed, limit: MOST }, signal);
    const [found, all, series] = await Promise.all([
      ask({ q, type, queue }).catch(refused),
      this.narrowed && !this.#known.type.size && ask({}),
      get("series", { window: "1h", type, queue }, signal),
    ]);
    this.#learn([...found.items, ...(all ? all.items : [])]);
    return { ...found, series };
  }

  /** Types and queues that one can choose: whatever was seen. */
  #learn(items) {
    for (const item of items) {
      this.#known.type.add(item.type);
      for (const queue of item.queues) this.#known.queue.add(queue);
    }
  }

  draw({ items, searched_to: to, problem, series }) {
    this.box.value = this.params.q ?? "";
    for (const each of this.selects) {
      const { name } = each.dataset;
      filled(each, [["", `All ${name}s`], ...[...this.#known[name]].sort().map((one) => [one, one])], this.params[name] ?? "");
    }
    redraw(this.problem, problem && h("p", { class: "problem" }, problem));
    this.#drawTrend(series);
    redraw(this.found, items.length ? this.table : !problem && this.#nothing(), to && h("p", { class: "soft" }, "Looked back to ", time(to), "."));
    this.table.show(items);
  }

  #drawTrend({ lines }) {
    const [outcomes = {}] = lines.map((line) => line.outcomes);
    const lists = Object.keys(BAD).map((name) => outcomes[name]).filter(Boolean);
    const each = (lists[0] ?? []).map((_, place) => lists.reduce((sum, values) => sum + (values[place] ?? 0), 0));
    const sum = each.reduce((all, value) => all + value, 0);
    const parts = Object.entries(BAD).map(([name, why]) => [(outcomes[name] ?? []).reduce((all, value) => all + value, 0), why]).filter(([number]) => number);
    redraw(this.trend, h("b", {}, count(sum)), h("span", { class: "soft" }, "failed for good in the last hour", parts.length > 0 && `: ${parts.map(([number, why]) => `${count(number)} ${why}`).join(", ")}`), sum > 0 && spark(each, "Failed for good, by minute"));
  }

  #nothing() {
    if (this.narrowed) return empty("Nothing like that has failed for good.", h("a", { href: link("dead") }, "Show all causes"));
    return empty("Nothing has failed for good.", h("p", {}, "What has used up its retries, or must not be retried, stays here until somebody retries or deletes it."));
  }
}

function columns(after) {
  const act = (action, item) => async () => (await bulk(action, { filter: filterOf(item.fingerprint) })) && after();
  const button = (action, label, item, kind) => h("button", { class: `small ${kind}`, "aria-label": `${label}: ${item.title ?? item.type}`, "data-focus": `${action} ${item.fingerprint}`, on: { click: act(action, item) } }, label);
  return [
    { label: "Cause", by: (item) => item.title ?? item.type, cell: (item) => [h("b", {}, item.title ?? "hidden from your role"), h("small", {}, `${item.type} in ${item.queues.join(", ")}`)] },
    { label: "Activities", number: true, by: (item) => item.count, cell: (item) => [`${count(item.count)}${item.capped ? "+" : ""}`, h("small", {}, item.dead === item.count ? "dead letters" : item.dead ? plural(item.dead, "dead letter") : "failed")] },
    { label: "First seen", by: (item) => item.first, cell: (item) => time(item.first, "ago") },
    { label: "Last seen", by: (item) => item.last, cell: (item) => time(item.last, "ago") },
    { label: "", cell: (item) => h("div", { class: "row deeds" }, may("operator") && button("retry", "Retry all", item, ""), may("admin") && button("delete", "Delete all", item, "danger")) },
  ];
}

customElements.define("tq-dead", Dead);
export default Dead;
