/** Words of the filter language. Pure. */

/** In quotes: whatever it holds means itself. */
export function quoted(text) {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** A field with this value, in quotes where something in it might mean more. */
export function term(field, value) {
  return `${field}:${/^[\w./@-]+$/.test(value) ? value : quoted(value)}`;
}
