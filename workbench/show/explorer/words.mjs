// The explorer: plot, table and details of one comparison, linked by one selection.
//
// The files of this folder are one module; show/assets.py joins them. It serves three hosts: the HTML report
// (inline), the notebook widget and its iframe fallback. It takes the JSON of workbench.explorer/1, asks the
// network for nothing, and puts text into the page as text only, so no name from a dump can become markup.

const ROW = 28; // height of a table row, pixels; the style sheet holds the same figure
const OVERSCAN = 8;
const SEVERITY = ["fail", "warn", "uncomparable", "unmatched", "pass", "equal"];
const SEARCHED = ["op_name", "golden", "op_type", "dtype", "golden_dtype", "reason", "rule", "source", "code"];
const WORDS = { NaN: NaN, Infinity: Infinity, "-Infinity": -Infinity };
const PRINT_LIMIT = 500;
const GROUPED = new Intl.NumberFormat("en-US");
const COLLATOR = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

// ------------------------------------------------------------------------------------ words

export function number(value) {
  if (value === null) return "–";
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "Inf" : "-Inf";
  const size = Math.abs(value);
  if (size < 1e7 && Number.isInteger(value)) return GROUPED.format(value);
  if (size >= 1e-2 && size < 1e3) return value.toPrecision(3);
  const [mantissa, exponent] = value.toExponential(2).split("e");
  return `${mantissa}e${Number(exponent)}`;
}

// Shares whose best value is 1 show three digits of their distance from it; only 1 itself reads 1.
function figure(column, value) {
  if (column.kind !== "share" || !(value >= 0.1 && value < 1)) return number(value);
  return value.toFixed(Math.min(7, Math.max(3, 2 - Math.floor(Math.log10(1 - value)))));
}

// A multiple as sentences write it (workbench.core.words.render.number), so that one error has one figure.
export function times(value, floor) {
  if (value === null || floor === null || !(floor > 0) || !Number.isFinite(value)) return "";
  const ratio = value / floor;
  return Number.isFinite(ratio) ? `${twoDigits(ratio)} ×` : "";
}

function twoDigits(value) {
  if (value < 1e4 && Number.isInteger(value)) return `${value}`;
  if (value >= 1e-3 && value < 9999.5) return value < 99.5 ? `${Number(value.toPrecision(2))}` : value.toFixed(0);
  const [mantissa, exponent] = value.toExponential(1).split("e");
  return `${mantissa.replace(".0", "")}e${Number(exponent)}`;
}

const count = (n) => GROUPED.format(n);

// Words of our own by their code, in the language of the page; {n} in them stands for a value.
const own = (table, key, other) => (Object.hasOwn(table, key) ? table[key] : other);
const speaker = (words) => (code, values = {}) =>
  own(words, code, code).replace(/\{(\w+)\}/g, (all, name) => own(values, name, all));
const STATUS_WORDS = { fail: "explorer/status-fail", warn: "explorer/status-warn", uncomparable: "explorer/status-uncomparable",
  unmatched: "explorer/status-unmatched", pass: "explorer/status-pass", equal: "explorer/status-equal" };
const VALUE_WORDS = { rank: "explorer/rank", iteration: "explorer/iteration", input: "explorer/input", output: "explorer/output" };

// What would be invisible or change how the text around it reads is spelled, as workbench.core.text does it.
const HIDDEN = /(?!\t)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const SPELLED = { "\n": "\\n", "\r": "\\r" };
const hex = (sign, letter, digits) => `\\${letter}${sign.codePointAt(0).toString(16).padStart(digits, "0")}`;
const spelled = (sign) => SPELLED[sign] ?? (sign < "\u0100" ? hex(sign, "x", 2) : sign.length > 1 ? hex(sign, "U", 8) : hex(sign, "u", 4));
const visible = (text) => text.replace(HIDDEN, spelled);
const LONG = 1000; // characters; of a longer text it is said how many are missing

function shorten(text, width) {
  if (text.length <= width) return text;
  const mark = (kept) => (text.length > LONG && width >= 28 ? `…[${count(text.length - kept)} more]…` : "…");
  const kept = width - mark(0).length, head = Math.floor(kept / 2);
  return `${text.slice(0, head)}${mark(kept)}${text.slice(text.length - (kept - head))}`;
}
const readable = (text) => visible(text).replace(/\S{1001,}/g, (run) => shorten(run, 240));
const brief = (text) => (visible(text).length <= LONG ? visible(text) : shorten(visible(text), 240));

// -------------------------------------------------------------------------------------- DOM

function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== ""));
  return element;
}

const SHAPES = {
  fail: "M2 0 5 3 8 0l2 2-3 3 3 3-2 2-3-3-3 3-2-2 3-3-3-3z",
  warn: "M5 .6 9.8 9.4H.2z",
  uncomparable: "M1.2 1.2h7.6v7.6H1.2z",
  pass: "M5 1a4 4 0 1 0 0 8 4 4 0 0 0 0-8z",
  unmatched: "M.5 3.8h9v2.4h-9z",
  equal: "M5 1a4 4 0 1 0 0 8 4 4 0 0 0 0-8zm0 1.6a2.4 2.4 0 1 1 0 4.8 2.4 2.4 0 0 1 0-4.8z",
};

function mark(status) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const path = document.createElementNS(space, "path");
  svg.setAttribute("viewBox", "0 0 10 10");
  svg.setAttribute("class", `wb-mark wb-${status}`);
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", SHAPES[status] ?? SHAPES.uncomparable);
  svg.append(path);
  return svg;
}

// Long metric titles may break before a capital letter.
const breakable = (title) => title.split(/(?<=[a-z])(?=[A-Z])/).flatMap((part, i) => (i ? [h("wbr"), part] : [part]));

function named(name) {
  const text = brief(name), cut = text.lastIndexOf("/") + 1;
  return [h("span", { class: "wb-scope" }, h("bdi", { dir: "ltr" }, text.slice(0, cut))), h("span", { class: "wb-leaf" }, h("bdi", {}, text.slice(cut)))];
}
