/**
 * `<tq-schedule-form>`: what a schedule calls, and when, with its next times beside it while it is
 * typed. `show({item, like, types})` once: `item` is the one to change, `like` one whose values
 * stand in it, `types` the tasks of the app. Nothing invalid can be sent.
 */

import { go } from "../core/address.js";
import { get, newId, part, post } from "../core/api.js";
import { h, redraw, say } from "../core/dom.js";
import { clock, zoneName } from "../core/format.js";
import { flawOfArguments } from "../core/jsontext.js";
import { sentence } from "./schedule-acts.js";
import { signature } from "./signature.js";
import { choice, LEVELS, panel } from "./status.js";
import { time } from "./time.js";
import { toast } from "./toast.js";

const HERE = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
const UNITS = [["1", "seconds"], ["60", "minutes"], ["3600", "hours"], ["86400", "days"]];
const CATCH_UP = [["latest", "run the latest of them, once"], ["none", "leave out what is more than 10 s late"], ["all", "run all of them"]];
const OVERLAP = [["allow", "run the next all the same"], ["skip", "leave the next out"], ["queue", "let the next wait until it has ended"]];
const WAIT = 250;

class ScheduleForm extends HTMLElement {
  #id = newId();
  #later = 0;
  #asked = null;
  #good = false;
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
    this.append(h("form", { class: "asking", on: { submit: (event) => this.#send(event), input: () => this.#typed() } }, this.#parts()));
    this.#about();
    this.#times = JSON.stringify(this.#given);
    this.#preview();
  }

  #makeInputs(item, like) {
    const input = (name, value, more = {}) => h("input", { id: `schedule-${name}`, value: value ?? "", autocomplete: "off", spellcheck: "false", ...more });
    const select = (name, options, value) => Object.assign(h("select", { id: `schedule-${name}` }, options.map(([is, label]) => h("option", { value: is }, label))), { value });
    const names = [...new Set([...this.types.map(({ name }) => name), ...(like.type ? [like.type] : [])])].sort();
    const [number, unit] = apart(like.every ?? 3600);
    this.fields = {
      name: input("name", item?.name, { maxlength: 200, required: true, disabled: item !== null }),
      type: select("type", names.map((each) => [each, each]), like.type ?? names[0] ?? ""),
      arguments: h("textarea", { id: "schedule-arguments", rows: 4, spellcheck: "false", value: like.arguments ?? "{}" }),
      cron: input("cron", like.cron ?? "0 9 * * *", { class: "id" }),
      tz: input("tz", like.cron ? like.timezone : HERE, { list: "zones" }),
      number: input("number", number, { type: "number", min: 0, step: "any" }),
      unit: select("unit", UNITS, unit),
      queue: input("queue", like.queue, { placeholder: "the task's own" }),
      priority: select("priority", [["", "the task's own"], ...LEVELS], like.priority ?? ""),
      catch_up: select("catch_up", CATCH_UP, like.catch_up ?? "latest"),
      overlap: select("overlap", OVERLAP, like.overlap ?? "allow"),
      jitter: input("jitter", like.jitter ?? 0, { type: "number", min: 0, step: "any" }),
      reason: input("reason", "", { maxlength: 1000 }),
    };
    this.fields.unit.setAttribute("aria-label", "Unit");
    this.zones = h("datalist", { id: "zones" }, ["UTC", ...Intl.supportedValuesOf("timeZone")].map((each) => h("option", { value: each })));
  }

  #parts() {
    const { fields } = this;
    this.when = h("div", { class: "grid" });
    this.takes = h("small", { id: "schedule-takes" });
    this.wrong = h("small", { class: "problem", role: "status" });
    fields.arguments.setAttribute("aria-describedby", "schedule-takes");
    this.#drawWhen();
    return [
      panel("What runs", null, h("div", { class: "grid" },
        field("Name", fields.name), field("Type", fields.type), field("Queue", fields.queue), field("Priority", fields.priority),
        h("div", { class: "field wide" }, h("label", { for: "schedule-arguments" }, "Arguments, a JSON object"), fields.arguments, this.takes, this.wrong))),
      panel("When", null, this.when, this.zones),
      h("aside", { class: "panel", "aria-label": "Next times" }, h("header", {}, h("h2", {}, "Next times")), this.times),
      panel("Options", null, h("div", { class: "grid" },
        field("Missed times", fields.catch_up), field("While the last one runs", fields.overlap),
        field("Spread over, in seconds", fields.jitter), field("Reason, for the audit", fields.reason))),
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
    return this.kind === "cron" ? { cron: cron.value.trim(), tz: tz.value.trim() } : { every: Number(number.value) * Number(unit.value) };
  }

  #typed() {
    this.#about();
    const times = JSON.stringify(this.#given);
    if (times === this.#times) return;
    this.#times = times;
    this.#good = false;
    this.#allow();
    clearTimeout(this.#later);
    this.#later = setTimeout(() => this.#preview(), WAIT);
  }

  /** What the type takes, and whether the arguments are an object. */
  #about() {
    const task = this.types.find(({ name }) => name === this.fields.type.value)?.task;
    say(this.takes, task ? `It takes ${signature(task)}` : "");
    say(this.wrong, flawOfArguments(this.fields.arguments.value) ?? "");
    this.#allow();
  }

  #allow() {
    const { name, type } = this.fields;
    this.submit.disabled = !this.#good || !name.value.trim() || !type.value || Boolean(this.wrong.textContent);
  }

  async #preview() {
    this.#asked?.abort();
    this.#asked = new AbortController();
    const given = this.#given;
    try {
      if (this.kind === "cron" && !given.cron) throw Object.assign(new Error("Say when."), { status: 400 });
      const found = await get("schedule-preview", given, this.#asked.signal);
      this.#good = true;
      say(this.bad, "");
      this.#drawTimes(found);
    } catch (error) {
      if (error.name === "AbortError") return;
      say(this.bad, error.message);
      redraw(this.times, h("p", { class: "soft" }, "–"));
    }
    for (const each of [this.fields.cron, this.fields.number]) each.setAttribute("aria-invalid", String(!this.#good));
    this.#allow();
  }

  #drawTimes({ when, timezone, upcoming }) {
    const other = timezone !== HERE || zoneName() === "UTC";
    const row = (at) => h("li", {}, h("b", {}, clock(at, timezone)), other && h("span", { class: "soft" }, `${clock(at)} ${zoneName()}`), h("small", {}, time(at, "ago")));
    redraw(this.times, h("p", {}, sentence(when)), h("small", {}, timezone), upcoming.length ? h("ol", {}, upcoming.map(row)) : h("p", { class: "problem" }, "It never comes."));
  }

  /** Only what has changed: what is hidden stays as it is. */
  #body() {
    const { name, type, queue, priority, catch_up, overlap, jitter, reason } = this.fields;
    const base = { reason: reason.value, command_id: this.#id, ...this.#given, catch_up: catch_up.value, overlap: overlap.value, jitter: Number(jitter.value) };
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
    this.submit.disabled = true;
    try {
      const { name } = await post(this.item ? `schedules/${part(this.item.name)}/edit` : "schedules", this.#body());
      toast(this.item ? `${name} is changed.` : `${name} is made.`);
      go(["schedules", name]);
    } catch (error) {
      redraw(this.problem, h("p", { class: "problem" }, error.message));
      this.#id = error.status === 0 ? this.#id : newId();
    }
    this.#allow();
  }
}

function field(label, ...inputs) {
  return h("div", { class: "field" }, h("label", { for: inputs[0].id }, label), inputs.length > 1 ? h("div", { class: "row joined" }, inputs) : inputs);
}

/** Seconds as a number of the largest unit that fits. */
function apart(seconds) {
  const [unit] = [...UNITS].reverse().find(([size]) => seconds % Number(size) === 0) ?? UNITS[0];
  return [seconds / Number(unit), unit];
}

customElements.define("tq-schedule-form", ScheduleForm);

/** The form for these. */
export function scheduleForm(given) {
  const made = h("tq-schedule-form");
  made.show(given);
  return made;
}
