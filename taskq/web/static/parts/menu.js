/** A menu: a button that unfolds what hangs below it; Escape or a look elsewhere folds it again. */

import { h } from "../core/dom.js";

/** `label` is on the button, `content` below it. */
export function menu(label, ...content) {
  const summary = h("summary", { class: "button", "data-focus": `menu ${label}` }, label);
  const made = h("details", { class: "menu" }, summary, h("div", { class: "unfolded" }, content));
  const fold = (back) => {
    made.open = false;
    if (back) summary.focus();
  };
  made.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !made.open) return;
    event.stopPropagation();
    fold(true);
  });
  made.addEventListener("focusout", (event) => event.relatedTarget && !made.contains(event.relatedTarget) && fold(false));
  made.addEventListener("toggle", () => {
    const elsewhere = (event) => {
      if (made.open && made.contains(event.target)) return;
      document.removeEventListener("pointerdown", elsewhere);
      fold(false);
    };
    if (made.open) document.addEventListener("pointerdown", elsewhere);
  });
  return made;
}
