/** All activities: by state, by filter, page by page, and what can be done to those selected. */

import { amend, link } from "../core/address.js";
import { get } from "../core/api.js";
import { h, redraw } from "../core/dom.js";
import { brief, count, duration, plural, words } from "../core/format.js";
import { live } from "../core/live.js";
import { Page } from "../core/page.js";
import { preferences } from "../core/preferences.js";
import { may } from "../core/session.js";
import { bulkButtons } from "../parts/bulk.js";
import { filterBox } from "../parts/filter.js";
import { cancel, OVER, retry } from "../parts/acts.js";
import { chip, empty, STATES } from "../parts/status.js";
import { table } from "../parts/table.js";
import { time } from "../parts/time.js";

const SIZES = ["25", "50", "100", "200"];
const ORDERS = { newest: "Newest", oldest: "Oldest", due: "Due next", started: "Started" };
/** Orders that are for some states only. */
const NEEDS = { due: "scheduled,retrying", started: "processing" };

class Activities extends Page {
  title = "Activities";
  #before = [];

  start() {
    this.tabs = h("div", { class: "choice", role: "group", "aria-label": "State" });
    this.problem = h("div", { role: "alert" });
    this.filterBox = filterBox(this.params.q ?? "", (q) => this.#ask({ q }));
    this.found = h("p", { class: "soft", role: "status" });
    this.bulk = h("div", { class: "row" });
    this.more = h("div", { class: "row" });
    this.table = table({ label: "Activities", columns: COLUMNS, href: (item) => link(["activities", item.id]), selectable: true });
    const asked = h("div", { class: "row" }, h("div", { class: "grow" }, this.filterBox), this.#selects());
    this.body.append(this.tabs, asked, this.problem, h("div", { class: "row" }, this.found, this.bulk), this.table, this.more);
    this.listen(this.table, "picked", () => this.#drawBulk());
    this.listen(live, "stats", () => this.#drawTabs());
    this.listen(live, "activities", () => this.soon(2000));
    this.keys({
      r: ["retry", () => this.#act(retry, true)],
      c: ["cancel", () => this.#act(cancel, false)],
      n: ["next page", () => this.more.querySelector("[data-focus=next]")?.click()],
      p: ["page before", () => this.more.querySelector("[data-focus=before]")?.click()],
    });
  }

  /** Do what a key is for to the row that has the focus, where its state and the role allow it. */
  async #act(act, over) {
    const item = this.table.current;
    if (item && may("operator") && OVER.has(item.status) === over) await act(item);
  }

  #selects() {
    const select = (label, options, name, fallback) =>
      h("select", { "aria-label": label, "data-name": name, on: { change: (event) => this.#ask({ [name]: event.target.value === fallback ? "" : event.target.value }) } },
        options.map(([value, text]) => h("option", { value }, text)));
    this.order = select("Order", Object.entries(ORDERS), "order", "newest");
    this.size = select("Rows", SIZES.map((each) => [each, `${each} rows`]), "limit", "");
    this.roots = select("Roots", [["", "All"], ["true", "Roots only"]], "roots", "");
    this.listen(this.size, "change", () => preferences.set("size", this.size.value));
    return [this.roots, this.order, this.size];
  }

  #ask(changes) {
    this.#before = [];
    this.table.picked.clear();
    amend({ cursor: "", ...changes }, {});
  }

  /** The filter as one text, with the tab that is open. */
  get filter() {
    const { q = "", status } = this.params;
    return [status && `status:${status}`, q].filter(Boolean).join(" ");
  }

  async read(signal) {
    const { params } = this;
    const wanted = params.order && NEEDS[params.order];
    const asked = { q: params.q, status: params.status ?? wanted, roots: params.roots, type: params.type, queue: params.queue };
    const page = get("activities", { ...asked, order: params.order, limit: params.limit ?? preferences.get("size"), cursor: params.cursor }, signal);
    try {
      const [found, total] = await Promise.all([page, get("activities/count", asked, signal)]);
      redraw(this.problem);
      return { ...found, total };
    } catch (error) {
      if (error.status !== 400) throw error;
      redraw(this.problem, h("p", { class: "problem" }, error.message));
      return { items: [], next: null, total: { count: 0, exact: true } };
    }
  }

  draw({ items, next, searched_to: to, total }) {
    const { params } = this;
    this.filterBox.value = params.q ?? "";
    this.order.value = params.order ?? "newest";
    this.size.value = params.limit ?? preferences.get("size");
    this.roots.value = params.roots ?? "";
    this.total = total;
    this.#drawTabs();
    this.found.textContent = `${total.exact ? "" : "at least "}${plural(total.count, "activity", "activities")}${to ? `, looked back to ${to.slice(0, 19).replace("T", " ")} UTC` : ""}`;
    this.table.show(items);
    this.#drawBulk();
    const turn = (cursor) => amend({ cursor }, {});
    const forward = () => { this.#before.push(params.cursor ?? ""); turn(next); };
    redraw(this.more,
      !items.length && empty(next ? "Nothing yet: the search can go on." : "No activity is like that."),
      params.cursor && h("button", { "data-focus": "before", on: { click: () => turn(this.#before.pop() ?? "") } }, "Before"),
      next && h("button", { "data-focus": "next", on: { click: forward } }, items.length ? "Next" : "Go on"));
  }

  #drawTabs() {
    const by = live.stats?.by_status ?? {};
    const tab = (status) => {
      const number = status && by[status] !== undefined ? h("small", {}, ` ${count(by[status], live.stats.cap)}`) : null;
      return h("button", { "aria-pressed": String((this.params.status ?? "") === status), "data-focus": `tab ${status}`, on: { click: () => this.#ask({ status }) } }, status ? words(status) : "all", number);
    };
    redraw(this.tabs, ["", ...STATES].map(tab));
  }

  #drawBulk() {
    const ids = [...this.table.picked];
    const matching = this.filter && this.total?.count > ids.length ? { filter: this.filter, count: this.total.count } : null;
    redraw(this.bulk, bulkButtons(ids, matching, () => { this.table.picked.clear(); this.refresh(); }));
  }
}

const COLUMNS = [
  { label: "Activity", cell: (item) => [h("b", {}, item.step ?? item.type), h("small", { class: "id" }, brief(item.id))] },
  { label: "State", cell: (item) => [chip(item.status), item.progress?.total ? h("small", {}, `${Math.round((100 * item.progress.done) / item.progress.total)} %`) : null] },
  { label: "Queue", cell: (item) => item.queue },
  { label: "Priority", cell: (item) => item.priority.toLowerCase() },
  { label: "Created", cell: (item) => time(item.created_at) },
  { label: "Duration", number: true, cell: (item) => (item.status === "processing" ? time(item.started_at, "since") : duration(item.duration)) },
  { label: "Attempts", number: true, cell: (item) => `${item.attempts} / ${item.max_attempts ?? "∞"}` },
  { label: "Error", cell: (item) => (item.error ? h("small", {}, item.error.type, item.error.message && `: ${item.error.message.slice(0, 120)}`) : "") },
];

customElements.define("tq-activities", Activities);
export default Activities;
