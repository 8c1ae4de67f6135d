/** Speaks to the console's API. Addresses are relative: the console may lie under any path. */

import { query } from "./address.js";

const BASE = document.documentElement.dataset.api ?? "api/";

/** What the API refused, in one sentence for people; `code` is for programs. */
export class Problem extends Error {
  constructor(status, code, detail) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

/** The address of a route. */
export function address(path, params = {}) {
  return BASE + path + query(params);
}

/** Ask for something. Raises Problem. */
export function get(path, params, signal) {
  return answer(address(path, params), { signal, cache: "no-store" });
}

/** Give a command. A body that is a string is sent as it is, so that no number is rounded. */
export function post(path, body = {}) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return answer(address(path), { method: "POST", headers: { "content-type": "application/json" }, body: text });
}

async function answer(url, options) {
  let response;
  try {
    response = await fetch(url, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "unreachable", "The console cannot be reached. It is tried again.");
  }
  if (response.status === 401) leave();
  if (response.status === 204) return null;
  const body = await response.json().catch((error) => {
    if (error.name === "AbortError") throw error;
    return null;
  });
  if (response.ok && body !== null) return body;
  throw new Problem(response.status, body?.code ?? "", body?.detail ?? `The console answered ${response.status}.`);
}

/** To the page to log in at, which leads back to where one was. */
export function leave() {
  sessionStorage.setItem("taskq.back", location.hash);
  location.replace("login");
}

/** A path's part, whatever characters a name has. */
export function part(name) {
  return encodeURIComponent(name);
}

/** A new command id (UUID version 4); `crypto.randomUUID` is missing where there is no https. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
