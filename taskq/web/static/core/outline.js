/**
 * A tree as a list, depth first, with what its rows need to know of each other. Pure.
 *
 * An entry has its `activity` and `level`, the places in the list of its `parent` (-1: none) and of
 * what follows behind all below it (`end`), and which of how many siblings it is (`number`, `of`).
 */

const FAILURES = new Set(["failed", "dead_letter"]);

/** The entries of the API's nodes. */
export function outline(nodes) {
  const path = [];
  const siblings = new Map();
  const entries = nodes.map(({ activity, level }, place) => {
    const depth = Math.min(level, path.length);
    path.length = depth;
    const parent = depth ? path[depth - 1] : -1;
    path.push(place);
    const number = (siblings.get(parent) ?? 0) + 1;
    siblings.set(parent, number);
    return { activity, level: depth, parent, place, number, end: place + 1 };
  });
  for (const entry of entries.toReversed()) {
    const above = entries[entry.parent];
    if (above) above.end = Math.max(above.end, entry.end);
    entry.of = siblings.get(entry.parent);
  }
  return entries;
}

/** Whether something is below it. */
export function parental(entry) {
  return entry.end > entry.place + 1;
}

/** Whether it is one that somebody has to look at. */
export function failed({ activity }) {
  return FAILURES.has(activity.status);
}

/** Those that are shown: not below a closed one; with `only`, those in this state and what they are below. */
export function unfolded(entries, closed, only) {
  const wanted = only && above(entries, (entry) => entry.activity.status === only);
  const shown = [];
  for (let place = 0; place < entries.length; ) {
    const entry = entries[place];
    const fits = !wanted || wanted.has(place);
    if (fits) shown.push(entry);
    place = !fits || closed.has(entry.activity.id) ? entry.end : place + 1;
  }
  return shown;
}

/** The places of those that fit, and of all that they are below. */
export function above(entries, fits) {
  const found = new Set();
  for (const entry of entries.filter(fits)) {
    for (let at = entry; at && !found.has(at.place); at = entries[at.parent]) found.add(at.place);
  }
  return found;
}

/** How many are in each state. */
export function tally(entries) {
  const counts = {};
  for (const { activity } of entries) counts[activity.status] = (counts[activity.status] ?? 0) + 1;
  return counts;
}
