/** `<tq-time>`: a time, by the preferred zone or as how long ago; the exact one is its tooltip. */

import { ago, clock, duration, exact } from "../core/format.js";
import { h, say } from "../core/dom.js";
import { preferences } from "../core/preferences.js";

const SHOWN = new Set();

class Time extends HTMLElement {
  connectedCallback() {
    SHOWN.add(this);
    this.draw();
  }

  disconnectedCallback() {
    SHOWN.delete(this);
  }

  draw() {
    const iso = this.getAttribute("at");
    const how = this.getAttribute("how");
    if (how === "since") say(this, duration(Math.max(0, Math.round((Date.now() - Date.parse(iso)) / 1000))));
    else say(this, how === "ago" ? ago(iso) : clock(iso));
    this.title ||= exact(iso);
  }
}

customElements.define("tq-time", Time);

function redrawn(all) {
  if (document.hidden) return;
  for (const each of SHOWN) if (all || each.hasAttribute("how")) each.draw();
}

setInterval(redrawn, 1000);
document.addEventListener("visibilitychange", () => redrawn(true));
preferences.addEventListener("change", () => redrawn(true));

/**
 * A time; null: a dash. `how`: `ago` says how long ago it is, `since` counts the time that has
 * passed, else it is written by the clock.
 */
export function time(iso, how = null) {
  return iso ? h("tq-time", { at: iso, how }) : "–";
}
