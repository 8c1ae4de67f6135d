/** Making an activity by hand. */

import { h } from "../core/dom.js";
import { command } from "./dialog.js";
import { activityLink } from "./status.js";
import { toast } from "./toast.js";

/**
 * Ask what to enqueue; `like` has what stands in the form already: `type`, `queue`, `priority`,
 * `arguments` (a text of JSON). Resolves to the answer, or undefined.
 */
export async function enqueue(like = {}) {
  const fields = [
    { name: "type", label: "Type", value: like.type, required: true },
    { name: "arguments", label: "Arguments", type: "area", value: like.arguments ?? "{}", hint: "A JSON object" },
    { name: "queue", label: "Queue", value: like.queue, hint: "Empty: that of the task." },
  ];
  const made = await command("enqueue", {
    title: like.type ? `Enqueue ${like.type}` : "Enqueue", go: "Enqueue", fields, done: () => "It is enqueued.",
    body: ({ type, queue, arguments: text }) => {
      JSON.parse(text);
      return `${JSON.stringify({ type, ...(queue ? { queue } : {}) }).slice(1, -1)},"arguments":${text}`;
    },
  });
  if (made) toast(made.created ? "Made:" : "It was there already:", { more: h("span", {}, activityLink(made.id)) });
  return made;
}
