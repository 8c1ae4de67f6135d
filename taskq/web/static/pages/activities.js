/**
 * All activities: by state, by filter, page by page, and what can be done to those selected.
 *
 * What is shown changes in place and never moves by itself: new ones wait until they are asked for
 * (see parts/steady.js). Whoever goes somewhere, by the address, sees what is there now.
 */

import { amend, link } from "../core/address.js";
import { get } from "../core/api.js";
import { h, redraw, say } from "../core/dom.js";
import { clock, count, plural, words } from "../core/format.js";
import { live } from "../core/live.js";
import { Page } from "../core/page.js";
import { preferences } from "../core/preferences.js";
import { may } from "../core/session.js";
import { bulkButtons } from "../parts/bulk.js";
import { chosen, columnsMenu } from "../parts/columns.js";
import { enqueue } from "../parts/enqueue.js";
import { filterBox, refused } from "../parts/filter.js";
import { cancel, OVER, retry } from "../parts/acts.js";
import { hoverCards } from "../parts/hover.js";
import { consistent, filterOf, narrowing, sizeOf, wanted } from "../parts/narrowing.js";
import { empty, STATES } from "../parts/status.js";
import { reach, steady } from "../parts/steady.js";
import { table } from "../parts/table.js";
import { walked } from "../parts/walking.js";

/** What may be meant as a short id, and what to say where nothing is found by it. */
const DIGITS = /^…?[0-9a-f]{4,12}$/i;
const SHORT = "Is it an id? The short ids on these pages are the last digits of one. It is found by its first 8 digits or more, or by the whole of it.";

class Activities extends Page {
  title = "Activities";
  #before = new Map();
  #fresh = true;
  #news = 0;
  #heard = new Map();

