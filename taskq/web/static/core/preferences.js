/** What somebody prefers in this browser; changes are told to whoever listens for `change`. */

const PREFIX = "taskq.";
const DEFAULTS = { theme: "system", zone: "local", size: "50", columns: "" };

class Preferences extends EventTarget {
  get(name) {
    try {
      return localStorage.getItem(PREFIX + name) ?? DEFAULTS[name];
    } catch {
      return DEFAULTS[name]; // a browser may refuse to keep anything
    }
  }

  set(name, value) {
    try {
      localStorage.setItem(PREFIX + name, value);
    } catch {
      DEFAULTS[name] = value;
    }
    this.dispatchEvent(new CustomEvent("change", { detail: name }));
  }
}

export const preferences = new Preferences();

/** Follow the preferred theme; `system` leaves it to the system. */
function applyTheme() {
  const theme = preferences.get("theme");
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

preferences.addEventListener("change", applyTheme);
applyTheme();
