/** The keyboard. Keys do nothing while somebody types, or where a dialog is open. */

import { h } from "./dom.js";

const KEYS = new Map();
let before = "";

/**
 * Let keys act until `signal` ends. `keys` has, by key (`j`, or two after each other: `g o`),
 * what it does in words and the act.
 */
export function shortcuts(keys, signal) {
  for (const [key, [label, act]] of Object.entries(keys)) {
    KEYS.set(key, { label, act });
    signal?.addEventListener("abort", () => KEYS.get(key)?.act === act && KEYS.delete(key));
  }
}

function typing(target) {
  return target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (typing(event.target)) return;
  const two = KEYS.get(`${before} ${event.key}`);
  const found = two ?? KEYS.get(event.key);
  before = two ? "" : event.key;
  if (!found || (event.key === "Enter" && event.target.closest("a, button, summary"))) return;
  event.preventDefault();
  found.act(event);
}

document.addEventListener("keydown", pressed);

/** All keys that act now, for the page of help. */
export function help() {
  const row = ([key, { label }]) => [h("dt", {}, key.split(" ").map((each) => h("kbd", {}, each))), h("dd", {}, label)];
  return h("dl", { class: "keys" }, [...KEYS].map(row));
}
