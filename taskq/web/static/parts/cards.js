/** The overview's cards: how many there are of what, and where to see them. */

import { link } from "../core/address.js";
import { h, listed } from "../core/dom.js";
import { count, duration, plural, short, words } from "../core/format.js";
import { coarse, spark } from "./spark.js";
import { meter } from "./status.js";

/** Seconds after which workers have surely told what they did. */
const TOLD = 10;

/**
 * Show the cards in a container: `stats` are the numbers now, `series` all outcomes in steps, `span`
 * its window in words.
 */
export function showCards(container, stats, series, span) {
  listed(container, cards(stats, series, span), ({ label }) => label, card);
}

/** How many a minute, over what has been seen: from the first step with something, until now. */
export function rate({ at, step, lines: [line] }, outcome, now = Date.now()) {
  const begun = Math.min(...Object.values(line.outcomes).map((values) => values.findIndex(Boolean)).filter((place) => place >= 0));
  if (begun === Infinity) return 0;
  const last = at.length - 1;
  const current = Math.min(step, Math.max(TOLD, (now - Date.parse(at[last])) / 1000));
  return (60 * (line.total[outcome] ?? 0)) / ((last - begun) * step + current);
}

function cards(stats, series, span) {
  const [{ outcomes, total }] = series.lines;
  const of = (status, more) => ({
    label: words(status), more, hue: `is-${status}`, value: count(stats.by_status[status] ?? 0, stats.cap),
    href: status === "dead_letter" ? link("dead") : link("activities", { status }),
  });
  const ended = (status, more = `${short(total[status] ?? 0)} in ${span}`) => ({ ...of(status, more), values: coarse(outcomes[status] ?? series.at.map(() => 0)), span });
  const old = stats.oldest_pending;
  return [
    of("processing", `${count(stats.slots_used)} of ${plural(stats.slots, "slot")} used`),
    of("pending", old === null ? "nothing waits" : `oldest: ${duration(Math.round(old))}`),
    of("scheduled", "not due yet"),
    { label: "workers", value: count(stats.workers), hue: "", more: `${plural(stats.slots, "slot")} in all`, href: link("workers"), slots: [stats.slots_used, stats.slots] },
    ended("completed", `${short(rate(series, "completed"))} a minute`),
    ended("retrying"), ended("failed"), ended("dead_letter"),
  ];
}

/** What a card's word means, where it does not say so itself. */
const MEANT = {
  failed: "Must not be tried again: its handler said so, or it cannot succeed.", "dead letter": "Has used up its retries. It stays until somebody retries or deletes it.",
  retrying: "Failed, and waits for its next attempt.",
};

function card({ label, value, more, hue, href, values, span, slots }) {
  const picture = values ? spark(values, `${label}, in ${span}`) : slots && meter(...slots, "slots used");
  return h("a", { class: "kpi", href, title: MEANT[label] }, h("span", {}, label), h("b", { class: hue }, value), picture && h("span", { class: `trend ${hue}` }, picture), h("small", {}, more));
}
