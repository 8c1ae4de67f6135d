/** Schedules: when, what became of the last times, what comes next. */

import { link } from "../core/address.js";
import { get, part } from "../core/api.js";
import { h, redraw } from "../core/dom.js";
import { plural, words } from "../core/format.js";
import { live } from "../core/live.js";
import { Page } from "../core/page.js";
import { may } from "../core/session.js";
import { command } from "../parts/dialog.js";
import { runs } from "../parts/spark.js";
import { empty } from "../parts/status.js";
import { table } from "../parts/table.js";
import { time } from "../parts/time.js";

const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

class Schedules extends Page {
  title = "Schedules";

  start() {
    this.table = table({ label: this.title, columns: columns(() => this.refresh()), key: (item) => item.name, href: (item) => link(["schedules", item.name]) });
    this.listen(live, "activities", () => this.soon(5000));
    if (may("admin")) this.head.append(h("div", { class: "row" }, h("button", { class: "primary", on: { click: async () => (await create()) && this.refresh() } }, "New schedule")));
  }

  read(signal) {
    return get("schedules", {}, signal);
  }

  draw({ items }) {
    redraw(this.body, items.length ? this.table : empty("There is no schedule.", h("p", {}, h("code", {}, "@taskq.periodic"), " declares one in code.")));
    this.table.show(items);
  }
}

/** What is to be done with one: trigger, pause or resume, delete. */
export function scheduleButtons(item, after) {
  const give = (verb, more) => async () => {
    const done = await command(`schedules/${part(item.name)}/${verb}`, { title: `${words(verb)} ${item.name}`, go: words(verb), done: () => `${item.name}: done.`, ...more });
    if (done) after();
  };
  const button = (label, act, kind = "small") => h("button", { class: kind, "aria-label": `${label} ${item.name}`, "data-focus": `${label} ${item.name}`, on: { click: act } }, label);
  return h("div", { class: "row" },
    may("operator") && button("Run now", give("trigger", { title: `Run ${item.name} now`, go: "Run now" })),
    may("operator") && (item.paused_at ? button("Resume", give("resume")) : button("Pause", give("pause"))),
    may("admin") && button("Delete", give("delete", { danger: true, text: item.declared ? "It is declared in code, and comes back with the next worker." : null }), "small danger"));
}

function create() {
  const fields = [
    { name: "name", label: "Name", required: true, max: 200 }, { name: "type", label: "Type of the activity", required: true },
    { name: "arguments", label: "Arguments", type: "area", rows: 3, value: "{}", hint: "A JSON object" },
    { name: "cron", label: "Cron", hint: "minute hour day month weekday; leave empty for an interval" }, { name: "tz", label: "Zone", value: ZONE },
    { name: "every", label: "Every so many seconds", type: "number" },
  ];
  return command("schedules", {
    title: "New schedule", go: "Make it", fields, done: () => "It is made.",
    body: ({ name, type, cron, tz, every, arguments: text }) => {
      JSON.parse(text);
      const times = every ? { every: Number(every) } : { cron, tz };
      return `"name":${JSON.stringify(name)},"type":${JSON.stringify(type)},${JSON.stringify(times).slice(1, -1)},"arguments":${text}`;
    },
  });
}

function columns(after) {
  return [
    { label: "Schedule", cell: (item) => [h("b", {}, item.name), h("small", {}, item.type)] },
    { label: "When", cell: (item) => [item.when, h("small", {}, item.cron ? `${item.cron} ${item.timezone}` : ""), item.broken && h("small", { class: "is-failed" }, item.broken)] },
    { label: "Next", cell: (item) => (item.paused_at ? h("span", { class: "is-pending" }, "paused") : time(item.next_at, "ago")) },
    { label: "Last times", cell: (item) => runs(item.recent) },
    { label: "Made", cell: (item) => plural(item.fired, "time") },
    { label: "", cell: (item) => scheduleButtons(item, after) },
  ];
}

customElements.define("tq-schedules", Schedules);
export default Schedules;
