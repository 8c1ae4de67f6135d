/** What a task takes, as Python has it, and arguments to begin with, as JSON. Pure. */

const SAME = { None: "null", True: "true", False: "false" };
const STARS = { one: "", args: "*", kwargs: "**" };

/** One parameter: `width: int = 1200`. */
export function parameter({ name, kind, annotation, default: value }) {
  return `${STARS[kind]}${name}${annotation ? `: ${annotation}` : ""}${value === null ? "" : ` = ${value}`}`;
}

/** `(path: str, width: int = 1200)`. */
export function signature({ parameters }) {
  return `(${parameters.map(parameter).join(", ")})`;
}

/** A Python default as a text of JSON; null where it is not as simple as that. */
function json(value) {
  if (value in SAME) return SAME[value];
  if (/^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/.test(value)) return value;
  const text = /^'([^'\\]*)'$|^"([^"\\]*)"$/.exec(value);
  return text ? JSON.stringify(text[1] ?? text[2]) : null;
}

/**
 * The arguments that must be given, as null, which is refused where None is no value of it: nothing is
 * called by mistake; and those whose default JSON can say. A text of JSON.
 */
export function skeleton({ parameters }) {
  const lines = parameters.filter(({ kind }) => kind === "one").flatMap(({ name, default: value, required }) => {
    const given = required ? "null" : value === null ? null : json(value);
    return given === null ? [] : [`  ${JSON.stringify(name)}: ${given}`];
  });
  return lines.length ? `{\n${lines.join(",\n")}\n}` : "{}";
}
