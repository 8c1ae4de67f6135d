/** One type of activities: as a queue, and its task's options and parameters. */

import { link } from "../core/address.js";
import { h } from "../core/dom.js";
import { duration } from "../core/format.js";
import { may } from "../core/session.js";
import { parameter } from "../parts/signature.js";
import { facts, panel } from "../parts/status.js";
import Queue from "./queue.js";
import { enqueueButton } from "./types.js";

class Type extends Queue {
  kind = "types";
  word = "type";
  other = "queue";

  buttons(item) {
    const dead = h("a", { class: "button", href: link("dead", { type: item.name }) }, "Dead letters");
    const [all, pause] = super.buttons(item);
    return [all, dead, pause, item.task && may("operator") && enqueueButton(item.name, "primary")];
  }

  about({ task }) {
    if (!task) return panel("Task", null, h("p", { class: "soft" }, "This console's app has no task of this type: another app has, or had."));
    const list = h("ul", {}, task.parameters.map((each) => h("li", {}, h("code", {}, parameter(each)), each.secret && h("small", {}, " secret"))));
    return panel("Task", null, facts([
      ["Queue", h("a", { href: link(["queues", task.queue]) }, task.queue)],
      ["Priority", task.priority.toLowerCase()],
      ["Retries", task.max_retries === null ? "no limit" : task.max_retries],
      ["Timeout", task.timeout === null ? "no limit" : duration(task.timeout)],
      ["Runs in", task.run_in === "process" && "a process of its own"],
      ["Also called", task.aliases.join(", ")],
    ]), h("h3", { class: "soft" }, task.parameters.length ? "Parameters" : "No parameters"), task.parameters.length > 0 && list);
  }
}

customElements.define("tq-type", Type);
export default Type;
