/** Making a schedule, also like another one, and changing one. */

import { here } from "../core/address.js";
import { get } from "../core/api.js";
import { h, redraw } from "../core/dom.js";
import { Page } from "../core/page.js";
import { may } from "../core/session.js";
import { found, noSchedule } from "../parts/schedule-acts.js";
import { scheduleForm } from "../parts/schedule-form.js";
import { empty } from "../parts/status.js";

class Scheduling extends Page {
  #name = here().path[1];
  title = this.#name ? `Edit ${this.#name}` : "New schedule";

  async read(signal) {
    const like = this.#name ?? this.params.like;
    const [types, schedule] = await Promise.all([get("types", {}, signal), like ? found(like, signal) : null]);
    return { types: types.items.filter(({ task }) => task), schedule };
  }

  draw({ types, schedule }) {
    if (this.querySelector("tq-schedule-form")) return; // nothing that was typed is lost
    if (!may("admin")) return redraw(this.body, empty("Schedules are made and changed by admins."));
    if (this.#name && !schedule) return redraw(this.body, noSchedule(this.#name));
    if (!types.length) return redraw(this.body, empty("This console knows no task that a schedule could call.", h("p", {}, "It was started without the app: ", h("code", {}, "taskq web app:taskq"), " knows them.")));
    const declared = this.#name && schedule.declared && h("p", { class: "soft" }, "It is declared in code: what is changed here holds until its definition there changes.");
    redraw(this.body, declared, scheduleForm(this.#name ? { item: schedule, types } : { like: schedule ?? undefined, types }));
  }
}

customElements.define("tq-scheduling", Scheduling);
export default Scheduling;
