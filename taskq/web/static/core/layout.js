/**
 * Where the boxes of a tree stand: a layer for each generation, parents to the left of the middle of
 * their children. Pure.
 */

import { above, failed, parental } from "./outline.js";

export const BOX = { width: 192, height: 48 };
const GAP = { x: 104, y: 16 };
/** So many boxes are drawn; of more, siblings are put together. */
const MOST = 200;
const SHARES = [24, 12, 6, 3, 1];

/**
 * Boxes and lines of these entries (see outline.js), with the size of all. A box has `x`, `y` and
 * its `entry`, or, in place of several siblings with all below them, `parent` and `more`, the
 * entries. Nothing is put together below those in `spread` (ids), and never `current` or what it is
 * below.
 */
export function laidOut(entries, current, spread = new Set()) {
  const kept = above(entries, ({ activity }) => activity.id === current);
  const troubled = above(entries, failed);
  const children = entries.map(() => []);
  for (const entry of entries) children[entry.parent]?.push(entry);
  const roots = entries.filter(({ parent }) => parent < 0);
  const share = entries.length <= MOST ? Infinity : (SHARES.find((each) => count(entries, children, each) <= MOST) ?? 1);
  const tree = { children, kept, troubled, spread, share, room: entries.length <= MOST ? Infinity : MOST, low: 0, boxes: [], lines: [] };
  for (const root of roots) stand(tree, root);
  const width = Math.max(...tree.boxes.map(({ x }) => x)) + BOX.width;
  return { boxes: tree.boxes, lines: tree.lines, width, height: tree.low - GAP.y };
}

/** How many boxes there are if each parent shows so many children. */
function count(entries, children, share) {
  const shown = new Set();
  for (const entry of entries) {
    const siblings = children[entry.parent];
    if (!siblings || (shown.has(entry.parent) && entry.number <= share)) shown.add(entry.place);
  }
  return shown.size;
}

/** Put an entry and all below it where they belong; answers its box. */
function stand(tree, entry) {
  const { alone, together } = split(tree, entry);
  const x = entry.level * (BOX.width + GAP.x);
  tree.room -= 1;
  const below = alone.map((child) => stand(tree, child));
  if (together.length) below.push(add(tree, { more: together, parent: entry, x: x + BOX.width + GAP.x, y: next(tree) }));
  const y = below.length ? (below[0].y + below.at(-1).y) / 2 : next(tree);
  const box = add(tree, { entry, x, y });
  for (const each of below) tree.lines.push({ from: box, to: each });
  return box;
}

/** Which children of an entry have a box of their own, and which one together. */
function split({ children, kept, troubled, spread, share, room }, entry) {
  const all = children[entry.place];
  const most = spread.has(entry.activity.id) ? Infinity : room > 0 ? share : 0;
  if (all.length <= most + 1 && most > 0) return { alone: all, together: [] };
  const rank = (child) => (kept.has(child.place) ? 0 : troubled.has(child.place) ? 1 : parental(child) ? 2 : 3);
  const chosen = new Set(all.toSorted((a, b) => rank(a) - rank(b) || a.place - b.place).slice(0, most));
  for (const child of all) if (kept.has(child.place)) chosen.add(child);
  return { alone: all.filter((child) => chosen.has(child)), together: all.filter((child) => !chosen.has(child)) };
}

function next(tree) {
  const y = tree.low;
  tree.low += BOX.height + GAP.y;
  return y;
}

function add(tree, box) {
  tree.boxes.push(box);
  return box;
}
