/** What is periodic, and when it comes next. */

import { Page } from "../core/page.js";
import { get } from "../core/api.js";
import { h, redraw } from "../core/dom.js";
import { activityLink, empty } from "../parts/status.js";
import { steer } from "../parts/steer.js";
import { table } from "../parts/table.js";
import { time } from "../parts/time.js";

class Schedules extends Page {
  title = "Schedules";

  start() {
    const button = (item) => steer("schedules", item.name, item.paused_at, () => this.refresh());
    const columns = [...COLUMNS, { label: "Command", cell: button }];
    this.table = table({ label: "Schedules", columns, key: (item) => item.name });
  }

  read(signal) {
    return get("schedules", {}, signal);
  }

  draw({ items }) {
    redraw(this.body, items.length ? this.table : empty("There are no schedules yet."));
    this.table.show(items);
  }
}

const COLUMNS = [
  { label: "Schedule", cell: (item) => [h("b", {}, item.name), h("small", {}, item.type), item.broken && h("small", { class: "problem" }, item.broken)] },
  { label: "When", cell: (item) => [item.when, h("small", {}, item.cron ? `${item.cron} · ${item.timezone}` : "")] },
  { label: "Next", cell: (item) => (item.paused_at ? ["paused ", time(item.paused_at, "ago")] : time(item.next_at, "ago")) },
  { label: "Last", cell: (item) => [time(item.last_at, "ago"), " ", activityLink(item.last_id)] },
  { label: "Fired · skipped", cell: (item) => `${item.fired} · ${item.skipped}` },
];

customElements.define("tq-schedules", Schedules);
export default Schedules;
