/** Types of activities: what is open of them, how they fare, their tasks' options and parameters. */

import { h } from "../core/dom.js";
import { duration } from "../core/format.js";
import Queues from "./queues.js";

class Types extends Queues {
  title = "Types";
  kind = "types";

  start() {
    super.start();
    this.table.columns = [...this.table.columns, { label: "Task", cell: ({ task }) => (task ? told(task) : h("small", {}, "not of this app")) }];
  }
}

function told({ queue, parameters, max_retries: retries, timeout, run_in: where }) {
  const one = (each) => `${each.name}${each.annotation ? `: ${each.annotation}` : ""}${each.default === null ? "" : ` = ${each.default}`}`;
  return h("details", {}, h("summary", {}, parameters.length ? "Parameters" : "No parameters"),
    h("small", {}, parameters.map((each) => h("div", {}, h("code", {}, one(each)))),
      `${queue}, ${retries ?? "unlimited"} retries, ${timeout ? duration(timeout) : "no"} timeout, ${where}`));
}

customElements.define("tq-types", Types);
export default Types;
