/**
 * A page: an element that reads and draws. A subclass has `title`, `read(signal)`, which asks the
 * API, and `draw(data)`, which shows the answer in `this.body`.
 */

import { here } from "./address.js";
import { h, redraw } from "./dom.js";
import { live } from "./live.js";
import { shortcuts } from "./keys.js";

export class Page extends HTMLElement {
  title = "";
  #ends = new AbortController();
  #reading = null;
  #stale = false;
  #read = 0;
  #later = 0;
  #again = 0;

  /** Ends when another page is shown. */
  get signal() {
    return this.#ends.signal;
  }

  get params() {
    return here().params;
  }

  connectedCallback() {
    this.head = h("header", { class: "head" }, h("h1", { tabindex: "-1" }, this.title));
    this.trouble = h("div", { class: "trouble", role: "alert" });
    this.body = h("div", { class: "body" });
    this.append(this.head, this.trouble, this.body);
    this.listen(live, "again", () => this.soon(1000));
    this.listen(document, "visibilitychange", () => document.hidden || !this.#stale || this.refresh());
    this.start();
    this.refresh();
  }

  disconnectedCallback() {
    this.#ends.abort();
    clearTimeout(this.#later);
  }

  /** What is done once, before anything is read. */
  start() {}

  /** The parameters of the address have changed. */
  moved() {
    this.refresh();
  }

  /** Listen to something as long as this page is shown. */
  listen(target, kind, act) {
    target.addEventListener(kind, act, { signal: this.signal });
  }

  /** Keys of this page: see `shortcuts`. */
  keys(keys) {
    shortcuts(keys, this.signal);
  }

  /** Read and draw anew; what is being read for an older address is given up. */
  async refresh() {
    clearTimeout(this.#later);
    this.#later = 0;
    if (this.signal.aborted) return;
    this.#stale = document.hidden;
    if (document.hidden) return;
    this.#reading?.abort();
    const reading = new AbortController();
    this.#reading = reading;
    const signal = AbortSignal.any([reading.signal, this.signal]);
    const wait = setTimeout(() => this.#wait(), 200);
    try {
      const data = await this.read(signal);
      if (signal.aborted) return;
      this.#read = Date.now();
      redraw(this.trouble);
      this.body.removeAttribute("aria-busy");
      this.draw(data);
      this.dataset.ready = "";
    } catch (error) {
      if (!signal.aborted) this.#failed(error);
    } finally {
      clearTimeout(wait);
      if (this.#reading === reading) this.#reading = null;
      if (this.#again && !this.#reading) this.soon(this.#again);
      this.#again = 0;
    }
  }

  /** Read anew soon, but not more often than every `gap` ms, and not while nobody looks. */
  soon(gap = 1000) {
    if (this.#reading) this.#again = gap;
    if (this.#later || this.#reading) return;
    this.#later = setTimeout(() => this.refresh(), Math.max(0, this.#read + gap - Date.now()));
  }

  #wait() {
    this.body.setAttribute("aria-busy", "true");
    if (!this.body.firstChild) this.body.append(h("div", { class: "loading", role: "status" }, "Loading …"));
  }

  #failed(error) {
    if (!(error instanceof Error && "code" in error)) setTimeout(() => { throw error; });
    this.body.removeAttribute("aria-busy");
    this.body.querySelector(":scope > .loading")?.remove();
    const again = h("button", { "data-focus": "again", on: { click: () => this.refresh() } }, "Try again");
    redraw(this.trouble, h("p", { class: "problem" }, error.message), again);
    this.#read = Date.now();
    if (error.status === 0 || error.status === 503) this.soon(3000);
  }
}
