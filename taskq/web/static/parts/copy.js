/** A button that copies a text, also where a browser has no clipboard for a page without https. */

import { h } from "../core/dom.js";
import { toast } from "./toast.js";

/** `text` is a string, or gives one when it is asked. */
export function copyButton(text, label = "Copy") {
  const act = () => copy(typeof text === "function" ? text() : text);
  return h("button", { class: "quiet small", "aria-label": label, "data-focus": `copy ${label}`, on: { click: act } }, "Copy");
}

/** Copy a text, and say so. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h("textarea", { class: "away", value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  toast("Copied");
}
