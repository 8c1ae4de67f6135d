/** What one prefers in this browser, who one is, what this is. */

import { Page } from "../core/page.js";
import { get } from "../core/api.js";
import { redraw } from "../core/dom.js";
import { preferences } from "../core/preferences.js";
import { choice, facts, panel } from "../parts/status.js";

const CHOICES = [
  ["Theme", "theme", [["system", "System"], ["light", "Light"], ["dark", "Dark"]]],
  ["Times", "zone", [["local", "Local"], ["utc", "UTC"]]],
  ["Rows on a page", "size", [["25", "25"], ["50", "50"], ["100", "100"]]],
];

class Settings extends Page {
  title = "Settings";

  start() {
    this.listen(preferences, "change", () => this.refresh());
  }

  read(signal) {
    return get("session", {}, signal);
  }

  draw({ name, role, version, store, read_only }) {
    const chosen = ([label, key, options]) => [label, choice(label, options, preferences.get(key), (value) => preferences.set(key, value))];
    const mine = panel("This browser", null, facts(CHOICES.map(chosen)));
    const who = [["Name", name], ["Role", read_only ? `${role}, read only` : role], ["Version", version], ["Store", store]];
    redraw(this.body, mine, panel("This console", null, facts(who)));
  }
}

customElements.define("tq-settings", Settings);
export default Settings;
