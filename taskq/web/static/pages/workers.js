/** Who works: slots, what runs now, since when, where. */

import { Page } from "../core/page.js";
import { get } from "../core/api.js";
import { live } from "../core/live.js";
import { chip, empty, meter } from "../parts/status.js";
import { table } from "../parts/table.js";
import { time } from "../parts/time.js";
import { redraw, h } from "../core/dom.js";

class Workers extends Page {
  title = "Workers";

  start() {
    this.table = table({ label: "Workers", columns: COLUMNS });
    this.listen(live, "activities", () => this.soon(2000));
    this.listen(live, "stats", () => this.soon(5000));
  }

  read(signal) {
    return get("workers", {}, signal);
  }

  draw({ items }) {
    const none = empty("No worker is running.", h("p", {}, "Start one: ", h("code", {}, "taskq worker app:taskq")));
    redraw(this.body, items.length ? this.table : none);
    this.table.show(items);
  }
}

const COLUMNS = [
  { label: "Worker", cell: (worker) => [h("b", {}, worker.name), h("small", {}, `${worker.host} · ${worker.pid}`)] },
  { label: "State", cell: (worker) => chip(worker.state) },
  { label: "Slots", cell: (worker) => [meter(worker.slots_used, worker.concurrency, "slots"), `${worker.slots_used} / ${worker.concurrency}`] },
  { label: "Queues", cell: (worker) => worker.queues.join(", ") },
  { label: "Started", cell: (worker) => time(worker.started_at, "ago") },
  { label: "Heard", cell: (worker) => time(worker.seen_at, "ago") },
  { label: "Version", cell: (worker) => `${worker.version} · ${worker.async_backend}` },
];

customElements.define("tq-workers", Workers);
export default Workers;
