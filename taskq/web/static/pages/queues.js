/** Queues: what they hold, how they fare, pausing them. */

import { get } from "../core/api.js";
import { h, redraw } from "../core/dom.js";
import { live } from "../core/live.js";
import { Page } from "../core/page.js";
import { columns } from "../parts/fares.js";
import { empty } from "../parts/status.js";
import { table } from "../parts/table.js";

class Queues extends Page {
  title = "Queues";
  kind = "queues";

  start() {
    this.table = table({ label: this.title, columns: columns(this.kind, () => this.refresh()), key: (item) => item.name });
    for (const kind of ["activities", "stats", "control"]) this.listen(live, kind, () => this.soon(kind === "control" ? 500 : 5000));
  }

  read(signal) {
    return get(this.kind, {}, signal);
  }

  draw({ items }) {
    redraw(this.body, items.length ? this.table : empty("There is none yet.", h("p", {}, "The first call makes one.")));
    this.table.show(items);
  }
}

customElements.define("tq-queues", Queues);
export default Queues;
