/**
 * What narrows and orders the list of activities, beside its filter: type, queue, roots only, order,
 * how many on a page. All of it lies in the address; the preferred size is kept too.
 */

import { get } from "../core/api.js";
import { h, redraw } from "../core/dom.js";
import { short } from "../core/format.js";
import { preferences } from "../core/preferences.js";
import { term } from "../core/term.js";

const SIZES = ["25", "50", "100", "200"];
const ORDERS = { newest: "Newest first", oldest: "Oldest first", due: "Due next", started: "Longest running" };
/** Orders that are for some states only. */
const NEEDS = { due: ["scheduled", "retrying"], started: ["processing"] };
/** States whose number is told beside a type or queue. */
const OPEN = ["pending", "processing", "scheduled", "retrying"];
/** Milliseconds for which these numbers are not asked for again. */
const FRESH = 10000;

/** What the API is asked for by the parameters of an address: the same for the list and its count. */
export function wanted({ q, status, roots, type, queue, order }) {
  return { q, status: status || NEEDS[order]?.join(), roots, type, queue };
}

/** The same as one text of the filter language: what a bulk command is about. */
export function filterOf(params) {
  const { q, status, roots, type, queue } = wanted(params);
  const words = [status && `status:${status}`, type && term("type", type), queue && term("queue", queue), roots && "-parent:*", q];
  return words.filter(Boolean).join(" ");
}

/** These changes of the parameters, with what they make meaningless: an order that is not for that state. */
export function consistent(params, changes) {
  const { order, status } = { ...params, ...changes };
  const fits = !NEEDS[order] || !status || status.split(",").every((each) => NEEDS[order].includes(each));
  if (fits) return changes;
  return "order" in changes ? { ...changes, status: "" } : { ...changes, order: "" };
}

/** A drop-down; `ask({name: value})` is called when something is chosen. */
export function select(label, name, ask) {
  return h("select", { "aria-label": label, "data-name": name, on: { change: ({ target }) => ask({ [name]: target.value }) } });
}

/** Let a drop-down have these options ([value, label]), and this one chosen, known or not. */
export function filled(element, options, value) {
  const known = options.some(([each]) => each === value) ? options : [...options, [value, value]];
  const text = JSON.stringify(known);
  if (element.dataset.options !== text) {
    element.dataset.options = text;
    redraw(element, known.map(([each, shown]) => h("option", { value: each }, shown)));
  }
  element.value = value;
}

function counted({ name, by_status: by, cap }) {
  const open = OPEN.reduce((sum, status) => sum + (by[status] ?? 0), 0);
  return [name, open ? `${name} · ${short(open)}${open >= cap ? "+" : ""}` : name];
}

/** A drop-down of what `api/types` or `api/queues` has, with how many of each have not ended. */
class Named {
  #path;
  #all;
  #items = [];
  #read = -FRESH;

  constructor(label, all, name, path, ask) {
    this.#path = path;
    this.#all = all;
    this.name = name;
    this.element = select(label, name, ask);
    this.element.title = "With how many have not ended";
    for (const kind of ["focus", "pointerenter"]) this.element.addEventListener(kind, () => this.read());
  }

  async read() {
    if (performance.now() - this.#read < FRESH) return;
    this.#read = performance.now();
    const { items } = await get(this.#path).catch(() => ({ items: this.#items })); // the list itself says what is wrong
    this.#items = items;
    this.draw(this.element.value);
  }

  draw(value) {
    filled(this.element, [["", this.#all], ...this.#items.map(counted)], value);
  }
}

/** The controls: `narrow` and `order` are lists of elements, `draw(params)` shows how they stand. */
export function narrowing(ask) {
  const named = [new Named("Type", "All types", "type", "types", ask), new Named("Queue", "All queues", "queue", "queues", ask)];
  const roots = h("input", { type: "checkbox", "data-name": "roots", on: { change: ({ target }) => ask({ roots: target.checked ? "true" : "" }) } });
  const order = select("Order", "order", ({ order: asked }) => ask({ order: asked === "newest" ? "" : asked }));
  const size = select("Rows on a page", "limit", ({ limit }) => {
    preferences.set("size", limit);
    ask({ limit });
  });
  return {
    narrow: [named.map(({ element }) => element), h("label", { class: "check", title: "Leaves out what another activity has made" }, roots, "Roots only")],
    order: [order, size],
    /** Ask what types and queues there are. */
    look: () => named.forEach((each) => each.read()),
    draw(params) {
      for (const each of named) each.draw(params[each.name] ?? "");
      roots.checked = params.roots === "true";
      filled(order, Object.entries(ORDERS), params.order ?? "newest");
      filled(size, SIZES.map((each) => [each, `${each} rows`]), sizeOf(params));
    },
  };
}

/** How many rows a page has. */
export function sizeOf({ limit }) {
  return limit ?? preferences.get("size");
}
