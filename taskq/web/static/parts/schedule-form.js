/**
 * `<tq-schedule-form>`: what a schedule calls, and when, with its next times beside it while it is
 * typed. `show({item, like, types})` once: `item` is the one to change, `like` one whose values
 * stand in it, `types` the tasks of the app. What is missing or wrong is said at its field, before
 * anything is sent.
 */

import { go } from "../core/address.js";
import { get, newId, part, post } from "../core/api.js";
import { h, redraw, say } from "../core/dom.js";
import { clock, secondsOf, zoneName } from "../core/format.js";
import { flawOfArguments } from "../core/jsontext.js";
import { sentence } from "./schedule-acts.js";
import { field, HERE, inputs, length, zones } from "./schedule-fields.js";
import { signature, skeleton } from "./signature.js";
import { choice, panel } from "./status.js";
import { time } from "./time.js";
import { toast } from "./toast.js";

const WAIT = 250;

class ScheduleForm extends HTMLElement {
  #id = newId();
  #later = 0;
  #asked = null;
  #good = false;
  #known = false;
  #times = "";

  disconnectedCallback() {
    clearTimeout(this.#later);
    this.#asked?.abort();
  }

  show({ item = null, like = item, types }) {
    this.item = item;
    this.before = like;
    this.types = types;
    this.kind = like?.every ? "every" : "cron";
    this.#makeInputs(item, like ?? {});
    this.problem = h("div", { role: "alert" });
    this.submit = h("button", { type: "submit", class: "primary" }, item ? "Save" : "Create schedule");
    this.times = h("div", { class: "times" });
    this.append(h("form", { class: "asking", novalidate: true, on: { submit: (event) => this.#send(event), input: () => this.#typed() } }, this.#parts()));
    this.#about();
    this.#times = JSON.stringify(this.#given);
    this.#preview();
  }

  #makeInputs(item, like) {
    const names = [...new Set([...this.types.map(({ name }) => name), ...(like.type ? [like.type] : [])])].sort();
    this.begun = this.#begun(like.type ?? names[0]);
    this.fields = inputs(item, like, names, this.begun);
    this.fields.type.addEventListener("change", () => this.#follow());
  }

  #task(type) {
    return this.types.find(({ name }) => name === type)?.task;
  }

  /** Arguments to begin with. */
  #begun(type) {
    const task = this.#task(type);
    return task ? skeleton(task) : "{}";
  }

  /** Arguments that nobody has touched follow the type. */
  #follow() {
    const next = this.#begun(this.fields.type.value);
    if (this.fields.arguments.value === this.begun) this.fields.arguments.value = next;
    this.begun = next;
    this.#typed();
  }

  #parts() {
    const { fields } = this;
    this.when = h("div", { class: "grid" });
    this.nameless = h("small", { class: "problem", id: "schedule-nameless", role: "alert" });
    this.uneven = h("small", { class: "problem", id: "schedule-uneven", role: "alert" });
    this.takes = h("small", { id: "schedule-takes" });
    this.wrong = h("small", { class: "problem", role: "status" });
    this.#drawWhen();
    return [
      panel("What runs", null, h("div", { class: "grid" },
        field("Name", fields.name, this.nameless), field("Type", fields.type), field("Queue", fields.queue), field("Priority", fields.priority),
        h("div", { class: "field wide" }, h("label", { for: "schedule-arguments" }, "Arguments, a JSON object"), fields.arguments, this.takes, this.wrong))),
      panel("When", null, this.when, zones()),
      h("aside", { class: "panel", "aria-label": "Next times" }, h("header", {}, h("h2", {}, "Next times")), this.times),
      panel("Options", null, h("div", { class: "grid" },
        field("Missed times", fields.catch_up), field("While the last one runs", fields.overlap),
        field("Spread over (seconds, or 5m)", fields.jitter, this.uneven), field("Reason, for the audit", fields.reason))),
      this.problem,
      h("div", { class: "row" }, this.submit, h("button", { type: "button", class: "quiet", on: { click: () => go(this.item ? ["schedules", this.item.name] : "schedules") } }, "Back"))];
  }

  #drawWhen() {
    const { fields } = this;
    const turn = (kind) => {
      this.kind = kind;
      this.#drawWhen();
      this.#typed();
    };
    this.bad = h("small", { class: "problem", id: "schedule-bad", role: "alert" });
    const hint = h("small", { class: "wide" }, this.kind === "cron" ? "Minute, hour, day of month, month, day of week; a sixth field in front is seconds. Also @daily and the like." : "Counted from 1970, so that no restart moves it.");
    redraw(this.when, h("div", { class: "wide" }, choice("Kind of times", [["cron", "Cron"], ["every", "Interval"]], this.kind, turn)),
      this.kind === "cron" ? [field("Cron", fields.cron), field("Zone", fields.tz)] : field("Every", fields.number, fields.unit),
      hint, h("div", { class: "wide" }, this.bad));
  }

