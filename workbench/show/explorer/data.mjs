// ------------------------------------------------------------------------------------- data

export async function load(element) {
  const text = element.textContent.trim();
  if (element.dataset.encoding !== "gzip") return JSON.parse(text);
  return unpack(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)));
}

const unzipped = (bytes) => new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));

const unpack = (bytes) => unzipped(bytes).json();

// Bytes of show/packed.py: how long the JSON is, the JSON, and the figures that stand in it by their first byte.
export async function unpackColumns(bytes) {
  const all = new Uint8Array(await unzipped(bytes).arrayBuffer()), size = new DataView(all.buffer).getUint32(0, true);
  const raw = JSON.parse(new TextDecoder().decode(all.subarray(4, 4 + size))), figures = all.subarray(4 + size);
  for (const column of raw.columns) if (column.values?.format) column.values = figuresOf(figures, raw.rows, column.values);
  return raw;
}

const FORMATS = { f4: Float32Array, f8: Float64Array };

// Bytes of equal weight stand together, and a bit for each row behind them says whether anybody knows its figure.
function figuresOf(bytes, rows, { format, start, unknown }) {
  const Kind = FORMATS[format], size = Kind.BYTES_PER_ELEMENT, sorted = new Uint8Array(rows * size);
  for (let at = start, weight = 0; weight < size; weight++) for (let i = 0; i < rows; i++) sorted[i * size + weight] = bytes[at++];
  const values = Array.from(new Kind(sorted.buffer)), known = start + rows * size;
  if (unknown) for (let i = 0; i < rows; i++) if (!(bytes[known + (i >> 3)] & (128 >> (i & 7)))) values[i] = null;
  return values;
}

function decode(raw) {
  const names = raw.columns.find((column) => column.key === "op_name");
  const columns = raw.columns.map((packed) => (packed.kind === "text" ? decodeText(packed, names) : decodeFigures(packed)));
  columns.sort((a, b) => (b.key === "op_name") - (a.key === "op_name")); // the sticky column leads
  const named = Object.fromEntries(columns.map((column) => [column.key, column]));
  const constants = raw.constants ?? {};
  const data = { ...raw, columns, named, x: summed(raw.x), say: speaker(raw.words ?? {}),
    get: (key, i) => (named[key] ? named[key].get(i) : constants[key] ?? null) };
  grading(named.status);
  derive(data);
  return data;
}

function decodeText(packed, names) {
  const column = sharing(packed, names);
  column.get = (i) => column.texts[column.values[i]];
  return column;
}

function decodeFigures(packed) {
  if (packed.values === null) return packed; // computed of other columns
  const steps = packed.key === "order" ? summed(packed.values) : packed.values;
  const values = steps.map(spoken);
  return { ...packed, values, get: (i) => values[i] };
}

// Infinities and NaN come as words.
function spoken(value) {
  return typeof value === "string" ? WORDS[value] : value;
}

// Index -1 of a text column stands for the operator's own name.
function sharing(packed, names) {
  const column = { ...packed };
  if (!column.values.includes(-1)) return column;
  const first = column.texts.length, known = new Map();
  const texts = [...column.texts];
  const values = column.values.map((value, i) => {
    if (value >= 0) return value;
    const name = names.values[i];
    if (!known.has(name)) { known.set(name, first + known.size); texts.push(names.texts[name]); }
    return known.get(name);
  });
  return { ...column, texts, values };
}

function summed(steps) {
  let last = 0;
  return steps.map((step) => (step === null ? null : (last += step)));
}

// The status column holds numbers of SEVERITY, and what it was before anybody graded by thresholds of his own.
function grading(status) {
  const number = status.texts.map((text) => SEVERITY.indexOf(text));
  status.texts = SEVERITY;
  status.given = status.values = Uint8Array.from(status.values, (value) => number[value]);
}

// Columns to filter by that the table does not show: source file, side of the operator, scope.
function derive(data) {
  const { named } = data;
  if (named.gain) deriveGain(data);
  if (named.source) named.file = regrouped(named.source, (text) => text.slice(0, Math.max(0, text.lastIndexOf(":"))));
  if (named.tensor) named.io = regrouped(named.tensor, (text) => text.slice(0, text.indexOf(":")));
  named.whole = named.op_name;
  if (named.golden && named.op_name.texts.includes("")) {
    const texts = Array.from({ length: data.rows }, (_, i) => named.op_name.get(i) || named.golden.get(i));
    named.whole = { texts, values: texts.map((_, i) => i), get: (i) => texts[i] };
  }
}