  start() {
    this.tabs = h("div", { class: "choice", role: "group", "aria-label": "State" }, ["", ...STATES].map((status) =>
      h("button", { "data-status": status, on: { click: () => this.#ask({ status }) } }, status ? words(status) : "all", h("small"))));
    this.problem = h("div", { role: "alert" });
    this.filterBox = filterBox(this.params.q ?? "", (q) => this.#ask({ q }));
    this.narrowing = narrowing((changes) => this.#ask(changes));
    this.found = h("p", { class: "soft", role: "status" });
    this.bulk = h("div", { class: "row" });
    this.news = h("div", { class: "news-of-list", role: "status" });
    this.more = h("div", { class: "row" });
    this.table = table({ label: "Activities", className: "paired", columns: chosen(), href: (item) => link(["activities", item.id]), selectable: may("operator"), hidden: true });
    const asked = h("div", { class: "row asked" }, h("div", { class: "grow" }, this.filterBox), this.narrowing.narrow);
    const above = h("div", { class: "row above" }, this.found, this.bulk, this.news, this.narrowing.order, columnsMenu());
    this.body.append(this.tabs, asked, this.problem, above, this.table, this.more);
    if (may("operator")) this.head.append(h("div", { class: "row" }, h("button", { on: { click: () => this.#enqueue() } }, "Enqueue")));
    this.#listen();
    this.#keys();
  }

  #listen() {
    this.listen(this.table, "picked", () => this.#drawBulk());
    this.listen(this.table, "sorted", ({ detail }) => this.#ask({ order: detail === "newest" ? "" : detail }));
    this.listen(live, "stats", () => this.#drawTabs());
    this.listen(live, "activities", ({ detail }) => this.#hear(detail));
    this.listen(preferences, "change", ({ detail }) => {
      if (detail !== "columns") return;
      this.table.columns = chosen();
      this.table.show(this.table.items);
    });
  }

  #keys() {
    const preview = hoverCards(this.table, this.signal);
    this.keys({
      ...(may("operator") && { r: ["retry", () => this.#act(retry, true)], c: ["cancel", () => this.#act(cancel, false)] }),
      i: ["more about the row, at a glance", preview],
      u: ["show what is new", () => this.#news && this.#look()],
      n: ["next page", () => this.more.querySelector("[data-focus=next]")?.click()],
      p: ["previous page", () => this.more.querySelector("[data-focus=before]")?.click()],
    });
  }

  moved() {
    this.#fresh = true;
    if (filterOf(this.params) !== this.filter) this.#drop(); // what is ticked is not of this list
    this.refresh();
  }

  #hear(events) {
    const shown = new Set(this.table.items.map(({ id }) => id));
    for (const { id, status } of events) if (shown.has(id)) this.#heard.set(id, { status });
    this.soon(2000);
  }

  /** Do what a key is for to the row that has the focus, where its state allows it. */
  async #act(act, over) {
    const item = this.table.current;
    if (item && OVER.has(item.status) === over) await act(item);
  }

  async #enqueue() {
    if (await enqueue()) this.#look();
  }

  #ask(changes) {
    this.#before.clear();
    this.#drop();
    amend({ cursor: "", ...consistent(this.params, changes) }, {});
  }

  /** Show what is there now, from the top. */
  async #look() {
    this.#fresh = true;
    const held = this.news.contains(document.activeElement);
    await this.refresh();
    if (held) this.table.querySelector("a.open")?.focus();
  }

  read(signal) {
    const { params } = this;
    const asked = wanted(params);
    const size = Number(sizeOf(params));
    const limit = this.#fresh ? size : Math.max(size, reach(this.table.items.length, this.#news));
    const seek = this.#fresh || this.table.items.length ? walked : get;
    const page = seek("activities", { ...asked, order: params.order, limit, cursor: params.cursor }, signal);
    return Promise.all([page, get("activities/count", asked, signal)]).then(([found, total]) => ({ ...found, total }), refused);
  }

  draw(found) {
    if (this.#fresh || !this.table.items.length) this.#take(found);
    else this.#keep(found);
    const { params } = this;
    this.filter = filterOf(params);
    this.filterBox.value = params.q ?? "";
    this.narrowing.draw(params);
    if (!this.dataset.ready) this.narrowing.look();
    this.#drawTabs();
    const { total, searched_to: to, items, problem } = found;
    this.total = total;
    redraw(this.problem, problem && h("p", { class: "problem" }, problem));
    const far = to && items.length < Number(sizeOf(params)) ? `, looked back to ${clock(to)}` : "";
    say(this.found, problem ? "" : `${total.exact ? "" : "at least "}${plural(total.count, "activity", "activities")}${far}`);
    this.#drawBulk();
    this.#drawMore();
  }

  #take({ items, next }) {
    this.#fresh = false;
    this.#heard.clear();
    this.next = next;
    this.#show({ items, gone: new Set(), news: 0, many: false });
  }

  #keep({ items, next }) {
    this.#show(steady(this.table.items, items, next === null, this.#heard));
  }

  #show({ items, gone, news, many }) {
    this.#news = news;
    const { table: shown, params } = this;
    Object.assign(shown, { gone, order: params.order ?? "newest", hidden: !items.length });
    shown.show(items);
    const text = `${count(news)}${many ? "+" : ""} new`;
    if (this.news.textContent === (news ? text : "")) return;
    redraw(this.news, news > 0 && h("button", { class: "small", title: "Show them (u)", "data-focus": "news", on: { click: () => this.#look() } }, text));
  }

  #drawMore() {
    const { params, next, table: { items } } = this;
    const turn = (cursor) => amend({ cursor }, {});
    const forward = () => { this.#before.set(next, params.cursor); turn(next); };
    redraw(this.more,
      !items.length && !this.problem.firstChild && this.#nothing(),
      params.cursor && h("button", { "data-focus": "before", on: { click: () => turn(this.#before.get(params.cursor)) } }, "Previous"),
      next && h("button", { "data-focus": "next", on: { click: forward } }, items.length ? "Next" : "Go on"));
  }

  #nothing() {
    const { params } = this;
    const filter = filterOf(params);
    const all = () => this.#ask({ q: "", status: "", type: "", queue: "", roots: "", order: "" });
    if (this.next) return empty("Nothing found so far. Go on looks further back.");
    if (filter || params.cursor) return empty("No activity is like that.", filter && h("code", {}, filter), DIGITS.test(params.q ?? "") && h("p", {}, SHORT), h("button", { "data-focus": "all", on: { click: all } }, "Show all activities"));
    const made = h("button", { class: "primary", "data-focus": "enqueue", on: { click: () => this.#enqueue() } }, "Enqueue one");
    return empty("Nothing has been enqueued yet. An activity begins with a call of a task, as in:", h("code", {}, "await send_email.adelay(\"ada@example.com\")"), may("operator") && made);
  }

  #drawTabs() {
    const { by_status: by = {}, cap } = live.stats ?? {};
    const open = (wanted(this.params).status ?? "").split(",");
    for (const tab of this.tabs.children) {
      const { status } = tab.dataset;
      tab.setAttribute("aria-pressed", String(open.includes(status)));
      say(tab.lastChild, status in by ? ` ${count(by[status], cap)}` : "");
    }
  }

  /** Select none. */
  #drop() {
    this.table.picked.clear();
    this.table.show(this.table.items);
    this.#drawBulk();
  }

  #drawBulk() {
    const { picked, items } = this.table;
    const ids = [...picked];
    const filter = filterOf(this.params);
    const matching = filter && this.total?.count > 0 ? { filter, ...this.total } : null;
    const known = new Map(items.map((item) => [item.id, item.status]));
    const asked = wanted(this.params).status?.split(",") ?? STATES;
    const states = ids.length && ids.every((id) => known.has(id)) ? ids.map((id) => known.get(id)) : asked;
    const drawn = JSON.stringify([ids, matching, [...new Set(states)].sort()]);
    if (this.bulk.dataset.drawn === drawn) return;
    this.bulk.dataset.drawn = drawn;
    const given = () => { this.#drop(); this.refresh(); };
    const none = h("button", { class: "quiet small", "data-focus": "none", on: { click: () => this.#drop() } }, "Select none");
    const more = matching && matching.count > ids.length && items.every(({ id }) => picked.has(id));
    const all = h("button", { class: "quiet small", "data-focus": "all matching", on: { click: () => this.#drop() } }, `All ${count(matching?.count ?? 0)}${matching?.exact ? "" : "+"} that match`);
    redraw(this.bulk, bulkButtons(ids, matching, states, given), ids.length > 0 && [more && all, none]);
  }
}

customElements.define("tq-activities", Activities);
export default Activities;
