/**
 * One activity: what it is, what happened to it, the tree that it is in. Only what the open tab
 * shows is read; what has not changed is not drawn anew, so that folds, scrolling and focus stay.
 */

import { amend, here, isId, link } from "../core/address.js";
import { get, part } from "../core/api.js";
import { h, listed, redraw, say } from "../core/dom.js";
import { plural } from "../core/format.js";
import { live } from "../core/live.js";
import { Page } from "../core/page.js";
import { may } from "../core/session.js";
import { blocked, details, errorOf, metadata, payloads, progress, stands } from "../parts/about.js";
import { acts, cancel, OVER, retry } from "../parts/acts.js";
import { attemptsOf } from "../parts/attempts.js";
import { copyButton } from "../parts/copy.js";
import "../parts/lineage.js";
import { neighbours, related, searched } from "../parts/related.js";
import { chip, choice, empty, panel } from "../parts/status.js";
import { timeline } from "../parts/timeline.js";

const TABS = [["", "Overview"], ["timeline", "Timeline"], ["attempts", "Attempts"], ["tree", "Tree"], ["related", "Related"], ["metadata", "Metadata"]];
const NAMES = TABS.map(([name]) => name);
const CAUSE = /^[0-9a-f]{8,}$/;
/** How often it is read when nothing is heard of it: a lease is renewed, and a row deleted, in silence. */
const RUNS = 10000;
const RESTS = 30000;

class Activity extends Page {
  title = "Activity";

