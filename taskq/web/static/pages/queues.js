/** Queues: what they hold, how they fare, pausing them. `q` in the address narrows them by name. */

import { amend } from "../core/address.js";
import { get } from "../core/api.js";
import { h, redraw } from "../core/dom.js";
import { live } from "../core/live.js";
import { Page } from "../core/page.js";
import { columns, totals } from "../parts/fares.js";
import { nameBox, narrowed } from "../parts/names.js";
import { empty } from "../parts/status.js";
import { table } from "../parts/table.js";

class Queues extends Page {
  title = "Queues";
  kind = "queues";
  items = null;

  start() {
    this.sums = h("div");
    this.none = h("div");
    this.note = h("p", { class: "soft" }, "Later: scheduled or retrying. Last hour counts attempts, and Failed is the share of them; Waited and Ran are of the same hour; times are medians, with the 95th percentile (p95) below.");
    this.box = nameBox(this.title, this.params.q, (q) => amend({ q }));
    this.table = table({ label: this.title, columns: columns(this.kind, () => this.refresh()), key: (item) => item.name });
    this.table.classList.add("fares");
    this.head.append(this.box);
    for (const kind of ["activities", "stats", "control"]) this.listen(live, kind, () => this.soon(kind === "control" ? 500 : 5000));
  }

  read(signal) {
    return get(this.kind, {}, signal);
  }

  moved() {
    if (this.items) this.draw(this);
  }

  draw({ items }) {
    this.items = items;
    this.box.hidden = !items.length;
    if (!items.length) return redraw(this.body, this.nothing());
    const shown = narrowed(items, this.params.q);
    redraw(this.sums, totals(this.kind, items));
    redraw(this.none, !shown.length && empty(`No name here has “${this.params.q}” in it.`,
      h("button", { "data-focus": "all", on: { click: () => this.box.clear() } }, "Show all")));
    redraw(this.body, this.sums, ...(shown.length ? [this.table, this.note] : [this.none]));
    this.table.show(shown);
  }

  nothing() {
    return empty("There is no queue yet.", h("p", {}, "The first call makes one, and so does a task of the app."));
  }
}

customElements.define("tq-queues", Queues);
export default Queues;
