/** Bulk commands, and how far they are. */

import { get, part } from "../core/api.js";
import { link } from "../core/address.js";
import { h, redraw } from "../core/dom.js";
import { count, words } from "../core/format.js";
import { live } from "../core/live.js";
import { Page } from "../core/page.js";
import { may } from "../core/session.js";
import { command } from "../parts/dialog.js";
import { chip, empty, meter } from "../parts/status.js";
import { table } from "../parts/table.js";
import { time } from "../parts/time.js";

const OPEN = new Set(["pending", "processing", "scheduled", "retrying"]);

class Bulk extends Page {
  title = "Bulk commands";

  start() {
    this.table = table({ label: this.title, columns: columns(() => this.refresh()), href: (item) => link(["activities", item.id]) });
    this.listen(live, "activities", () => this.soon(1000));
  }

  read(signal) {
    return get("bulk", { limit: 100 }, signal);
  }

  draw({ items }) {
    redraw(this.body, items.length ? this.table : empty("No bulk command was given.", h("a", { href: link("activities") }, "Find activities")));
    this.table.show(items);
  }
}

function stop(item, after) {
  return async () => (await command(`bulk/${part(item.id)}/cancel`, { title: "Stop this command", text: "What is done stays done.", go: "Stop it", danger: true, done: () => "It stops." })) && after();
}

function columns(after) {
  return [
    { label: "Command", cell: (item) => [h("b", {}, words(item.action ?? "–")), h("small", {}, item.filter ?? (item.ids === null ? "" : `${item.ids} selected`))] },
    { label: "State", cell: (item) => [chip(item.status), item.problem && h("small", {}, item.problem), item.error && h("small", {}, item.error)] },
    { label: "Progress", cell: (item) => [meter(item.done + item.skipped, item.total, "done"), `${count(item.done)} / ${count(item.total)}`, item.skipped > 0 && h("small", {}, `${count(item.skipped)} skipped`)] },
    { label: "Who", cell: (item) => [item.actor, h("small", {}, item.reason)] },
    { label: "Given", cell: (item) => time(item.created_at, "ago") },
    { label: "", cell: (item) => may("operator") && OPEN.has(item.status) && h("button", { class: "small danger", "data-focus": `stop ${item.id}`, on: { click: stop(item, after) } }, "Stop") },
  ];
}

customElements.define("tq-bulk", Bulk);
export default Bulk;
