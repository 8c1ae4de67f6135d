/**
 * Where one is: `#/activities/ID?tab=tree`. It stands behind the `#`, so that every view can be
 * shared and reloaded wherever the console is mounted.
 */

/** The address now: `path` as a list of names, `params` by name. */
export function here() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { path: path.split("/").filter(Boolean).map(decoded), params: Object.fromEntries(new URLSearchParams(query)) };
}

/** The text that was encoded for an address; one that was not stays as it is. */
export function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Whether a text is the id of an activity. */
export function isId(text) {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}

/** Parameters behind a path; those that are empty or null are left out. */
export function query(params) {
  const given = Object.entries(params).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return given.length ? `?${new URLSearchParams(given)}` : "";
}

/** What to put into `href` for a place. */
export function link(path, params = {}) {
  return `#/${[path].flat().map(encodeURIComponent).join("/")}${query(params)}`;
}

/** Go to a place. `replace`: going back does not come to where one was. */
export function go(path, params = {}, { replace = false } = {}) {
  const hash = link(path, params);
  if (hash === location.hash) return;
  if (replace) location.replace(hash);
  else location.hash = hash;
}

/** Change some parameters of the place where one is. */
export function amend(changes, options = { replace: true }) {
  const { path, params } = here();
  go(path, { ...params, ...changes }, options);
}
