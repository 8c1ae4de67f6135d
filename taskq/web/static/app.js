/** The frame: which page is shown, who looks, whether what is shown is up to date. */

import { go, here, isId, link } from "./core/address.js";
import { Problem } from "./core/api.js";
import { h, listed, redraw, say } from "./core/dom.js";
import { count } from "./core/format.js";
import { help, shortcuts } from "./core/keys.js";
import { live } from "./core/live.js";
import { preferences } from "./core/preferences.js";
import { identify, logOut, session } from "./core/session.js";
import { show } from "./parts/dialog.js";
import { toast } from "./parts/toast.js";

/** By the first name in the address: the module of its page, what it is called, its key after `g`. */
const PAGES = {
  "": ["overview", "Overview", "o"],
  activities: ["activities", "Activities", "a"],
  queues: ["queues", "Queues", "q"],
  types: ["types", "Types", "t"],
  workers: ["workers", "Workers", "w"],
  schedules: ["schedules", "Schedules", "s"],
  dead: ["dead", "Dead letters", "d"],
  bulk: ["bulk", "Bulk commands", "b"],
  audit: ["audit", "Audit", "u"],
  settings: ["settings", "Settings", ","],
};
/** Pages of one thing, by the first name in the address; a second name says which one. */
const DETAILS = { activities: "activity", queues: "queue", types: "type", schedules: "schedule", dead: "cause" };
/** Forms, by the first name in the address: of the one with the name before `edit`, or with `form` of a new one. */
const FORMS = { schedules: "scheduling" };

const STATES = {
  connecting: "Connecting …",
  live: "Live",
  reconnecting: "Reconnecting …",
  offline: "Offline",
  stale: "Database away",
};

const main = document.getElementById("main");
const nav = document.getElementById("nav");
let shown = { name: null, page: null };

function drawNav(current) {
  const { by_status: by = {}, cap } = live.stats ?? {};
  const items = Object.entries(PAGES).map(([path, [, label, key]]) =>
    ({ path, label, key, current: path === current && "page", dead: path === "dead" && by.dead_letter > 0 && count(by.dead_letter, cap) }));
  listed(nav, items, ({ path }) => path, ({ path, label, key, current: shows, dead }) =>
    h("a", { href: link(path), "aria-current": shows, title: `g ${key}` }, label, dead && h("span", { class: "badge", "aria-label": `${dead} dead letters` }, dead)));
}

/** Where the navigation is a row that is too long, the current page is in its middle. */
function centre(link) {
  nav.scrollLeft = link.offsetLeft - (nav.clientWidth - link.offsetWidth) / 2;
}

/** A count that comes later makes that row longer: the current page stays in sight. */
function counted() {
  const before = nav.scrollWidth;
  drawNav(here().path[0] ?? "");
  const current = nav.querySelector("[aria-current]");
  if (current && nav.scrollWidth !== before) centre(current);
}

/** By an address: the first name in it, the module of its page, and what makes it another page than before. */
function wanted({ path: [first = "", second, third], params }) {
  const detail = (second && DETAILS[first]) || PAGES[first]?.[0];
  const module = third === "edit" || params.form ? (FORMS[first] ?? detail) : detail;
  return { first, module, name: [module, second].join("/") };
}

async function route() {
  const { first, module, name } = wanted(here());
  if (!Object.hasOwn(PAGES, first)) {
    toast(`There is no page “${first}”: this is the overview.`, { kind: "wrong" });
    return go("", {}, { replace: true });
  }
  if (shown.name === name) return shown.page?.moved();
  shown = { name, page: null };
  document.body.dataset.page = module;
  drawNav(first);
  centre(nav.querySelector("[aria-current]"));
  const loaded = await import(`./pages/${module}.js`).catch(() => null);
  if (shown.name !== name) return;
  if (wanted(here()).name !== name) { // somebody has gone on, and that is about to be told
    shown = { name: null, page: null };
    return;
  }
  if (!loaded) return amiss("This page could not be loaded; the console may have another version now.", h("button", { on: { click: () => location.reload() } }, "Load again"));
  const page = new loaded.default();
  shown.page = page;
  main.replaceChildren(page);
  document.title = `${page.title} · taskq`;
  scrollTo(0, 0);
}

/** What is wrong, in place of a page. */
function amiss(sentence, ...more) {
  shown = { name: null, page: null };
  redraw(main, h("h1", {}, "taskq"), h("p", { class: "problem", role: "alert" }, sentence), more);
}

function drawState() {
  const pill = document.getElementById("live");
  pill.dataset.state = live.state;
  say(pill, STATES[live.state]);
}

function drawClock() {
  if (document.hidden) return;
  const utc = preferences.get("zone") === "utc";
  const text = new Date().toLocaleTimeString("en-GB", utc ? { timeZone: "UTC" } : {});
  say(document.getElementById("clock"), utc ? `${text} UTC` : text);
}

function turnTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = preferences.get("theme") === "system" ? (dark ? "dark" : "light") : preferences.get("theme");
  preferences.set("theme", now === "dark" ? "light" : "dark");
}

function drawWho() {
  const out = h("button", { class: "quiet small", on: { click: logOut } }, "Log out");
  const role = session.read_only ? `${session.role}, read only` : session.role;
  redraw(document.getElementById("who"), h("span", { title: role }, session.name), session.session && out);
}

function frameKeys() {
  const pages = Object.entries(PAGES).map(([path, [, label, key]]) => [`g ${key}`, [label, () => go(path)]]);
  const search = () => (document.querySelector("main [data-search]") ?? document.getElementById("search")).focus();
  shortcuts({ "/": ["search", search], "?": ["this help", () => show("Keys", help())], ...Object.fromEntries(pages) });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "k" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    search();
  });
}

/** What a command was refused before it had a dialog to say so. */
function refused(event) {
  if (!(event.reason instanceof Problem)) return;
  event.preventDefault();
  toast(event.reason.message, { kind: "wrong" });
}

function begin() {
  drawWho();
  frameKeys();
  drawClock();
  setInterval(drawClock, 1000);
  live.addEventListener("state", drawState);
  live.addEventListener("stats", counted);
  preferences.addEventListener("change", drawClock);
  document.getElementById("theme").addEventListener("click", turnTheme);
  document.getElementById("help").addEventListener("click", () => show("Keys", help()));
  document.getElementById("skip").addEventListener("click", () => main.querySelector("h1")?.focus());
  document.getElementById("find").addEventListener("submit", (event) => {
    event.preventDefault();
    const q = new FormData(event.target).get("q").trim();
    if (isId(q)) go(["activities", q]);
    else if (q) go("activities", { q });
    event.target.reset();
  });
  addEventListener("hashchange", route);
  addEventListener("unhandledrejection", refused);
  live.start();
  route();
}

async function start() {
  const back = sessionStorage.getItem("taskq.back");
  sessionStorage.removeItem("taskq.back");
  if (back && !location.hash) history.replaceState(null, "", back);
  document.body.dataset.page = here().path.join("/"); // at once, so that nothing moves when it is routed
  try {
    await identify();
    begin();
  } catch (error) {
    if (error.status === 401) return; // on the way to the page to log in
    amiss(error.message);
    setTimeout(start, 3000);
  }
}

start();
