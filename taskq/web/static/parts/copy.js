/** Buttons that copy a text, also where a browser has no clipboard for a page without https, or save it as a file. */

import { h } from "../core/dom.js";
import { toast } from "./toast.js";

function called(text) {
  return typeof text === "function" ? text() : text;
}

/** `text` is a string, or gives one when it is asked. */
export function copyButton(text, label = "Copy") {
  return h("button", { class: "quiet small", "aria-label": label, "data-focus": `copy ${label}`, on: { click: () => copy(called(text)) } }, "Copy");
}

/** The same for a file of this name, which the browser makes: nothing is asked of a server. */
export function saveButton(text, file, label = "Save") {
  return h("button", { class: "quiet small", "aria-label": label, "data-focus": `save ${label}`, on: { click: () => save(called(text), file) } }, "Save");
}

/** Copy a text, and say so. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const held = document.activeElement;
    const area = h("textarea", { class: "away", value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    held?.focus();
  }
  toast("Copied");
}

/** Save a text as a file. */
function save(text, file) {
  const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  h("a", { href: address, download: file.replace(/[^\w.-]+/g, "-") }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
