/** Going on, page by page; a search for what no index knows stops after a while, and goes on from where it was. */

import { amend } from "../core/address.js";
import { get } from "../core/api.js";
import { h } from "../core/dom.js";

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

/** Buttons to the newest page and to the `next` one (null: none); `name` is the parameter that says where one is. */
export function turning(params, name, next, label = "Older") {
  const button = (focus, text, to) => h("button", { "data-focus": focus, on: { click: () => amend({ [name]: to }, {}) } }, text);
  return [params[name] && button("newest", "Newest", ""), next && button("older", label, next)];
}