  start() {
    this.id = here().path[1].toLowerCase();
    this.listen(live, "activities", ({ detail }) => this.#heard(detail));
    this.keys({
      ...(may("operator") && { r: ["retry", () => this.#act(retry, true)], c: ["cancel", () => this.#act(cancel, false)] }),
      "[": ["previous tab", () => this.#turn(-1)],
      "]": ["next tab", () => this.#turn(1)],
      ...Object.fromEntries(TABS.map(([name, label], place) => [String(place + 1), [label, () => amend({ tab: name })]])),
    });
  }

  disconnectedCallback() {
    clearTimeout(this.later);
    super.disconnectedCallback();
  }

  get tab() {
    const { tab = "" } = this.params;
    return NAMES.includes(tab) ? tab : "";
  }

  #turn(by) {
    amend({ tab: NAMES.at((NAMES.indexOf(this.tab) + by) % NAMES.length) });
  }

  /** Its own events matter to every tab, those of its tree where that is shown: a large one less often. */
  #heard(events) {
    if (!this.activity) return;
    const family = this.tab === "tree" || this.tab === "related";
    if (events.some(({ id, parent_id }) => id === this.id || parent_id === this.id)) this.soon(family ? this.#gap : 500);
    else if (family && events.some(({ root_id }) => root_id === this.activity.root_id)) this.soon(this.#gap);
  }

  get #gap() {
    return Math.max(500, Math.min(5000, (this.members ?? 0) * 4));
  }

  /** Do what a key is for, where the state allows it. */
  async #act(act, over) {
    if (!this.activity || OVER.has(this.activity.status) !== over) return;
    await act(this.activity);
    this.refresh();
  }

  async read(signal) {
    if (!isId(this.id)) return { missing: "This is no id of an activity. Ids have 32 digits and letters a to f." };
    try {
      return await this.#read(signal);
    } catch (error) {
      if (error.status !== 404) throw error;
      return { missing: this.activity ? "It was deleted while you looked at it." : "There is no activity with this id. It may have been deleted." };
    }
  }

  async #read(signal) {
    const { tab } = this;
    const path = `activities/${part(this.id)}`;
    const also = { timeline: "timeline", attempts: "timeline", tree: "tree" }[tab];
    const [activity, more] = await Promise.all([get(path, {}, signal), also && get(`${path}/${also}`, {}, signal)]);
    const found = { tab, activity, [also]: more };
    if (tab === "" && CAUSE.test(activity.fingerprint) && !activity.hidden) found.alike = await searched("activities/count", { q: `cause:${activity.fingerprint}` }, signal);
    if (tab === "related") {
      const [tree, near] = await Promise.all([activity.children > 0 ? get(`${path}/tree`, {}, signal) : null, neighbours(activity, signal)]);
      Object.assign(found, { tree, near });
    }
    return found;
  }

  draw(data) {
    clearTimeout(this.later);
    this.body.querySelector(":scope > .loading")?.remove();
    if (data.missing) return this.#missing(data.missing);
    const { activity, tree } = data;
    this.activity = activity;
    this.members = tree?.nodes.length;
    this.later = setTimeout(() => this.soon(), activity.status === "processing" ? RUNS : RESTS);
    this.#head(activity);
    listed(this.body, [{ name: "tabs", data: data.tab }, ...this.#parts(data)], ({ name }) => name, ({ name, data: of }) => this.#part(name, of));
    if (data.tab === "tree") redraw(this.body.querySelector("#family"), this.#tree(tree));
  }

  #head(activity) {
    const { type, step, status, cancel_requested_at: stops, queue, version, priority, children, ready_at } = activity;
    document.title = `${type} · taskq`;
    this.head.querySelector("h1:not([data-name])")?.remove();
    const parts = [
      { name: "h1", of: step ?? type }, { name: "chip", of: [status, stops && !OVER.has(status)] }, { name: "id" },
      { name: "acts", of: { status, queue, version, priority, children, ready_at, type } }, { name: "stands", of: { ...resting(activity), lease: activity.lease_until } },
    ];
    const make = {
      h1: ({ of }) => h("h1", { tabindex: "-1", "data-name": "type" }, of),
      chip: ({ of: [state, asked] }) => chip(state, asked && "being cancelled"),
      id: () => h("span", { class: "copied" }, h("span", { class: "id" }, activity.id), copyButton(activity.id, "Copy id")),
      acts: () => acts(activity, () => this.refresh()),
      stands: () => stands(activity),
    };
    listed(this.head, parts, ({ name }) => name, (each) => make[each.name](each));
  }

  /** What the open tab has, each part with what it depends on. */
  #parts({ tab, activity, alike, timeline: story, near, tree }) {
    const { error, status, progress: came } = activity;
    const view = this.params.view ?? "";
    const still = resting(activity);
    return {
      "": [
        activity.blocked_on.length > 0 && { name: "blocked", data: activity.blocked_on },
        came && { name: "progress", data: came },
        error && { name: "error", data: { error, fingerprint: activity.fingerprint, status, alike } },
        { name: "payloads", data: { arguments: activity.arguments, result: activity.result, hidden: activity.hidden, status } },
        { name: "details", data: still },
      ],
      timeline: [{ name: "timeline", data: { activity: still, story, view } }],
      attempts: [{ name: "attempts", data: { activity: still, story } }],
      tree: [{ name: "tree" }],
      related: [{ name: "related", data: { activity: still, tree, near } }],
      metadata: [{ name: "metadata", data: still }],
    }[tab].filter(Boolean);
  }

  #part(name, of) {
    const turn = (view) => amend({ view });
    const make = {
      tabs: () => h("div", {}, choice("View", TABS, of, (tab) => amend({ tab }))),
      blocked: () => blocked(of),
      progress: () => progress(of),
      error: () => errorOf(of, of.alike),
      payloads: () => payloads(of),
      details: () => details(of),
      timeline: () => timeline(of.activity, of.story, of.view, turn),
      attempts: () => group(attemptsOf(of.activity, of.story)),
      tree: () => h("div", { id: "family" }),
      related: () => group(related(of.activity, of.tree, of.near)),
      metadata: () => group(metadata(this.activity)),
    };
    return make[name]();
  }

  /** Where there is none: why, and where to go. */
  #missing(sentence) {
    const [type, id] = [this.activity?.type, this.id];
    this.activity = null;
    listed(this.head, [{ name: "h1", of: type ?? "No such activity" }], ({ name }) => name, ({ of }) => h("h1", { tabindex: "-1", "data-name": "type" }, of));
    this.head.querySelector("h1:not([data-name])")?.remove();
    listed(this.body, [sentence], (each) => each, () => empty(sentence, h("p", { class: "id" }, id), h("div", { class: "row" },
      h("a", { class: "button", href: link("activities") }, "All activities"), isId(id) && h("a", { class: "button", href: link("activities", { q: `root:${id}` }) }, "Activities below it"),
      isId(id) && h("button", { "data-focus": "again", on: { click: () => this.refresh() } }, "Look again"))));
  }

  #tree({ nodes, cut }) {
    this.lineage ??= h("tq-lineage");
    this.family ??= panel("Tree", h("small"), this.lineage); // it stays, so that the focus does
    say(this.family.querySelector("small"), cut ? "The 1000 oldest members" : plural(nodes.length, "member"));
    this.lineage.show(nodes, this.id);
    return this.family;
  }
}

/** What changes only with its state, without what is long. */
function resting({ arguments: _, result: __, metadata: ___, lease_until, progress: ____, blocked_on, ...rest }) {
  return rest;
}

function group(parts) {
  return h("div", { class: "body" }, parts);
}

customElements.define("tq-activity", Activity);
export default Activity;