  get #given() {
    const { cron, tz, number, unit } = this.fields;
    return this.kind === "cron" ? { cron: cron.value.trim(), tz: tz.value.trim() } : { every: length(number.value, unit.value) };
  }

  #typed() {
    this.#about();
    if (this.fields.name.value.trim()) this.#blame("name", this.nameless, "");
    if (this.#jitter >= 0) this.#blame("jitter", this.uneven, "");
    const times = JSON.stringify(this.#given);
    if (times === this.#times) return;
    this.#times = times;
    this.#known = false;
    clearTimeout(this.#later);
    this.#later = setTimeout(() => this.#preview(), WAIT);
  }

  /** What the type takes, and whether the arguments are an object. */
  #about() {
    const task = this.#task(this.fields.type.value);
    say(this.takes, task ? `It takes ${signature(task)}` : "");
    say(this.wrong, flawOfArguments(this.fields.arguments.value) ?? "");
    this.fields.arguments.setAttribute("aria-invalid", String(Boolean(this.wrong.textContent)));
  }

  get #jitter() {
    return secondsOf(this.fields.jitter.value.trim() || "0");
  }

  /** Say at a field what is wrong with it; with an empty sentence, nothing. */
  #blame(name, place, sentence) {
    say(place, sentence);
    this.fields[name].setAttribute("aria-invalid", String(Boolean(sentence)));
  }

  /** The first field that is missing or wrong, as it is said there; else null. */
  #wrong() {
    const { fields } = this;
    this.#blame("name", this.nameless, fields.name.value.trim() ? "" : "It needs a name.");
    this.#blame("jitter", this.uneven, this.#jitter >= 0 ? "" : "No length of time: 90, 5m, 1h30m.");
    if (this.nameless.textContent) return fields.name;
    if (this.wrong.textContent) return fields.arguments;
    if (!this.#good) return this.kind === "cron" ? fields.cron : fields.number;
    return this.uneven.textContent ? fields.jitter : null;
  }

  async #preview() {
    this.#asked?.abort();
    this.#asked = new AbortController();
    const given = this.#given;
    clearTimeout(this.#later);
    try {
      if (this.kind === "cron" && !given.cron) throw Object.assign(new Error("Say when."), { status: 400 });
      if (this.kind === "every" && Number.isNaN(given.every)) throw Object.assign(new Error("No length of time: a number, or 90s, 5m, 1h30m."), { status: 400 });
      const found = await get("schedule-preview", given, this.#asked.signal);
      this.#good = true;
      say(this.bad, "");
      this.#drawTimes(found);
    } catch (error) {
      if (error.name === "AbortError") return;
      this.#good = false;
      say(this.bad, error.message);
      redraw(this.times, h("p", { class: "soft" }, "–"));
    }
    for (const each of [this.fields.cron, this.fields.number]) each.setAttribute("aria-invalid", String(!this.#good));
    this.#known = true;
  }

  #drawTimes({ when, timezone, upcoming }) {
    const other = timezone !== HERE || zoneName() === "UTC";
    const row = (at) => h("li", {}, h("b", {}, clock(at, timezone)), other && h("span", { class: "soft" }, `${clock(at)} ${zoneName()}`), h("small", {}, time(at, "ago")));
    redraw(this.times, h("p", {}, sentence(when)), h("small", {}, timezone), upcoming.length ? h("ol", {}, upcoming.map(row)) : h("p", { class: "problem" }, "It never comes."));
  }

  /** Only what has changed: what is hidden stays as it is. */
  #body() {
    const { name, type, queue, priority, catch_up, overlap, reason } = this.fields;
    const base = { reason: reason.value, command_id: this.#id, ...this.#given, catch_up: catch_up.value, overlap: overlap.value, jitter: this.#jitter };
    const text = this.fields.arguments.value.trim();
    const { item } = this;
    const other = type.value !== item?.type;
    if (item) base.revision = item.revision;
    else base.name = name.value.trim();
    if (other) base.type = type.value;
    if (queue.value.trim() && (other || queue.value.trim() !== item.queue)) base.queue = queue.value.trim();
    if (priority.value && (other || priority.value !== item.priority)) base.priority = priority.value;
    const said = other || text !== (item.arguments ?? "{}").trim() ? `,"arguments":${text}` : "";
    return `${JSON.stringify(base).slice(0, -1)}${said}}`;
  }

  async #send(event) {
    event.preventDefault();
    if (this.submit.disabled) return;
    this.submit.disabled = true;
    if (!this.#known) await this.#preview();
    const wrong = this.#wrong();
    if (wrong) wrong.focus();
    else await this.#give();
    this.submit.disabled = false;
  }

  async #give() {
    try {
      const { name } = await post(this.item ? `schedules/${part(this.item.name)}/edit` : "schedules", this.#body());
      toast(this.item ? `${name} is changed.` : `${name} is made.`);
      go(["schedules", name]);
    } catch (error) {
      redraw(this.problem, h("p", { class: "problem" }, error.message));
      this.#id = error.status === 0 ? this.#id : newId();
    }
  }
}

customElements.define("tq-schedule-form", ScheduleForm);

/** The form for these. */
export function scheduleForm(given) {
  const made = h("tq-schedule-form");
  made.show(given);
  return made;
}