// The rule of gain in show/columns.py.
function deriveGain({ named, rows, get }) {
  const finite = (value) => value !== null && Number.isFinite(value);
  const values = Array.from({ length: rows }, (_, i) => {
    const error = get("error", i), read = get("inherited", i);
    return get("tensor", i).startsWith("output") && finite(error) && finite(read) && read ? error / read : null;
  });
  Object.assign(named.gain, { values, get: (i) => values[i] });
}

function regrouped(column, change) {
  const texts = [...new Set(column.texts.map(change))];
  const place = column.texts.map((text) => texts.indexOf(change(text)));
  const values = column.values.map((value) => place[value]);
  return { texts, values, get: (i) => texts[values[i]] };
}

// ------------------------------------------------------------------------------------ order

// Not measured, numbers, infinities, NaN: the later the worse, whatever the direction.
const rank = (value) => (value === null ? 0 : Number.isNaN(value) ? 3 : Number.isFinite(value) ? 1 : 2);

function comparator(column, down) {
  const sign = down ? -1 : 1;
  if (column.kind === "text") {
    const order = column.key === "status" ? (a, b) => SEVERITY.indexOf(b) - SEVERITY.indexOf(a) : COLLATOR.compare;
    const place = new Int32Array(column.texts.length);
    const byOrder = [...column.texts.keys()].sort((a, b) => order(column.texts[a], column.texts[b]));
    byOrder.forEach((text, i) => { place[text] = i; });
    return (a, b) => sign * (place[column.values[a]] - place[column.values[b]]) || a - b;
  }
  const falling = column.worse < 0;
  return (a, b) => {
    const x = column.values[a], y = column.values[b];
    const rx = rank(x), ry = rank(y);
    if (rx === 1 && ry === 1) return sign * (x - y) || a - b;
    if (!rx || !ry) return ry - rx || a - b; // nothing measured: last in both directions
    return (falling ? -sign : sign) * (rx - ry) || a - b;
  };
}

// ----------------------------------------------------------------------------------- grades

// The rule of workbench.comparison.results.regrade.
function regrade(data, { factor, limit }) {
  const status = data.named.status, error = data.named.error.values, floors = inFloors(data);
  status.values = status.given;
  if (factor === null && limit === null) return;
  const [FAIL, WARN, PASS] = ["fail", "warn", "pass"].map((name) => SEVERITY.indexOf(name));
  const judged = (number) => number === FAIL || number === WARN || number === PASS;
  status.values = status.given.map((given, i) => {
    const many = floors[i] !== null;
    if (!judged(given) || error[i] === null || (limit === null && (factor === null || !many))) return given;
    if (!Number.isFinite(error[i]) || (limit !== null && error[i] > limit) || (factor !== null && many && floors[i] > factor)) return FAIL;
    return many && floors[i] > 1 ? WARN : PASS;
  });
}

// How many noise floors each error is. A page with rounded figures says it, for both rounded might be on another side of a threshold.
function inFloors(data) {
  const { error, floor } = data.named, count = (e, i) => (e === null || floor.values[i] === null ? null : floor.values[i] === 0 && e === 0 ? 0 : e / floor.values[i]);
  data.inFloors ??= data.times ? data.times.map(spoken) : error.values.map(count);
  return data.inFloors;
}

// ----------------------------------------------------------------------------------- limits

// What the plot draws of a column: figures whose best is 1 by their distance from it.
function drawn(column, i) {
  const value = column.values[i];
  return value === null ? null : Math.abs(column.worse < 0 ? 1 - value : value);
}

// Whole decades around the figures: at least three, at most twenty; the rule of show/plots/series.py.
function limitsOf(data, key) {
  if (key === "error") return data.limits;
  const column = data.named[key];
  let low = Infinity, high = -Infinity;
  for (let i = 0; i < data.rows; i++) {
    const value = data.x[i] === null ? null : drawn(column, i);
    if (value === null || !Number.isFinite(value) || value === 0) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return [-8, 0];
  low = Math.floor(Math.log10(low));
  high = Math.max(Math.ceil(Math.log10(high)), low + 1);
  while (high - low < 3) { if (high - low === 2) low -= 1; else { low -= 1; high += 1; } }
  return [Math.max(low, high - 20), high];
}
