/** JSON as a text, never read as numbers: whether it is right, and whether two say the same. Pure. */

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
