/** JSON as a text, never read as numbers: whether it is right, what it holds, whether two say the same. Pure. */

const BLANK = /[ \t\n\r]*/y;
const TOKEN = /[{}[\],:]|"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"|(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.])/y;
const LITERAL = /^(?:[-\d"]|true$|false$|null$)/;
const END = "the end";

/** Where a text is no JSON: one sentence with the line, the column and what is expected there; else null. */
export function flaw(text) {
  const inside = [];
  let expects = "a value";
  for (let at = 0; ; ) {
    at = end(BLANK, text, at);
    if (at === text.length && expects === END) return null;
    const after = end(TOKEN, text, at);
    const next = step(expects, text.slice(at, after), inside);
    if (next === null) return `${place(text, at)}: ${expects} is expected here.`;
    expects = next;
    at = after;
  }
}

/** The same where a text is no JSON object, as arguments are. */
export function flawOfArguments(text) {
  return flaw(text) ?? (text.trim().startsWith("{") ? null : "Arguments are a JSON object, with the names of the parameters.");
}

/** Whether two texts are the same but for white space between what they hold. */
export function same(one, other) {
  return tight(one) === tight(other);
}

function tight(text) {
  return text.replace(/("(?:[^"\\]|\\.)*")|[ \t\n\r]+/g, "$1");
}

function end(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

/** What is expected behind this token; null where another one is expected in its place. */
function step(expects, token, inside) {
  const closing = inside.at(-1);
  const value = expects.startsWith("a value");
  if (value && (token === "{" || token === "[")) {
    inside.push(token === "{" ? "}" : "]");
    return token === "{" ? "a name in quotes or }" : "a value or ]";
  }
  if (closing && token === closing && expects.endsWith(closing)) {
    inside.pop();
    return behind(inside);
  }
  if (value && LITERAL.test(token)) return behind(inside);
  if (expects.startsWith("a name") && token.startsWith('"')) return "a colon";
  if (expects === "a colon" && token === ":") return "a value";
  if (expects.startsWith("a comma") && token === ",") return closing === "}" ? "a name in quotes" : "a value";
  return null;
}

function behind(inside) {
  return inside.length ? `a comma or ${inside.at(-1)}` : END;
}

function place(text, at) {
  const lines = text.slice(0, at).split("\n");
  return `Line ${lines.length}, column ${lines.at(-1).length + 1}`;
}

/**
 * The members of the object or list that begins there: the `name` (the text of its key, null in a
 * list) and where its value begins and ends. What is no JSON ends the last one.
 */
export function members(text, from = blank(text, 0)) {
  const found = [];
  const named = text[from] === "{";
  let at = from + 1;
  while (at < text.length) {
    at = blank(text, at);
    if (text[at] === "}" || text[at] === "]" || at >= text.length) break;
    let name = null;
    if (named) {
      const ends = skipped(text, at);
      name = text.slice(at, ends);
      at = blank(text, blank(text, ends) + 1);
    }
    const until = Math.max(skipped(text, at), at + 1);
    found.push({ name, from: at, until });
    at = blank(text, until);
    if (text[at] === ",") at += 1;
  }
  return found;
}

/** Where the white space that may be here ends. */
export function blank(text, at) {
  while (at < text.length && text.charCodeAt(at) <= 32) at += 1;
  return at;
}

/** Where the value that begins here ends. */
function skipped(text, from) {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 34) {
      at += 1;
      while (at < text.length && text.charCodeAt(at) !== 34) at += text.charCodeAt(at) === 92 ? 2 : 1;
      if (!depth) return at + 1;
    } else if (code === 123 || code === 91) depth += 1;
    else if (code === 125 || code === 93) {
      depth -= 1;
      if (depth <= 0) return depth ? at : at + 1;
    } else if (!depth && (code === 44 || code === 58 || code <= 32)) return at;
  }
  return text.length;
}
