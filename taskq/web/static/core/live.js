/**
 * The stream of what happens. One for the whole page; it is closed while the tab is hidden, and
 * goes on where it was.
 *
 * Events: `state` (`detail`: connecting, live, reconnecting, offline, stale), `stats` (numbers),
 * `activities` (a list of what happened), `control` (pauses), `again` (something is missing: read
 * again). All but `state` come at most four times a second, whatever happens meanwhile.
 */

import { address, get } from "./api.js";

const BEAT = 250;
/** Events that are worth reading one by one; of more at once a gap is told, and the lists are read anew. */
const MOST = 100;
const PATIENCE = [1000, 2000, 5000, 10000, 30000];

class Live extends EventTarget {
  state = "connecting";
  stats = null;
  #source = null;
  #last = null;
  #tries = 0;
  #waiting = 0;
  #news = { activities: [], control: null, stats: null, again: false };
  #beat = 0;

  /** Begin; once. */
  start() {
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#close() : this.#open()));
    window.addEventListener("online", () => this.#open());
    window.addEventListener("offline", () => this.#lost("offline"));
    this.#open();
  }

  #open() {
    if (this.#source || document.hidden) return;
    clearTimeout(this.#waiting);
    const source = new EventSource(address("stream", { after: this.#last, most: MOST }));
    this.#source = source;
    source.addEventListener("open", () => {
      this.#tries = 0;
      this.#become("live");
    });
    source.addEventListener("error", () => this.#lost(navigator.onLine ? "reconnecting" : "offline"));
    for (const kind of ["hello", "activity", "control", "stats", "gap", "reset", "stale", "live"]) {
      source.addEventListener(kind, (event) => this.#heard(kind, event));
    }
  }

  #heard(kind, event) {
    if (event.lastEventId) this.#last = event.lastEventId;
    if (kind === "stale" || kind === "live") this.#become(kind);
    else if (kind === "activity") this.#news.activities.push(event.data);
    else if (kind === "stats" || kind === "control") this.#news[kind] = JSON.parse(event.data);
    if (kind === "gap" || kind === "reset" || kind === "live") this.#news.again = true;
    this.#beat ||= setTimeout(() => this.#tell(), BEAT);
  }

  #tell() {
    const { activities, control, stats, again } = this.#news;
    this.#news = { activities: [], control: null, stats: null, again: false };
    this.#beat = 0;
    if (stats) this.stats = stats;
    if (stats) this.#dispatch("stats", stats);
    if (control) this.#dispatch("control", control);
    if (activities.length) this.#dispatch("activities", activities.map((text) => JSON.parse(text)));
    if (again) this.#dispatch("again");
  }

  #lost(state) {
    this.#close();
    this.#become(state);
    if (state === "offline") return;
    const wait = PATIENCE[Math.min(this.#tries++, PATIENCE.length - 1)];
    clearTimeout(this.#waiting);
    // Whoever is logged out is led to the page to log in by this answer.
    this.#waiting = setTimeout(() => get("session").then(() => this.#open(), () => this.#lost(state)), wait);
  }

  #close() {
    clearTimeout(this.#waiting);
    this.#source?.close();
    this.#source = null;
  }

  #become(state) {
    const back = state === "live" && (this.state === "reconnecting" || this.state === "offline");
    this.state = state;
    this.#dispatch("state", state);
    if (back) this.#dispatch("again");
  }

  #dispatch(kind, detail = null) {
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }
}

export const live = new Live();
