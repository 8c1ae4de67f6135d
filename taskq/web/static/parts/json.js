/**
 * `<tq-json>`: JSON text, with members that fold, or exactly as it is stored; copied and saved as it
 * is stored. It is never read as values: digits stay as they are, however many. Of a large text
 * only what is open is drawn, and of that a piece at a time.
 */

import { h, redraw } from "../core/dom.js";
import { plural } from "../core/format.js";
import { blank, members } from "../core/jsontext.js";
import { copyButton, saveButton } from "./copy.js";

/** Characters of a text, and members, that are drawn at once; a button shows more. */
const MOST = 20000;
const WIDEST = 100;
const LONGEST = 2000;
/** A value that is no longer than this is open at first. */
const OPEN = 3000;

function kindOf(first) {
  if (first === '"') return "text";
  return /[\d-]/.test(first) ? "number" : "literal";
}

function value(text, { from, until }) {
  const whole = text.slice(from, until);
  const made = h("span", { class: `j-${kindOf(whole[0] ?? "")}` }, whole.slice(0, LONGEST));
  if (whole.length <= LONGEST) return made;
  const rest = () => grown(made, more, whole);
  const more = h("button", { class: "small", on: { click: rest } }, `Show more of ${plural(whole.length, "character")}`);
  return [made, "… ", more];
}

/** Let a piece of a long text show its next part; the button goes with the last one. */
function grown(place, button, whole) {
  place.append(whole.slice(place.textContent.length, place.textContent.length + MOST));
  if (place.textContent.length === whole.length) button.remove();
}

/** A member, or with a null name the whole: a line, or a fold that draws what it holds once open. */
function member(text, each, open) {
  const opening = text[each.from];
  const label = each.name !== null && [h("span", { class: "j-name" }, each.name), ": "];
  if (opening !== "{" && opening !== "[") return h("div", { class: "j-line" }, label, value(text, each));
  const held = members(text, each.from);
  const [one, closing] = opening === "{" ? ["member", "}"] : ["item", "]"];
  if (!held.length) return h("div", { class: "j-line" }, label, `${opening}${closing}`);
  const made = h("details", { open }, h("summary", {}, label, opening, h("small", {}, ` ${plural(held.length, one)} `), closing));
  const fill = () => made.open && made.childElementCount === 1 && made.append(folded(text, held));
  made.addEventListener("toggle", fill);
  fill();
  return made;
}

function folded(text, held) {
  const rows = h("div", { class: "j-held" });
  const more = h("button", { class: "small", on: { click: () => add() } });
  let drawn = 0;
  const add = () => {
    const piece = held.slice(drawn, drawn + WIDEST);
    more.before(...piece.map((each) => member(text, each, each.until - each.from <= OPEN / piece.length || each.until - each.from < 200)));
    drawn += piece.length;
    more.textContent = `Show more: ${plural(held.length - drawn, "is", "are")} left`;
    if (drawn === held.length) more.remove();
  };
  rows.append(more);
  add();
  return rows;
}

class Json extends HTMLElement {
  #raw = false;

  /** Show this text; null: it is hidden from one's role. `name` says what it is. */
  show(text, name) {
    this.text = text;
    this.name = name;
    this.draw();
  }

  draw() {
    const { text, name } = this;
    if (text === null) return redraw(this, h("p", { class: "soft" }, "Hidden from your role."));
    const turn = () => {
      this.#raw = !this.#raw;
      this.draw();
    };
    const folds = !this.#raw && /^\s*[{[]/.test(text);
    redraw(
      this,
      h("div", { class: "row tools" },
        h("button", { class: "quiet small", "aria-pressed": String(this.#raw), "data-focus": `raw ${name}`, on: { click: turn } }, "Raw"),
        copyButton(() => text, `Copy ${name}`), saveButton(() => text, `${name}.json`, `Save ${name}`)),
      folds ? this.#folds() : this.#piece(),
    );
  }

  #folds() {
    const { text } = this;
    return h("div", { class: "j-box", tabindex: "0", role: "group", "aria-label": this.name }, member(text, { name: null, from: blank(text, 0), until: text.length }, true));
  }

  #piece() {
    const { text } = this;
    const shown = h("pre", { tabindex: "0", role: "group", "aria-label": this.name }, text.slice(0, MOST));
    const more = h("button", { class: "small", on: { click: () => grown(shown, more, text) } }, "Show more");
    return [shown, text.length > MOST && more];
  }
}

customElements.define("tq-json", Json);

/** A piece of JSON under its name. */
export function json(text, name) {
  const made = h("tq-json");
  made.show(text, name);
  return made;
}
