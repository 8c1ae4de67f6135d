/** What one prefers in this browser, who one is here and what one may do, and what answers. */

import { address, get } from "../core/api.js";
import { h, redraw } from "../core/dom.js";
import { duration } from "../core/format.js";
import { help } from "../core/keys.js";
import { Page } from "../core/page.js";
import { preferences } from "../core/preferences.js";
import { logOut, session } from "../core/session.js";
import { copyButton } from "../parts/copy.js";
import { show } from "../parts/dialog.js";
import { choice, facts, panel } from "../parts/status.js";
import { toast } from "../parts/toast.js";

const MAY = [
  ["viewer", "look at everything that is shown"],
  ["operator", "retry, cancel, run now, reschedule, pause, enqueue"],
  ["admin", "delete; make and change schedules"],
];
const APART = 2;

class Settings extends Page {
  title = "Settings";

  start() {
    this.listen(preferences, "change", () => this.refresh());
  }

  /** How far this clock is from the console's, in seconds; the way there and back is shared out. */
  async read(signal) {
    const sent = Date.now();
    const { now } = await get("session", {}, signal);
    return { ahead: ((sent + Date.now()) / 2 - Date.parse(now)) / 1000 };
  }

  draw({ ahead }) {
    const path = address("");
    const { href } = new URL(path, location.href);
    redraw(this.body,
      h("div", { class: "two" },
        panel("In this browser", null, h("div", { class: "settings" },
          pick("Theme", "theme", [["system", "System"], ["light", "Light"], ["dark", "Dark"]]),
          pick("Time zone", "zone", [["local", "Local"], ["utc", "UTC"]]),
          pick("Rows on a page", "size", ["25", "50", "100", "200"].map((each) => [each, each])),
          setting("List of activities", h("button", { class: "small", "data-focus": "columns", on: { click: () => { preferences.set("columns", ""); toast("The columns are as they were."); } } }, "Reset columns")),
          setting("Keys", h("button", { class: "small", "data-focus": "keys", on: { click: () => show("Keys", help()) } }, "Show all keys")))),
        panel("You", session.session && h("button", { class: "small", "data-focus": "log out", on: { click: logOut } }, "Log out"),
          facts([["Name", session.name], ["Role", session.role], ["Payloads", session.payloads ? "shown" : "hidden from your role"]]), rights())),
      panel("This console", null, facts([
        ["Version", session.version], ["Database", session.store], ["Mode", session.read_only ? "read only" : "read and command"], ["Clock of this browser", apart(ahead)],
        ["API", h("a", { href: `${path}openapi.json` }, "OpenAPI document")],
      ]), h("div", { class: "row base" }, h("span", { class: "soft" }, "Address of the API"), h("code", {}, href), copyButton(href, "Copy the address of the API"))));
  }
}

function setting(label, control) {
  return h("div", { class: "row" }, h("span", { class: "grow" }, label), control);
}

function pick(label, name, options) {
  return setting(label, choice(label, options, preferences.get(name), (value) => preferences.set(name, value)));
}

/** What each role may, and which of it one may. */
function rights() {
  const mine = MAY.findIndex(([role]) => role === session.role);
  const can = (place) => place <= mine && (place === 0 || !session.read_only);
  const line = ([role, words], place) => h("li", { class: can(place) ? "" : "soft" }, h("b", {}, can(place) ? "✓" : "–"), h("span", {}, words), h("small", {}, can(place) ? "" : session.read_only && place <= mine ? "read only" : `for ${role}s`));
  return h("ul", { class: "rights", "aria-label": "What you may do" }, MAY.map(line));
}

function apart(seconds) {
  const size = Math.abs(seconds);
  if (size < APART) return "as the console's";
  return h("span", { class: "is-pending" }, `${duration(Math.round(size))} ${seconds > 0 ? "ahead of" : "behind"} the console's`);
}

customElements.define("tq-settings", Settings);
export default Settings;
