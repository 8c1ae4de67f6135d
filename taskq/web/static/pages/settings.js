/** What one prefers in this browser, who one is here, and where the API is. */

import { h, redraw } from "../core/dom.js";
import { Page } from "../core/page.js";
import { preferences } from "../core/preferences.js";
import { session } from "../core/session.js";
import { choice, facts, panel } from "../parts/status.js";

const MAY = { viewer: "look", operator: "look and command", admin: "look, command, delete and make schedules" };

class Settings extends Page {
  title = "Settings";

  start() {
    this.listen(preferences, "change", () => this.refresh());
  }

  async read() {
    return preferences;
  }

  draw() {
    const pick = (label, name, options) => h("div", { class: "row" }, h("span", { class: "grow" }, label), choice(label, options, preferences.get(name), (value) => preferences.set(name, value)));
    redraw(this.body,
      panel("In this browser", null,
        pick("Theme", "theme", [["system", "As the system"], ["light", "Light"], ["dark", "Dark"]]),
        pick("Times", "zone", [["local", "Local"], ["utc", "UTC"]]),
        pick("Rows on a page", "size", ["25", "50", "100", "200"].map((each) => [each, each]))),
      panel("Here", null, facts([
        ["Name", session.name], ["Role", session.role], ["May", session.read_only ? "look: this console is read only" : MAY[session.role]],
        ["Payloads", session.payloads ? "shown" : "hidden"], ["taskq", session.version], ["Database", session.store],
        ["API", h("a", { href: "api/openapi.json" }, "OpenAPI document")],
      ])));
  }
}

customElements.define("tq-settings", Settings);
export default Settings;
