/** Who has to do with one activity: what it has open below it, who waits for it, who shares its correlation. */

import { link } from "../core/address.js";
import { get } from "../core/api.js";
import { h } from "../core/dom.js";
import { duration, plural } from "../core/format.js";
import { term } from "../core/term.js";
import { OVER } from "./acts.js";
import { activityLink, chip, empty, meter, panel } from "./status.js";
import { time } from "./time.js";

/** Lines of a list; a link leads to the rest. */
const MOST = 12;

/** Ask what a filter finds; null where what is stored can be no filter's value. */
export function searched(path, params, signal) {
  return get(path, params, signal).catch((error) => {
    if (error.status !== 400) throw error;
    return null;
  });
}

/** Ask for those with the same correlation id or idempotency key; lists, or null where it has none. */
export async function neighbours(activity, signal) {
  const ask = async (field, value) => value && (await searched("activities", { q: term(field, value), limit: MOST + 1 }, signal))?.items.filter(({ id }) => id !== activity.id);
  const [correlated, keyed] = await Promise.all([ask("corr", activity.correlation_id), ask("key", activity.idempotency_key)]);
  return { correlated, keyed };
}

/** Of a tree's nodes, depth first, those below this one that have not ended. */
function openBelow(nodes, id) {
  const at = nodes.findIndex(({ activity }) => activity.id === id);
  const ends = nodes.findIndex((node, place) => place > at && node.level <= nodes[at].level);
  return at < 0 ? [] : nodes.slice(at + 1, ends < 0 ? undefined : ends).map(({ activity }) => activity).filter(({ status }) => !OVER.has(status));
}

function list(found, none) {
  if (!found.length) return h("p", { class: "soft" }, none);
  const lines = found.slice(0, MOST).map((each) => h("li", {},
    chip(each.status), h("span", {}, activityLink(each.id, each.step ?? each.type), " ", each.progress && meter(each.progress.done, each.progress.total ?? each.progress.done, "progress")),
    h("span", { class: "soft" }, each.duration === null ? null : duration(each.duration)), h("span", { class: "soft" }, time(each.created_at, "ago"))));
  return h("ul", { class: "lines" }, lines);
}

/** The panels, by name, with what each shows. */
export function related(activity, tree, { correlated, keyed }) {
  const open = tree ? openBelow(tree.nodes, activity.id) : [];
  const way = (q) => h("a", { href: link("activities", { q }) }, "Show all");
  const below = tree?.cut ? "Of the oldest 1000 members of the tree." : null;
  const not = "status:pending,scheduled,processing,retrying";
  const panels = [
    (activity.children > 0 || open.length > 0) && panel("Not ended below it", h("span", { class: "row" }, h("small", {}, plural(open.length, "activity", "activities"), below && ` · ${below}`), way(`${term("root", activity.root_id)} ${not}`)),
      list(open, "All that it has made has ended.")),
    activity.awaited_by.length > 0 && panel("Waited for by", h("small", {}, "whose call it answers"), h("ul", {}, activity.awaited_by.map((id) => h("li", {}, activityLink(id, id))))),
    correlated && panel("Same correlation", h("span", { class: "row" }, h("small", {}, activity.correlation_id), way(term("corr", activity.correlation_id))), list(correlated, "No other activity has this correlation id.")),
    keyed && panel("Same idempotency key", h("span", { class: "row" }, h("small", {}, activity.idempotency_key), way(term("key", activity.idempotency_key))), list(keyed, "It alone has this key.")),
    activity.parent_id && panel("Above it", null, h("ul", {}, h("li", {}, "Parent ", activityLink(activity.parent_id, activity.parent_id)), activity.root_id !== activity.parent_id && h("li", {}, "Root ", activityLink(activity.root_id, activity.root_id)))),
  ].filter(Boolean);
  return panels.length ? panels : [empty("Nothing is related to it.", h("p", {}, "It has no parent, no children, no correlation id and no idempotency key."))];
}
