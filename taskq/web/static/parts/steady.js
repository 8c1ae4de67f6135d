/**
 * A list that is read again and again, without a row that moves while somebody reads it.
 *
 * Rows change in place. Those that are new wait: they are counted, and come when they are asked for.
 * Those that no longer match stay where they are, and are told to be gone. Pure.
 */

/** The most that one page may have, by the API. */
const MOST = 200;
/** Read beyond what is shown, so that the last rows are still found below new ones. */
const BEYOND = 10;

/** How many to read, to find `shown` rows again below `news`. */
export function reach(shown, news) {
  return Math.min(MOST, shown + news + BEYOND);
}

/**
 * What to show, where `shown` was shown and `found` is there now, from the same place on; `ended`: no
 * more than that matches. `heard` has by id what was heard since of rows that may not be found again.
 * {items, gone: keys, news: how many new ones wait, many: or more}
 */
export function steady(shown, found, ended, heard = new Map()) {
  const now = new Map(found.map((item) => [item.id, item]));
  const before = new Set(shown.map(({ id }) => id));
  const known = shown.map(({ id }) => now.has(id));
  const last = found.findLastIndex(({ id }) => before.has(id));
  const above = last < 0 ? found : found.slice(0, last);
  const beyond = last >= 0 && last < found.length - 1;
  // What stands below the last row that was found again may just not have been reached.
  const covered = (place) => ended || beyond || place < known.lastIndexOf(true);
  return {
    items: shown.map((item) => now.get(item.id) ?? { ...item, ...heard.get(item.id) }),
    gone: new Set(shown.filter((_, place) => !known[place] && covered(place)).map(({ id }) => id)),
    news: above.filter(({ id }) => !before.has(id)).length,
    many: last < 0 && !ended,
  };
}
