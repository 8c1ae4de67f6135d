/** One activity: what it is, what happened to it, the tree that it is in. */

import { amend, here, link } from "../core/address.js";
import { get, part } from "../core/api.js";
import { h, redraw, say } from "../core/dom.js";
import { duration, plural, words } from "../core/format.js";
import { live } from "../core/live.js";
import { Page } from "../core/page.js";
import { may } from "../core/session.js";
import { acts, cancel, OVER, retry } from "../parts/acts.js";
import { copyButton } from "../parts/copy.js";
import { json } from "../parts/json.js";
import { activityLink, chip, choice, empty, facts, meter, panel } from "../parts/status.js";
import { time } from "../parts/time.js";
import "../parts/lineage.js";

const TABS = [["", "Overview"], ["timeline", "Timeline"], ["tree", "Tree"]];

class Activity extends Page {
  title = "Activity";

  start() {
    this.id = here().path[1];
    this.listen(live, "activities", ({ detail }) => {
      if (detail.some((event) => event.id === this.id || event.root_id === this.activity?.root_id)) this.soon(500);
    });
    this.keys({
      r: ["retry", () => this.#act(retry, true)],
      c: ["cancel", () => this.#act(cancel, false)],
    });
  }

  /** Do what a key is for, where the state and the role allow it. */
  async #act(act, over) {
    if (!this.activity || !may("operator") || OVER.has(this.activity.status) !== over) return;
    await act(this.activity);
    this.refresh();
  }

  async read(signal) {
    const path = `activities/${part(this.id)}`;
    const [activity, timeline, tree] = await Promise.all([
      get(path, {}, signal), get(`${path}/timeline`, {}, signal), get(`${path}/tree`, {}, signal),
    ]);
    return { activity, timeline, tree };
  }

  draw({ activity, timeline, tree }) {
    this.activity = activity;
    document.title = `${activity.type} · taskq`;
    redraw(this.head, h("h1", { tabindex: "-1" }, activity.step ?? activity.type), chip(activity.status, activity.cancel_requested_at && "being cancelled"),
      h("span", { class: "id" }, activity.id), copyButton(activity.id, "Copy id"), acts(activity, () => this.refresh()));
    const tab = this.params.tab ?? "";
    const views = { "": () => this.#overview(activity), timeline: () => [timelineOf(timeline)], tree: () => [this.#tree(tree)] };
    redraw(this.body, choice("View", TABS, tab, (name) => amend({ tab: name })), (views[tab] ?? views[""])());
  }

  #overview(activity) {
    const { error, progress } = activity;
    return [
      activity.blocked_on.length > 0 && panel("Blocked on", null, h("ul", {}, activity.blocked_on.map((child) => h("li", { class: "row" }, chip(child.status), activityLink(child.id, child.step ?? child.type))))),
      panel("Details", null, facts(details(activity))),
      progress && panel("Progress", time(progress.at, "ago"), h("p", {}, meter(progress.done, progress.total ?? progress.done, "progress"), `${progress.done} / ${progress.total ?? "?"} `, progress.note)),
      error && panel("Error", activity.fingerprint && h("a", { href: link("activities", { q: `cause:${activity.fingerprint}` }) }, "Same cause"),
        h("p", { class: "problem" }, `${error.type}: ${error.message ?? "hidden from your role"}`), error.traceback && h("pre", { tabindex: "0", "aria-label": "Traceback" }, error.traceback), error.traceback && copyButton(error.traceback, "Copy traceback")),
      h("div", { class: "two" }, panel("Arguments", null, json(activity.arguments, "arguments")), (activity.result !== null || activity.hidden) && panel("Result", null, json(activity.result, "result"))),
      activity.metadata && activity.metadata !== "{}" && panel("Metadata", null, json(activity.metadata, "metadata")),
    ];
  }

  #tree({ nodes, cut }) {
    this.lineage ??= h("tq-lineage");
    this.family ??= panel("Tree", h("small"), this.lineage); // it stays, so that the focus does
    say(this.family.querySelector("small"), cut ? "The 1000 oldest members" : plural(nodes.length, "member"));
    this.lineage.show(nodes, this.id);
    return this.family;
  }
}

function details(a) {
  const waited = a.started_at ? (Date.parse(a.started_at) - Date.parse(a.ready_at)) / 1000 : null;
  const search = (q, text) => text && h("a", { href: link("activities", { q }) }, text);
  return [
    ["Type", h("a", { href: link("activities", { type: a.type }) }, a.type)], ["Queue", a.queue], ["Priority", a.priority.toLowerCase()],
    ["Created", time(a.created_at)], ["Ready", time(a.ready_at)], ["Started", a.started_at && time(a.started_at)], ["Ended", a.finished_at && time(a.finished_at)],
    ["Waited", waited === null || waited < 0 ? null : duration(waited)], ["Ran", a.status === "processing" ? time(a.started_at, "since") : a.duration && duration(a.duration)],
    ["Attempts", `${a.attempts} / ${a.max_attempts ?? "∞"}`], ["Crashes", a.crash_count || null], ["Timeout", a.timeout && duration(a.timeout)],
    ["Worker", a.worker_name ?? a.worker], ["Lease until", a.lease_until && time(a.lease_until, "ago")],
    ["Parent", a.parent_id && activityLink(a.parent_id)], ["Root", a.parent_id && activityLink(a.root_id)], ["Children", a.children || null], ["Step", a.step],
    ["Expires", a.expires_at && time(a.expires_at)], ["Deadline", a.deadline_at && time(a.deadline_at)],
    ["Idempotency key", a.idempotency_key], ["Source", a.source], ["User", a.user_id],
    ["Correlation", search(`corr:${JSON.stringify(a.correlation_id ?? "")}`, a.correlation_id)],
    ["Tags", Object.entries(a.tags).map(([name, value]) => `${name}: ${value}`).join(", ")],
  ];
}

function timelineOf({ items, cut }) {
  const line = (entry, place) => {
    const before = items[place - 1];
    const detail = Object.entries(entry.detail).map(([name, value]) => `${words(name)}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join("\n");
    return h("li", {}, h("b", {}, words(entry.kind)), entry.attempt && h("small", {}, ` attempt ${entry.attempt}`), " ", time(entry.at),
      before && h("small", {}, ` after ${duration((Date.parse(entry.at) - Date.parse(before.at)) / 1000)}`), detail && h("pre", {}, detail));
  };
  return panel("Timeline", cut && h("small", {}, "the newest 1000"), items.length ? h("ol", { class: "timeline" }, items.map(line)) : empty("Nothing is on record."));
}

customElements.define("tq-activity", Activity);
export default Activity;
