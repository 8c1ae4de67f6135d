/** Types of activities: what is open of them, how they fare, calling their tasks. */

import { h } from "../core/dom.js";
import { may } from "../core/session.js";
import { reserved } from "../parts/acts.js";
import { enqueue } from "../parts/enqueue.js";
import { signature } from "../parts/signature.js";
import { empty } from "../parts/status.js";
import Queues from "./queues.js";

class Types extends Queues {
  title = "Types";
  kind = "types";

  start() {
    super.start();
    const [name, ...others] = this.table.columns;
    const acts = others.pop();
    const both = (item) => h("div", { class: "row acts" }, item.task && may("operator") && enqueueButton(item.name), acts.cell(item));
    this.table.columns = [{ ...name, cell: (item) => [name.cell(item), described(item)] }, ...others, { ...acts, cell: both }];
  }

  nothing() {
    return empty("There is no type yet.", h("p", {}, "A task of the app is one: a function with ", h("code", {}, "@taskq.activity"), "."));
  }
}

function described({ name, task }) {
  if (reserved({ queue: name })) return null;
  return task ? h("small", { class: "signature", title: signature(task) }, signature(task)) : h("small", {}, "no task of this app");
}

/** A button to call a task. */
export function enqueueButton(type, size = "small") {
  return h("button", { class: size, "aria-label": `Enqueue ${type}`, "data-focus": `enqueue ${type}`, on: { click: () => enqueue({ type }) } }, "Enqueue");
}

customElements.define("tq-types", Types);
export default Types;
