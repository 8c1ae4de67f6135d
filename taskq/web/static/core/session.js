/** Who looks, and what they may do. */

import { get, post } from "./api.js";

const RANKS = ["viewer", "operator", "admin"];

/** What `api/session` says; filled before the first page is shown. */
export const session = {};

/** Ask who looks. */
export async function identify() {
  Object.assign(session, await get("session"));
}

/** Whether they may use what needs this role; never where the console can only look. */
export function may(role) {
  return !session.read_only && RANKS.indexOf(session.role) >= RANKS.indexOf(role);
}

/** End the session. */
export async function logOut() {
  await post("session/end");
  location.replace("login");
}
