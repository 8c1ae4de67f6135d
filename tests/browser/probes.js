// What can be asked of a page while it is shown. Evaluated by tests/browser/accessible.py.
(() => {
  const CONTROLS =
    "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex], [role=button]," +
    " [role=tab], [role=menuitem], [role=option], [role=checkbox], [role=switch], [role=link]";

  function* elements(root = document) {
    for (const element of root.querySelectorAll("*")) {
      yield element;
      if (element.shadowRoot) yield* elements(element.shadowRoot);
    }
  }

  const parent = (element) => element.parentElement ?? element.getRootNode().host ?? null;

  function* upwards(element) {
    for (let each = element; each; each = parent(each)) yield each;
  }

  function named(element) {
    const name = element.localName + (element.id ? `#${element.id}` : "");
    const classes = [...element.classList].map((each) => `.${each}`).join("");
    const label = element.getAttribute("aria-label") ?? element.textContent ?? "";
    return `${name}${classes} "${label.trim().replace(/\s+/g, " ").slice(0, 40)}"`;
  }

  function visible(element) {
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return false;
    const box = element.getBoundingClientRect();
    return box.width > 1 && box.height > 1 && !clipped(element);
  }

  // Answers of a probe about elements, each of which many others lie in.
  function once(ask) {
    const answers = new Map();
    return (element) => {
      if (!answers.has(element)) answers.set(element, ask(element));
      return answers.get(element);
    };
  }

  const clipped = once((element) => {
    const { clipPath } = getComputedStyle(element);
    if (clipPath !== "none" && element.getBoundingClientRect().width <= 1) return true;
    const above = parent(element);
    return above !== null && clipped(above);
  });

  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const known = new Map();

  // [red, green, blue, alpha], 0 to 1, of any colour that CSS can write.
  function colour(text) {
    if (!known.has(text)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = "#000";
      canvas.fillStyle = text;
      canvas.fillRect(0, 0, 1, 1);
      known.set(text, [...canvas.getImageData(0, 0, 1, 1).data].map((each) => each / 255));
    }
    return known.get(text);
  }

  function over(top, bottom) {
    const alpha = top[3] + bottom[3] * (1 - top[3]);
    if (!alpha) return [0, 0, 0, 0];
    const mixed = [0, 1, 2].map(
      (each) => (top[each] * top[3] + bottom[each] * bottom[3] * (1 - top[3])) / alpha,
    );
    return [...mixed, alpha];
  }

  const faded = (shade, by) => [shade[0], shade[1], shade[2], shade[3] * by];

  function luminance(shade) {
    const [red, green, blue] = shade
      .slice(0, 3)
      .map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  }

  function ratio(one, other) {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  }

  // What is painted behind the content of an element, from it up to the page's ground.
  const ground = once((element) => {
    const own = colour(getComputedStyle(element).backgroundColor);
    return own[3] >= 1 ? own : over(own, behind(parent(element)));
  });

  function behind(element) {
    if (element) return ground(element);
    return colour(getComputedStyle(document.documentElement).colorScheme === "dark" ? "#121212" : "#fff");
  }

  // What lies under the middle of a text in a drawing: its shapes, then its ground.
  function under(text) {
    const box = text.getBoundingClientRect();
    let painted = [0, 0, 0, 0];
    const at = document.elementsFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    for (const each of at.slice(at.indexOf(text) + 1)) {
      if (!(each instanceof SVGGeometryElement)) break;
      const style = getComputedStyle(each);
      if (style.fill === "none") continue;
      painted = over(painted, faded(colour(style.fill), style.fillOpacity * style.opacity));
    }
    return over(painted, ground(text.ownerSVGElement));
  }

  const opacity = once((element) => getComputedStyle(element).opacity * (parent(element) ? opacity(parent(element)) : 1));

  function judged(element, style, what) {
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const drawn = element instanceof SVGElement;
    const back = drawn ? under(element) : ground(element);
    const ink = colour(drawn ? style.fill : style.color);
    const found = ratio(over(faded(ink, opacity(element)), back), back);
    const needed = large ? 3 : 4.5;
    if (found >= needed - 0.005) return null;
    return `${what} has contrast ${found.toFixed(2)}, not ${needed}: ${named(element)}`;
  }

  const off = (element) => element.closest(":disabled, [aria-disabled=true], [inert]");

  function contrast() {
    const found = new Set();
    for (const element of elements()) {
      const says = [...element.childNodes].some(
        (node) => node.nodeType === Node.TEXT_NODE && node.data.trim(),
      );
      const holds = element.matches("input:not([type=radio], [type=checkbox]), textarea, select");
      if (!(says || holds) || off(element) || !visible(element)) continue;
      if (says && !["SCRIPT", "STYLE", "TITLE"].includes(element.tagName)) {
        found.add(judged(element, getComputedStyle(element), "text"));
      }
      if (holds) {
        found.add(judged(element, getComputedStyle(element), "value"));
        if (element.placeholder) {
          const style = getComputedStyle(element, "::placeholder");
          found.add(judged(element, style, "placeholder"));
        }
      }
    }
    found.delete(null);
    return [...found];
  }

  const edge = (element) =>
    [...upwards(element)]
      .slice(0, 3)
      .map((each) => {
        for (const animation of each.getAnimations()) animation.finish();
        const style = getComputedStyle(each);
        const drawn = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
        const outline = drawn ? `${style.outline} ${style.outlineOffset}` : "";
        return `${outline}|${style.boxShadow}|${style.borderColor}`;
      })
      .join("||");

  // The keyboard has to have been used before, or nothing shows that it has the focus.
  function focus() {
    const before = document.activeElement;
    const found = [];
    let last = before;
    for (const element of elements()) {
      if (!element.matches(CONTROLS) || off(element) || !visible(element)) continue;
      if (element.matches("[role=dialog], dialog, main, h1, h2, [popover]")) continue; // by script only
      last?.blur();
      const plain = edge(element);
      element.focus({ preventScroll: true });
      if (!element.matches(":focus")) continue; // takes none
      if (edge(element) === plain) found.push(`focus cannot be seen on ${named(element)}`);
      last = element;
    }
    last?.blur();
    before?.focus?.({ preventScroll: true });
    return found;
  }

  function structure() {
    const found = [];
    const ids = new Map();
    for (const element of elements()) {
      if (!element.id) continue;
      const key = element.getRootNode();
      const seen = ids.get(key) ?? ids.set(key, new Set()).get(key);
      if (seen.has(element.id)) found.push(`a second #${element.id}: ${named(element)}`);
      seen.add(element.id);
    }
    for (const name of ["h1", "main"]) {
      const count = [...elements()].filter(
        (each) => each.localName === name && each.checkVisibility(),
      ).length;
      if (count !== 1) found.push(`${count} ${name} in place of one`);
    }
    if (!document.documentElement.lang) found.push("html has no lang");
    if (!document.title.trim()) found.push("the page has no title");
    return found;
  }

  // What makes the page as a whole wider than its window.
  function overflow() {
    const page = document.scrollingElement;
    if (page.scrollWidth <= page.clientWidth) return [];
    const wide = [...elements()].filter((element) => {
      if (element.getBoundingClientRect().right <= page.clientWidth + 1) return false;
      let { position } = getComputedStyle(element);
      for (const each of upwards(parent(element))) {
        if (each === document.documentElement || each === document.body) break;
        const style = getComputedStyle(each);
        if (position === "absolute" && style.position === "static") continue; // escapes it
        if (style.overflowX !== "visible") return false;
        position = style.position;
      }
      return true;
    });
    return [`the page is ${page.scrollWidth} wide in ${page.clientWidth}: ${wide.slice(-3).map(named).join(", ")}`];
  }

  return { contrast, focus, structure, overflow };
})()
