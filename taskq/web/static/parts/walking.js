/** Pages of what no index knows: a search stops after a while, and goes on from where it was. */

import { get } from "../core/api.js";

/** Times that a search is sent on before it may say that nothing was found yet. */
const MOST = 8;

/** A page of `path` ({items, next}) that has something, as far as there is something to be found soon. */
export async function walked(path, params, signal) {
  let page = await get(path, params, signal);
  for (let time = 0; time < MOST && !page.items.length && page.next; time += 1) {
    page = await get(path, { ...params, cursor: page.next }, signal);
  }
  return page;
}
