/**
 * Builds what is shown. Every text becomes a text node, so that nothing that is stored can be read
 * as HTML (threat:T5).
 */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element. `on` has listeners by event, `style` CSS properties, `value`, `checked` and
 * `disabled` are set as properties, all else is an attribute (null and false: none; true: an empty
 * one). Children are nodes, texts, numbers or lists of them; null and false are left out.
 */
export function h(tag, given = {}, ...children) {
  return complete(document.createElement(tag), given, children);
}

/** The same for a part of a drawing. */
export function svg(tag, given = {}, ...children) {
  return complete(document.createElementNS(SVG, tag), given, children);
}

function complete(element, given, children) {
  for (const [name, value] of Object.entries(given)) {
    if (name === "on") {
      for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    } else if (name === "style") {
      for (const [property, is] of Object.entries(value)) element.style.setProperty(property, is);
    } else if (name === "value" || name === "checked" || name === "disabled") {
      element[name] = value ?? "";
    } else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...shown(children));
  return element;
}

function shown(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

/**
 * Let a container have these children. Those that it has already never leave it, so that they keep
 * what was scrolled or selected in them. What had the focus has it again, with its caret, if an element
 * with the same `data-focus`, `id` or `href` is there afterwards.
 */
export function redraw(container, ...children) {
  const next = shown(children);
  const wanted = new Set(next);
  keepingFocus(container, () => {
    for (const child of [...container.childNodes]) if (!wanted.has(child)) child.remove();
    next.forEach((child, place) => {
      const there = container.childNodes[place];
      if (!there) container.append(child);
      else if (there !== child) there.before(child);
    });
  });
}

function keepingFocus(container, act) {
  const held = document.activeElement;
  const name = container.contains(held) && named(held);
  const caret = name && "selectionStart" in held ? [held.selectionStart, held.selectionEnd] : null;
  act();
  if (!name || container.contains(document.activeElement)) return;
  const again = [...container.querySelectorAll("[data-focus],[id],[href]")].find((each) => named(each) === name);
  again?.focus({ preventScroll: true });
  if (caret && again?.setSelectionRange && caret[0] !== null) again.setSelectionRange(...caret);
}

function named(element) {
  return element.dataset.focus || element.id || element.getAttribute("href");
}

const KEPT = new WeakMap();

/**
 * Show one child for each item, and keep the child of an item that is still there. `make(item)`
 * builds it; it is built anew only where the item, as JSON, has changed. The focus stays.
 */
export function listed(container, items, key, make) {
  const before = KEPT.get(container) ?? new Map();
  const after = new Map();
  for (const item of items) {
    const text = JSON.stringify(item);
    const old = before.get(key(item));
    const same = old?.text === text;
    after.set(key(item), same ? old : { text, node: make(item), was: old?.node });
  }
  KEPT.set(container, after);
  for (const [name, old] of before) if (!after.has(name)) old.node.remove();
  keepingFocus(container, () => place(container, after.values()));
}

function place(container, rows) {
  let next = container.firstChild;
  for (const row of rows) {
    if (row.was?.parentNode === container) {
      if (next === row.was) next = row.node;
      row.was.replaceWith(row.node);
      delete row.was;
    }
    if (row.node === next) next = next.nextSibling;
    else container.insertBefore(row.node, next);
  }
}

/** Set a text, but touch nothing where it is the same. */
export function say(element, text) {
  if (element.textContent !== String(text)) element.textContent = text;
}
