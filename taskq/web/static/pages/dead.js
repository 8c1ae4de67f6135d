/** What has failed for good, by its cause; retrying it. */

import { link } from "../core/address.js";
import { get } from "../core/api.js";
import { h, redraw } from "../core/dom.js";
import { count } from "../core/format.js";
import { live } from "../core/live.js";
import { Page } from "../core/page.js";
import { may } from "../core/session.js";
import { bulk } from "../parts/bulk.js";
import { activityLink, empty } from "../parts/status.js";
import { table } from "../parts/table.js";
import { time } from "../parts/time.js";

class Dead extends Page {
  title = "Dead letters";

  start() {
    this.table = table({ label: this.title, columns: columns(() => this.refresh()), key: (item) => item.fingerprint, href: (item) => link("activities", { q: filter(item) }) });
    this.listen(live, "stats", () => this.soon(5000));
  }

  read(signal) {
    return get("dead-letters", { limit: 100 }, signal);
  }

  draw({ items }) {
    redraw(this.body, items.length ? this.table : empty("Nothing has failed for good."));
    this.table.show(items);
  }
}

function filter({ fingerprint }) {
  return `status:dead_letter,failed cause:${fingerprint}`;
}

function columns(after) {
  const act = (action, item) => async () => (await bulk(action, { filter: filter(item) })) && after();
  const button = (action, label, item, kind) => h("button", { class: `small ${kind}`, "aria-label": `${label}: ${item.title ?? item.type}`, "data-focus": `${action} ${item.fingerprint}`, on: { click: act(action, item) } }, label);
  return [
    { label: "Cause", cell: (item) => [h("b", {}, item.title ?? "hidden from your role"), h("small", {}, `${item.type} in ${item.queues.join(", ")}`)] },
    { label: "Activities", number: true, cell: (item) => [`${count(item.count)}${item.capped ? "+" : ""}`, h("small", {}, `${count(item.dead)} dead letters`)] },
    { label: "First", cell: (item) => time(item.first, "ago") },
    { label: "Last", cell: (item) => time(item.last, "ago") },
    { label: "Newest", cell: (item) => activityLink(item.example) },
    { label: "", cell: (item) => h("div", { class: "row" }, may("operator") && button("retry", "Retry all", item, ""), may("admin") && button("delete", "Delete all", item, "danger")) },
  ];
}

customElements.define("tq-dead", Dead);
export default Dead;
