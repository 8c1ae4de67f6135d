/** Who works: slots, what runs now, what is served; who was lost. `queue` or `type` in the address: only those that serve it. */

import { amend } from "../core/address.js";
import { get } from "../core/api.js";
import { h, listed, redraw } from "../core/dom.js";
import { count, plural } from "../core/format.js";
import { live } from "../core/live.js";
import { Page } from "../core/page.js";
import { nameBox, narrowed } from "../parts/names.js";
import { empty, facts, meter } from "../parts/status.js";
import { card } from "../parts/worker.js";

class Workers extends Page {
  title = "Workers";
  items = null;
  open = new Set();

  start() {
    this.sums = h("div");
    this.only = h("div", { class: "row" });
    this.alive = h("div", { class: "workers" });
    this.lost = h("div", { class: "workers" });
    this.none = h("div");
    this.gone = h("section", { class: "lost", "aria-label": "Lost workers" },
      h("h2", {}, "Lost"),
      h("p", { class: "soft" }, "Silent for more than a minute without saying that they would stop. What they held comes back by itself when its lease ends."),
      this.lost);
    this.box = nameBox("Workers", this.params.q, (q) => amend({ q }));
    this.head.append(this.box);
    this.listen(live, "activities", () => this.soon(2000));
    this.listen(live, "stats", () => this.soon(5000));
  }

  read(signal) {
    return get("workers", {}, signal);
  }

  moved() {
    if (this.items) this.draw(this);
  }

  draw({ items }) {
    this.items = items;
    this.box.hidden = !items.length;
    if (!items.length) return redraw(this.body, this.#nobody(items));
    const { q, queue, type } = this.params;
    const shown = narrowed(items, q).filter((each) => (!queue || each.queues.includes(queue)) && (!type || !each.types.length || each.types.includes(type)));
    const [alive, lost] = [false, true].map((is) => shown.filter((each) => each.lost === is));
    for (const [place, some] of [[this.alive, alive], [this.lost, lost]]) listed(place, some, ({ id }) => id, (each) => card(each, this.open));
    redraw(this.sums, totals(items));
    redraw(this.only, (queue || type) && [h("span", {}, `Only those that serve ${queue || type}.`), this.#all("small")]);
    this.only.hidden = !this.only.firstChild;
    redraw(this.none, !alive.length && this.#nobody(items));
    redraw(this.body, this.sums, this.only, alive.length ? this.alive : this.none, lost.length > 0 && this.gone);
  }

  #nobody(items) {
    if (items.every(({ lost }) => lost)) return empty("No worker is running.", h("p", {}, "Start one: ", h("code", {}, "taskq worker app:taskq")));
    return empty("None of the workers that are alive is among those.", this.#all(""));
  }

  #all(size) {
    const act = () => {
      this.box.clear();
      amend({ queue: "", type: "" });
    };
    return h("button", { class: size, "data-focus": "all", on: { click: act } }, "Show all");
  }
}

function totals(items) {
  const alive = items.filter(({ lost }) => !lost);
  const sum = (of) => alive.reduce((all, each) => all + of(each), 0);
  const [used, slots, stuck, lost] = [sum((each) => each.slots_used), sum((each) => each.concurrency), sum((each) => each.threads_stuck), items.length - alive.length];
  const hosts = Map.groupBy(alive, ({ host }) => host);
  const processes = (some) => plural(new Set(some.map(({ host, pid }) => `${host} ${pid}`)).size, "process", "processes");
  const each = [...hosts].map(([host, some]) => h("small", {}, `${host}: ${processes(some)}`));
  return h("section", { class: "panel totals", "aria-label": "All workers" }, facts([
    ["Workers", count(alive.length)],
    ["Lost", h("span", { class: lost ? "is-failed" : "soft" }, count(lost))],
    ["Slots used", [`${count(used)} / ${count(slots)}`, meter(used, slots, "all slots used")]],
    ["Waiting for others", count(sum((one) => one.suspended))],
    ["Threads stuck", h("span", { class: stuck ? "is-failed" : "soft" }, count(stuck))],
    ["Hosts", [count(hosts.size), hosts.size > 4 ? h("small", {}, processes(alive)) : each]],
  ]));
}

customElements.define("tq-workers", Workers);
export default Workers;
