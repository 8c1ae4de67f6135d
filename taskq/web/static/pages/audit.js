/** Who did what, and why. */

import { amend } from "../core/address.js";
import { get } from "../core/api.js";
import { h, redraw } from "../core/dom.js";
import { words } from "../core/format.js";
import { Page } from "../core/page.js";
import { json } from "../parts/json.js";
import { empty } from "../parts/status.js";
import { table } from "../parts/table.js";
import { time } from "../parts/time.js";

class Audit extends Page {
  title = "Audit";

  start() {
    this.table = table({ label: this.title, columns: COLUMNS, key: (item) => item.number });
  }

  read(signal) {
    return get("audit", { limit: 50, before: this.params.before }, signal);
  }

  draw({ items, next }) {
    const older = next && h("button", { on: { click: () => amend({ before: next }, {}) } }, "Older");
    const newest = this.params.before && h("button", { on: { click: () => amend({ before: "" }, {}) } }, "Newest");
    redraw(this.body, items.length ? this.table : empty("No command is on record."), h("div", { class: "row" }, newest, older));
    this.table.show(items);
  }
}

const COLUMNS = [
  { label: "When", cell: (item) => time(item.at) },
  { label: "Who", cell: (item) => item.actor },
  { label: "What", cell: (item) => [h("b", {}, words(item.action)), h("small", {}, item.target)] },
  { label: "Why", cell: (item) => item.reason || "–" },
  { label: "Detail", cell: (item) => (Object.keys(item.detail).length ? h("details", {}, h("summary", {}, "Detail"), json(JSON.stringify(item.detail), `detail ${item.number}`)) : "–") },
];

customElements.define("tq-audit", Audit);
export default Audit;
