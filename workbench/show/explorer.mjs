// The explorer: plot, table and details of one comparison, linked by one selection.
//
// One module serves three hosts: the HTML report (inline), the notebook widget and its iframe
// fallback. It takes the JSON of workbench.explorer/1, asks the network for nothing, and puts text
// into the page as text only, so no name from a dump can become markup.

const ROW = 28; // height of a table row, pixels; the style sheet holds the same figure
const OVERSCAN = 8;
const SEVERITY = ["fail", "warn", "uncomparable", "unmatched", "pass", "equal"];
const SEARCHED = ["op_name", "golden", "op_type", "dtype", "golden_dtype", "reason", "rule", "source", "code"];
const WORDS = { NaN: NaN, Infinity: Infinity, "-Infinity": -Infinity };
const PRINT_LIMIT = 500;
const COLLATOR = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

// ------------------------------------------------------------------------------------ words

export function number(value) {
  if (value === null) return "–";
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "Inf" : "-Inf";
  const size = Math.abs(value);
  if (size < 1e7 && Number.isInteger(value)) return value.toLocaleString("en-US");
  if (size >= 1e-2 && size < 1e3) return value.toPrecision(3);
  const [mantissa, exponent] = value.toExponential(2).split("e");
  return `${mantissa}e${Number(exponent)}`;
}

// Shares whose best value is 1 show three digits of their distance from it; only 1 itself reads 1.
function figure(column, value) {
  if (column.kind !== "share" || !(value >= 0.1 && value < 1)) return number(value);
  return value.toFixed(Math.min(7, Math.max(3, 2 - Math.floor(Math.log10(1 - value)))));
}

function times(value, floor) {
  if (value === null || floor === null || !(floor > 0) || !Number.isFinite(value)) return "";
  const ratio = value / floor;
  if (!Number.isFinite(ratio)) return "";
  if (ratio >= 1e4) return `${ratio.toExponential(1).replace("+", "")}×`;
  return ratio >= 10 ? `${number(Math.round(ratio))}×` : `${ratio.toPrecision(2)}×`;
}

const count = (n) => n.toLocaleString("en-US");

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
  const cut = name.lastIndexOf("/") + 1;
  return [h("span", { class: "wb-scope" }, h("bdi", { dir: "ltr" }, name.slice(0, cut))), h("span", { class: "wb-leaf" }, name.slice(cut))];
}

// ------------------------------------------------------------------------------------- data

export async function load(element) {
  const text = element.textContent.trim();
  if (element.dataset.encoding !== "gzip") return JSON.parse(text);
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

function decode(raw) {
  const names = raw.columns.find((column) => column.key === "op_name");
  const columns = raw.columns.map((packed) => {
    if (packed.kind === "text") {
      const column = sharing(packed, names);
      return { ...column, get: (i) => column.texts[column.values[i]] };
    }
    const column = packed.key === "order" ? { ...packed, values: summed(packed.values) } : packed;
    const values = column.values.map((value) => (typeof value === "string" ? WORDS[value] : value));
    return { ...column, values, get: (i) => values[i] };
  });
  columns.sort((a, b) => (b.key === "op_name") - (a.key === "op_name")); // the sticky column leads
  const named = Object.fromEntries(columns.map((column) => [column.key, column]));
  return { ...raw, columns, named, x: summed(raw.x), get: (key, i) => named[key]?.get(i) ?? null };
}

// Index -1 of a text column stands for the operator's own name.
function sharing(column, names) {
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

// ------------------------------------------------------------------------------------ state

const EMPTY = { query: "", statuses: [], choices: {}, range: null };

function createStore(data) {
  const orders = new Map();
  const listeners = [];
  const store = {
    data,
    filter: EMPTY,
    sort: { key: "", down: false },
    selected: -1,
    visible: new Int32Array(0),
    place: new Int32Array(data.rows).fill(-1), // row → position among the visible ones
    listen: (listener) => listeners.push(listener),
    update(changes) {
      const before = { filter: store.filter, sort: store.sort, selected: store.selected };
      Object.assign(store, changes);
      const filtered = store.filter !== before.filter, sorted = store.sort !== before.sort;
      if (filtered || sorted) refresh();
      for (const listener of listeners) listener({ filtered, sorted, chosen: store.selected !== before.selected });
    },
  };
  function ordered() {
    const { key, down } = store.sort;
    const name = `${key} ${down}`;
    if (!orders.has(name)) {
      const order = Int32Array.from({ length: data.rows }, (_, i) => i);
      orders.set(name, key ? order.sort(comparator(data.named[key], down)) : order);
    }
    return orders.get(name);
  }
  function refresh() {
    const keep = mask(data, store.filter);
    store.visible = ordered().filter((i) => keep[i]);
    store.place.fill(-1);
    store.visible.forEach((i, position) => { store.place[i] = position; });
  }
  refresh();
  return store;
}

function mask(data, { query, statuses, choices, range }) {
  const keep = new Uint8Array(data.rows).fill(1);
  for (const term of query.toLowerCase().split(/\s+/).filter(Boolean)) narrow(keep, contains(data, term));
  const status = data.named.status;
  if (statuses.length) {
    const wanted = status.texts.map((text) => statuses.includes(text));
    for (let i = 0; i < keep.length; i++) if (!wanted[status.values[i]]) keep[i] = 0;
  }
  for (const [key, wanted] of Object.entries(choices)) {
    if (wanted === "") continue;
    const match = key === "io" ? (i) => data.get("tensor", i).startsWith(wanted) : (i) => String(data.get(key, i)) === wanted;
    for (let i = 0; i < keep.length; i++) if (keep[i] && !match(i)) keep[i] = 0;
  }
  if (range) {
    const [low, high] = range;
    for (let i = 0; i < keep.length; i++) if (data.x[i] === null || data.x[i] < low || data.x[i] > high) keep[i] = 0;
  }
  return keep;
}

function contains(data, term) {
  const found = new Uint8Array(data.rows);
  for (const key of SEARCHED) {
    const column = data.named[key];
    if (!column) continue;
    column.lower ??= column.texts.map((text) => text.toLowerCase());
    const hits = column.lower.map((text) => text.includes(term));
    if (hits.includes(true)) for (let i = 0; i < found.length; i++) if (hits[column.values[i]]) found[i] = 1;
  }
  return found;
}

function narrow(keep, found) {
  for (let i = 0; i < keep.length; i++) keep[i] &= found[i];
}

// ------------------------------------------------------------------------------------- plot

const MARGIN = { left: 88, right: 14, top: 44, bottom: 40 };
const INKS = ["ink", "muted", "line", "fail", "warn", "pass", "equal", "uncomparable", "accent"];

function createPlot(store) {
  const { data } = store;
  const base = h("canvas", { class: "wbx-canvas", role: "img", "aria-label": plotLabel(data) });
  const over = h("canvas", { class: "wbx-canvas wbx-over", "aria-hidden": "true" });
  const tip = h("div", { class: "wbx-tip", hidden: true });
  const element = h("div", { class: "wbx-plot" }, base, over, tip);
  const probe = h("span", { hidden: true });
  element.append(probe);
  const floor = noiseFloor(data);
  const sizes = { px: new Float32Array(data.rows), py: new Float32Array(data.rows) };
  let scale = null, inks = {}, drag = null, hover = -1;

  function measure() {
    const width = element.clientWidth, height = element.clientHeight, dpr = window.devicePixelRatio || 1;
    for (const canvas of [base, over]) {
      canvas.width = Math.round(width * dpr);
      canvas.height = Math.round(height * dpr);
      canvas.getContext("2d").setTransform(dpr, 0, 0, dpr, 0, 0);
    }
    scale = createScale(data, store.filter.range, width, height);
    for (const name of INKS) {
      probe.style.color = `var(--wb-${name})`;
      inks[name] = getComputedStyle(probe).color;
    }
  }

  function draw() {
    if (!element.clientWidth) return; // mounted hidden: the resize observer calls again
    measure();
    const context = base.getContext("2d");
    context.clearRect(0, 0, scale.width, scale.height);
    context.font = `11px ${getComputedStyle(element).fontFamily}`;
    drawFloor(context, scale, inks, floor);
    drawAxes(context, scale, inks, data);
    drawPoints(context, scale, inks, store, sizes);
    drawMarks(context, scale, inks, data.marks);
    drawOver();
  }

  function drawOver() {
    if (!scale) return;
    const context = over.getContext("2d");
    context.clearRect(0, 0, scale.width, scale.height);
    for (const [row, radius] of [[hover, 7], [store.selected, 8]]) {
      if (row < 0 || !inside(scale, data.x[row])) continue;
      const x = scale.x(data.x[row]), y = scale.y(data, row);
      context.strokeStyle = inks.accent;
      context.lineWidth = row === store.selected ? 2 : 1;
      context.beginPath();
      context.arc(x, y, radius, 0, 7);
      context.stroke();
    }
    if (drag?.wide) {
      context.fillStyle = inks.accent;
      context.globalAlpha = 0.15;
      context.fillRect(Math.min(drag.from, drag.to), MARGIN.top, Math.abs(drag.to - drag.from), scale.bottom - MARGIN.top);
      context.globalAlpha = 1;
    }
  }

  function nearest(event) {
    let best = -1, distance = 14 ** 2;
    for (const i of store.visible) {
      if (!inside(scale, data.x[i])) continue;
      const d = (sizes.px[i] - event.offsetX) ** 2 + (sizes.py[i] - event.offsetY) ** 2;
      if (d < distance) { distance = d; best = i; }
    }
    return best;
  }

  function showTip(row) {
    tip.hidden = row < 0;
    if (row < 0) return;
    const floorText = times(data.get("error", row), data.get("floor", row));
    tip.replaceChildren(
      h("strong", {}, data.get("op_name", row) || data.get("golden", row)), h("br"),
      `${data.get("tensor", row)} · ${data.get("status", row)} · error ${number(data.get("error", row))}`,
      floorText ? ` (${floorText} noise floor)` : "",
    );
    const right = sizes.px[row] > scale.width / 2;
    tip.style.left = right ? "" : `${sizes.px[row] + 12}px`;
    tip.style.right = right ? `${scale.width - sizes.px[row] + 12}px` : "";
    tip.style.top = `${Math.max(0, sizes.py[row] - 22)}px`;
  }

  over.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    drag = { from: event.offsetX, to: event.offsetX, wide: false };
    over.setPointerCapture(event.pointerId);
  });
  over.addEventListener("pointermove", (event) => {
    if (!scale) return;
    if (drag) {
      drag.to = event.offsetX;
      drag.wide ||= Math.abs(drag.to - drag.from) > 5;
    }
    const row = drag?.wide ? -1 : nearest(event);
    if (row !== hover || drag) { hover = row; showTip(row); drawOver(); }
  });
  over.addEventListener("pointerup", (event) => {
    if (drag?.wide) {
      const ends = [scale.back(drag.from), scale.back(drag.to)].sort((a, b) => a - b);
      drag = null;
      store.update({ filter: { ...store.filter, range: [Math.ceil(ends[0]), Math.floor(ends[1])] } });
    } else {
      drag = null;
      const row = nearest(event);
      if (row >= 0) store.update({ selected: row });
    }
  });
  over.addEventListener("pointercancel", () => { drag = null; drawOver(); });
  over.addEventListener("pointerleave", () => { if (!drag) { hover = -1; showTip(-1); drawOver(); } });
  over.addEventListener("dblclick", () => store.update({ filter: { ...store.filter, range: null } }));
  return { element, draw, drawOver };
}

function plotLabel(data) {
  const drawn = data.x.filter((x) => x !== null).length;
  const text = `Relative error of ${count(drawn)} matched tensors in execution order, log scale`;
  return data.marks.length ? `${text}; marked: ${data.marks.slice(0, 3).map((m) => m[2]).join(", ")}` : text;
}

// The largest floor of an operator's outputs, else of its inputs, by position.
function noiseFloor(data) {
  const best = new Map();
  for (let i = 0; i < data.rows; i++) {
    const value = data.get("floor", i), x = data.x[i];
    if (x === null || !(value > 0) || !Number.isFinite(value)) continue;
    const output = data.get("tensor", i).startsWith("output"), old = best.get(x);
    if (!old || output > old.output || (output === old.output && value > old.value)) best.set(x, { output, value });
  }
  return best;
}

function createScale(data, range, width, height) {
  const [low, high] = data.limits;
  const [first, last] = range ?? [0, data.width - 1];
  const pad = 0.5 + 0.012 * (last - first + 1);
  const left = MARGIN.left, right = width - MARGIN.right, bottom = height - MARGIN.bottom;
  const lane = Math.min(26, (bottom - MARGIN.top) / 8);
  const lanes = { top: MARGIN.top + lane / 2 };
  const none = data.x.some((x, i) => x !== null && data.get("error", i) === null);
  lanes.zero = bottom - lane / 2 - (none ? lane : 0);
  if (none) lanes.none = bottom - lane / 2;
  const top = MARGIN.top + lane + 8, floor = lanes.zero - lane / 2 - 8;
  const span = last - first + 2 * pad;
  const log = (value) => top + ((high - Math.max(low, Math.min(high, value))) / (high - low)) * (floor - top);
  return {
    width, height, left, right, bottom, low, high, first, last, top, floor, lanes, log, lane,
    x: (x) => left + ((x - first + pad) / span) * (right - left),
    back: (px) => first - pad + ((px - left) / (right - left)) * span,
    y(source, row) {
      const error = source.get("error", row);
      if (error === null) return lanes.none;
      if (!Number.isFinite(error)) return lanes.top;
      return error === 0 ? lanes.zero : log(Math.log10(Math.abs(error)));
    },
  };
}

const inside = (scale, x) => x !== null && x >= scale.first && x <= scale.last;

function drawFloor(context, scale, inks, floor) {
  context.fillStyle = inks.equal;
  context.globalAlpha = 0.2;
  const step = scale.x(1) - scale.x(0);
  const tallest = new Map(); // by pixel column: many operators share one
  for (const [x, { value }] of floor) {
    if (!inside(scale, x)) continue;
    const left = Math.round(scale.x(x - 0.5)), width = Math.max(1, Math.round(scale.x(x - 0.5) + step) - left);
    const top = scale.log(Math.log10(value));
    if (width > 1) context.fillRect(left, top, width, scale.floor - top);
    else tallest.set(left, Math.min(top, tallest.get(left) ?? Infinity));
  }
  for (const [left, top] of tallest) context.fillRect(left, top, 1, scale.floor - top);
  context.globalAlpha = 1;
}

function drawAxes(context, scale, inks, data) {
  const line = (x0, y0, x1, y1) => {
    context.beginPath();
    context.moveTo(Math.round(x0) + 0.5, Math.round(y0) + 0.5);
    context.lineTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
    context.stroke();
  };
  const label = (text, x, y, align, ink = inks.muted) => {
    context.fillStyle = ink;
    context.textAlign = align;
    context.fillText(text, x, y);
  };
  context.textBaseline = "middle";
  context.lineWidth = 1;
  const stride = 1 + Math.floor((scale.high - scale.low - 1) / 8);
  for (let decade = scale.high; decade >= scale.low; decade -= stride) {
    context.strokeStyle = inks.line;
    line(scale.left, scale.log(decade), scale.right, scale.log(decade));
    label(`10${superscript(decade)}`, scale.left - 8, scale.log(decade), "right");
  }
  for (const [lane, text] of [["top", "NaN, Inf"], ["zero", "exactly 0"], ["none", "not measured"]])
    if (scale.lanes[lane]) label(text, scale.left - 8, scale.lanes[lane], "right");
  context.strokeStyle = inks.equal;
  line(scale.left, scale.lanes.top + scale.lane / 2, scale.right, scale.lanes.top + scale.lane / 2);
  line(scale.left, scale.lanes.zero - scale.lane / 2, scale.right, scale.lanes.zero - scale.lane / 2);
  for (const tick of ticks(scale.first, scale.last)) label(count(tick), scale.x(tick), scale.bottom + 10, "center");
  if (data.segments.length > 1) drawSegments(scale, data.segments, line, label);
  else label("position in execution order", scale.right, scale.bottom + 28, "right");
}

function drawSegments(scale, segments, line, label) {
  let free = -Infinity;
  for (const [start, end, text] of segments) {
    if (end < scale.first || start > scale.last) continue;
    const x = scale.x(Math.max(start, scale.first) - 0.5);
    if (start > scale.first) line(x, MARGIN.top, x, scale.bottom);
    if (x < free || x > scale.right - 60) continue;
    label(text, x + 3, scale.bottom + 28, "left");
    free = x + 90;
  }
}

const superscript = (n) => String(n).replace(/./g, (sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]);

function ticks(first, last) {
  const rough = Math.max(1, (last - first) / 9), power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, power * [1, 2, 5, 10].find((factor) => factor * power >= rough));
  const found = [];
  for (let tick = Math.ceil(first / step) * step; tick <= last; tick += step) found.push(tick);
  return found;
}

function drawPoints(context, scale, inks, store, { px, py }) {
  const { data } = store, status = data.named.status;
  const radius = Math.max(1.4, Math.min(3.6, 45 / Math.sqrt(store.visible.length + 1) + 1.2));
  const rows = Array.from({ length: data.rows }, (_, i) => i).filter((i) => inside(scale, data.x[i]));
  for (const i of rows) { px[i] = scale.x(data.x[i]); py[i] = scale.y(data, i); }
  context.globalAlpha = 0.25; // rows that the filter hides stay as a shadow
  context.fillStyle = inks.muted;
  for (const i of rows) if (store.place[i] < 0) context.fillRect(px[i] - 0.75, py[i] - 0.75, 1.5, 1.5);
  context.globalAlpha = 0.92;
  for (const name of [...SEVERITY].reverse()) {
    const number = status.texts.indexOf(name);
    context.fillStyle = context.strokeStyle = inks[name];
    context.beginPath();
    for (const i of rows)
      if (status.values[i] === number && store.place[i] >= 0) trace(context, name, px[i], py[i], radius);
    if (name === "fail" || name === "equal") {
      context.lineWidth = name === "fail" ? radius * 0.7 : 1;
      context.stroke();
    } else context.fill();
  }
  context.globalAlpha = 1;
}

function trace(context, status, x, y, r) {
  if (status === "fail") {
    context.moveTo(x - r, y - r); context.lineTo(x + r, y + r);
    context.moveTo(x - r, y + r); context.lineTo(x + r, y - r);
  } else if (status === "warn") {
    context.moveTo(x, y - r * 1.2); context.lineTo(x + r * 1.15, y + r); context.lineTo(x - r * 1.15, y + r);
    context.closePath();
  } else if (status === "uncomparable") context.rect(x - r * 0.8, y - r * 0.8, r * 1.6, r * 1.6);
  else { const s = r * 0.85; context.moveTo(x + s, y); context.arc(x, y, s, 0, 7); }
}

function drawMarks(context, scale, inks, marks) {
  const ends = [], font = context.font;
  marks.slice(0, 9).forEach(([place, number, name], position) => {
    if (!inside(scale, place)) return;
    const x = Math.round(scale.x(place)) + 0.5;
    context.strokeStyle = inks.fail;
    context.lineWidth = position ? 1 : 1.6;
    context.beginPath();
    context.moveTo(x, MARGIN.top); context.lineTo(x, scale.bottom);
    context.stroke();
    if (position > 2) return;
    context.font = position ? font : `600 ${font}`;
    const text = `${number}  ${name.length > 44 ? `${name.slice(0, 43)}…` : name}`;
    const width = context.measureText(text).width + 10;
    const late = x + width > scale.right, start = late ? x - width : x;
    let row = ends.findIndex((end) => end <= start);
    if (row < 0) row = ends.length;
    ends[row] = start + width;
    context.fillStyle = inks.ink;
    context.textAlign = late ? "right" : "left";
    context.fillText(text, late ? x + 3 : x - 3, MARGIN.top - 10 - 14 * row);
    context.font = font;
  });
}

// ------------------------------------------------------------------------------------ table

const WIDTHS = { op_name: 370, order: 62, op_type: 150, tensor: 84, status: 134, shape: 120, golden_shape: 120, golden: 260,
  rule: 110, reason: 260, source: 240, code: 240, dtype: 84, golden_dtype: 110 };
let serial = 0;

function createTable(store) {
  const { data } = store, id = `wbx${serial++}`;
  const heads = data.columns.map((column) => {
    const button = h("button", { type: "button", title: column.help || null, onclick: () => store.update({ sort: turned(store.sort, column) }) },
      ...breakable(column.heading), h("span", { class: "wbx-arrow", "aria-hidden": "true" }));
    return h("th", { scope: "col", role: "columnheader", class: column.kind === "text" ? null : "wb-num" }, button);
  });
  const body = h("tbody", { role: "rowgroup" });
  const widths = data.columns.map((column) => WIDTHS[column.key] ?? (column.help ? 158 : column.kind === "count" ? 96 : 108));
  const table = h("table", { class: "wbx-table", role: "grid", tabindex: "0", "aria-label": "All tensors of the comparison", "aria-colcount": heads.length },
    h("colgroup", {}, ...widths.map((width) => { const col = h("col"); col.style.width = `${width}px`; return col; })),
    h("thead", { role: "rowgroup" }, h("tr", { role: "row", "aria-rowindex": "1" }, ...heads)), body);
  table.style.width = `${widths.reduce((a, b) => a + b)}px`;
  const scroller = h("div", { class: "wbx-scroll" }, table);

  function render() {
    const first = Math.max(0, Math.floor(scroller.scrollTop / ROW) - OVERSCAN);
    const last = Math.min(store.visible.length, first + Math.ceil((scroller.clientHeight || 420) / ROW) + 2 * OVERSCAN);
    const rows = [];
    for (let position = first; position < last; position++) rows.push(line(position));
    body.replaceChildren(spacer(first), ...rows, spacer(store.visible.length - last));
    const shown = store.selected >= 0 && store.place[store.selected] >= first && store.place[store.selected] < last;
    if (shown) table.setAttribute("aria-activedescendant", `${id}-${store.selected}`);
    else table.removeAttribute("aria-activedescendant");
  }

  function line(position) {
    const row = store.visible[position];
    return h("tr", { id: `${id}-${row}`, role: "row", "aria-rowindex": position + 2, "aria-selected": row === store.selected ? "true" : "false", "data-row": row },
      ...data.columns.map((column) => cell(column, row)));
  }

  function renderHead() {
    table.setAttribute("aria-rowcount", store.visible.length + 1);
    data.columns.forEach((column, i) => {
      const active = store.sort.key === column.key;
      if (active) heads[i].setAttribute("aria-sort", store.sort.down ? "descending" : "ascending");
      else heads[i].removeAttribute("aria-sort");
      heads[i].querySelector(".wbx-arrow").textContent = active ? (store.sort.down ? "▼" : "▲") : "";
    });
  }

  // The spacers must have their height before the scroll position can be set.
  function show(row) {
    render();
    reveal(row);
    render();
  }

  function rewind() {
    scroller.scrollTop = 0;
    render();
  }

  function reveal(row) {
    const place = row < 0 ? -1 : store.place[row];
    if (place < 0) return;
    const room = scroller.clientHeight - table.tHead.offsetHeight;
    const above = scroller.scrollTop - place * ROW, below = (place + 1) * ROW - room - scroller.scrollTop;
    if (Math.max(above, below) > room) scroller.scrollTop = (place + 0.5) * ROW - room / 2; // a far jump lands in the middle
    else if (above > 0) scroller.scrollTop -= above;
    else if (below > 0) scroller.scrollTop += below;
  }

  function move(step) {
    if (!store.visible.length) return;
    const from = store.selected < 0 ? -1 : store.place[store.selected];
    const to = Math.max(0, Math.min(store.visible.length - 1, from < 0 && step > 0 ? step - 1 : from + step));
    store.update({ selected: store.visible[to] });
  }

  const page = () => Math.max(1, Math.floor(scroller.clientHeight / ROW) - 2);
  const keys = { ArrowDown: () => move(1), ArrowUp: () => move(-1), PageDown: () => move(page()), PageUp: () => move(-page()),
    Home: () => move(-data.rows), End: () => move(data.rows) };
  table.addEventListener("keydown", (event) => {
    if (event.target !== table || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-row]");
    if (!row) return;
    table.focus({ preventScroll: true });
    store.update({ selected: Number(row.dataset.row) });
  });
  let waiting = false;
  scroller.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; render(); });
  });
  return { element: scroller, table, render, renderHead, show, rewind };
}

function turned(sort, column) {
  if (sort.key === column.key) return { key: column.key, down: !sort.down };
  const down = column.key === "status" || (column.kind !== "text" && column.key !== "order" && column.worse >= 0);
  return { key: column.key, down };
}

function spacer(rows) {
  const row = h("tr", { class: "wbx-spacer", "aria-hidden": "true" });
  row.style.height = `${rows * ROW}px`;
  return row;
}

function cell(column, row) {
  const value = column.get(row);
  if (column.key === "status") return h("td", { role: "gridcell" }, mark(value), ` ${value}`);
  if (column.key === "op_name" || column.key === "golden")
    return h("td", { role: column.key === "op_name" ? "rowheader" : "gridcell", class: "wb-name", title: value }, h("span", {}, ...named(value)));
  if (column.kind === "text") return h("td", { role: "gridcell", title: value }, value);
  const odd = value !== null && !Number.isFinite(value);
  return h("td", { role: "gridcell", class: odd ? "wb-num wb-odd" : value === null ? "wb-num wb-none" : "wb-num" }, figure(column, value));
}

// ---------------------------------------------------------------------------------- details

function createDetails(store) {
  const { data } = store;
  const element = h("aside", { class: "wbx-details", tabindex: "-1", "aria-label": "Selected tensor" });

  function jump(direction) {
    const start = store.selected < 0 ? (direction > 0 ? -1 : store.visible.length) : store.place[store.selected];
    for (let at = start + direction; at >= 0 && at < store.visible.length; at += direction)
      if (data.get("status", store.visible[at]) === "fail") return store.update({ selected: store.visible[at] });
    return undefined;
  }

  function render() {
    const row = store.selected;
    const buttons = h("div", { class: "wbx-jump" },
      h("button", { type: "button", onclick: () => jump(-1) }, "‹ Previous failing"),
      h("button", { type: "button", onclick: () => jump(1) }, "Next failing ›"));
    if (row < 0) {
      element.replaceChildren(buttons, h("p", { class: "wbx-hint" }, "Nothing is selected."));
      return;
    }
    element.replaceChildren(buttons, ...describe(data, row));
  }
  return { element, render };
}

function describe(data, row) {
  const name = data.get("op_name", row) || data.get("golden", row), status = data.get("status", row);
  const over = times(data.get("error", row), data.get("floor", row));
  const parts = [
    h("h3", {}, h("span", { class: "wb-name" }, ...named(name))),
    h("p", {}, mark(status), " ", h("strong", {}, status), ` · ${data.get("op_type", row)} · ${data.get("tensor", row)}`,
      data.named.rank ? ` · rank ${data.get("rank", row)}` : "",
      data.named.iteration ? ` · iteration ${data.get("iteration", row)}` : ""),
  ];
  if (data.get("reason", row)) parts.push(h("p", { class: "wbx-reason" }, data.get("reason", row)));
  parts.push(h("dl", { class: "wbx-figures" },
    ...["error", "inherited", "floor"].flatMap((key) => pair(data.named[key].heading, number(data.get(key, row)))),
    ...(over ? pair("Error / floor", over) : [])));
  if (data.get("code", row) || data.get("source", row))
    parts.push(h("p", { class: "wb-source" }, h("span", {}, data.get("source", row)), h("code", {}, data.get("code", row))));
  parts.push(sides(data, row));
  const metrics = data.columns.filter((c) => c.help && c.get(row) !== null);
  if (metrics.length)
    parts.push(h("dl", { class: "wbx-metrics" }, ...metrics.flatMap((c) => pair(c.heading, figure(c, c.get(row)), c.help))));
  return parts;
}

const pair = (term, text, help = null) => [h("dt", { title: help }, term), h("dd", {}, text)];

function sides(data, row) {
  const side = (name, dtype, shape) => h("tr", {}, h("th", { scope: "row" }, name),
    h("td", {}, data.get(dtype, row) || "–"), h("td", {}, data.get(shape, row) || "–"));
  const table = h("table", { class: "wbx-sides" },
    h("tbody", {}, side("Target", "dtype", "shape"), side("Golden", "golden_dtype", "golden_shape")));
  const rule = data.get("rule", row);
  const golden = data.get("golden", row);
  const text = rule ? `Matched by ${rule}, score ${number(data.get("score", row))}` : "No partner";
  return h("div", {}, table, h("p", { class: "wb-quiet" }, text, golden && golden !== data.get("op_name", row) ? ` with ${golden}` : ""));
}

// ---------------------------------------------------------------------------------- toolbar

const CHOICES = [["op_type", "All types"], ["iteration", "All iterations"], ["rank", "All ranks"], ["rule", "Any match"]];

function createBar(store) {
  const { data } = store, status = data.named.status;
  const input = h("input", { type: "search", class: "wbx-filter", placeholder: "Filter by name, type, source …", "aria-label": "Filter rows", "aria-keyshortcuts": "/",
    spellcheck: "false", autocomplete: "off", oninput: () => store.update({ filter: { ...store.filter, query: input.value } }) });
  const totals = new Map(status.texts.map((text, number) => [text, status.values.reduce((n, v) => n + (v === number), 0)]));
  const chips = SEVERITY.filter((name) => totals.get(name)).map((name) => h("button",
    { type: "button", class: "wbx-chip", "data-status": name, title: data.statuses[name] ?? null, onclick: () => toggle(name) },
    mark(name), ` ${name} `, h("span", { class: "wbx-count" }, count(totals.get(name)))));
  const selects = [select("io", "Inputs and outputs", ["output", "input"]),
    ...CHOICES.map(([key, all]) => select(key, all, options(data.named[key])))].filter(Boolean);
  const shown = h("output", { class: "wbx-shown", role: "status" });
  const range = h("button", { type: "button", class: "wbx-chip wbx-range", hidden: true, onclick: () => store.update({ filter: { ...store.filter, range: null } }) });
  const reset = h("button", { type: "button", class: "wbx-reset", onclick: () => store.update({ filter: EMPTY, sort: { key: "", down: false } }) }, "Reset");
  const element = h("div", { class: "wbx-bar", role: "group", "aria-label": "Filters" }, input,
    h("span", { class: "wbx-chips" }, ...chips, range), h("span", { class: "wbx-chips wbx-rest" }, ...selects, h("span", { class: "wbx-result" }, shown, reset)));

  function toggle(name) {
    const old = store.filter.statuses;
    const statuses = old.includes(name) ? old.filter((other) => other !== name) : [...old, name];
    store.update({ filter: { ...store.filter, statuses } });
  }
  function select(key, all, texts) {
    if (texts.length < 2) return null;
    return h("select", { "data-key": key, "aria-label": all, onchange: (event) =>
      store.update({ filter: { ...store.filter, choices: { ...store.filter.choices, [key]: event.target.value } } }) },
      h("option", { value: "" }, all), ...texts.map((text) => h("option", { value: text }, key === "iteration" || key === "rank" ? `${key} ${text}` : text || "no partner")));
  }
  function render() {
    const { filter } = store;
    if (input.value !== filter.query) input.value = filter.query;
    for (const chip of chips) chip.setAttribute("aria-pressed", filter.statuses.includes(chip.dataset.status) ? "true" : "false");
    for (const box of selects) box.value = filter.choices[box.dataset.key] ?? "";
    range.hidden = !filter.range;
    if (filter.range) range.textContent = `positions ${count(filter.range[0])}–${count(filter.range[1])} ✕`;
    shown.textContent = `${count(store.visible.length)} of ${count(data.rows)} rows shown`;
    reset.disabled = filter === EMPTY && !store.sort.key;
  }
  return { element, input, render };
}

function options(column) {
  if (!column) return [];
  const values = column.kind === "text" ? column.texts : [...new Set(column.values)].map(String);
  return [...values].sort(COLLATOR.compare);
}

// ------------------------------------------------------------------------------------- hash

function readHash(store) {
  const { data } = store;
  const wanted = new URLSearchParams(location.hash.slice(1));
  const changes = {};
  const statuses = (wanted.get("status") ?? "").split(",").filter((name) => SEVERITY.includes(name));
  if (statuses.length || wanted.has("q")) changes.filter = { ...EMPTY, statuses, query: wanted.get("q") ?? "" };
  const [key, way] = (wanted.get("sort") ?? "").split(".");
  if (data.named[key]) changes.sort = { key, down: way === "down" };
  const name = wanted.get("op");
  if (name !== null) {
    changes.selected = find(data, name, wanted.get("it"), wanted.get("t"), wanted.get("r"));
    if (!changes.filter) changes.filter = EMPTY; // a link to an operator must find it
  }
  return changes;
}

function find(data, name, iteration, tensor, rank) {
  let best = -1, points = 0;
  for (let i = 0; i < data.rows; i++) {
    if (data.get("op_name", i) !== name && data.get("golden", i) !== name) continue;
    const score = 1 + 8 * (data.named.rank !== undefined && String(data.get("rank", i)) === rank)
      + 4 * (data.named.iteration === undefined || String(data.get("iteration", i)) === iteration) + 2 * (data.get("tensor", i) === tensor);
    if (score > points) { points = score; best = i; }
  }
  return best;
}

function writeHash(store) {
  const { data, filter, sort, selected } = store, parts = new URLSearchParams();
  if (selected >= 0) {
    parts.set("op", data.get("op_name", selected) || data.get("golden", selected));
    if (data.named.iteration) parts.set("it", data.get("iteration", selected));
    if (data.named.rank) parts.set("r", data.get("rank", selected));
    parts.set("t", data.get("tensor", selected));
  }
  if (filter.statuses.length) parts.set("status", filter.statuses.join(","));
  if (filter.query) parts.set("q", filter.query);
  if (sort.key) parts.set("sort", `${sort.key}.${sort.down ? "down" : "up"}`);
  try {
    history.replaceState(null, "", `#${parts}`);
  } catch { /* a frame without an address of its own has no hash to keep */ }
}

// ------------------------------------------------------------------------------------ mount

function createPrint(store) {
  const { data } = store;
  return () => {
    const rows = [...data.x.keys()].filter((i) => ["fail", "warn"].includes(data.get("status", i)));
    const columns = ["op_name", "op_type", "tensor", "iteration", "status", "error", "floor"].map((key) => data.named[key]).filter(Boolean);
    const kept = rows.slice(0, PRINT_LIMIT);
    return h("table", { class: "wb-table" },
      h("caption", {}, `${count(kept.length)} of ${count(rows.length)} failing and warning rows, in execution order; ${count(data.rows - rows.length)} others are not printed`),
      h("thead", {}, h("tr", {}, ...columns.map((column) => h("th", { scope: "col", class: column.kind === "text" ? null : "wb-num" }, column.heading)))),
      h("tbody", {}, ...kept.map((row) => h("tr", {}, ...columns.map((column) => cell(column, row))))));
  };
}

const HINT = "Click a point or a row to select it. Drag across the plot to look at a part of the run; double-click to see all of it again.";

// The best finding's row is selected from the start: its failing output, else anything of it.
function firstMarked(data) {
  const place = data.marks[0]?.[0] ?? -1;
  const rows = [...data.x.keys()].filter((i) => data.x[i] === place);
  const output = rows.find((i) => data.get("status", i) === "fail" && data.get("tensor", i).startsWith("output"));
  return output ?? rows[0] ?? -1;
}

function watchTheme(draw) {
  const media = matchMedia("(prefers-color-scheme: dark)");
  media.addEventListener("change", draw);
  const observer = new MutationObserver(draw);
  observer.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-jp-theme-name", "class"] });
  return () => { media.removeEventListener("change", draw); observer.disconnect(); };
}

// Options: `hash` keeps the state in the address, `print` is an element to fill before printing,
// `onselect` hears the number of the selected row.
export function mount(root, raw, { hash = false, print = null, onselect = null } = {}) {
  const store = createStore(decode(raw));
  const plot = createPlot(store), table = createTable(store), details = createDetails(store), bar = createBar(store);
  root.classList.add("wbx");
  root.replaceChildren(h("div", { class: "wbx-top" }, plot.element, details.element), h("p", { class: "wbx-hint" }, HINT), bar.element, table.element);
  store.selected = firstMarked(store.data);

  store.listen(({ filtered, sorted, chosen }) => {
    if (filtered || sorted) { bar.render(); table.renderHead(); }
    if (filtered) plot.draw();
    if (chosen) { table.show(store.selected); details.render(); plot.drawOver(); }
    else if (filtered || sorted) table.rewind(); // whoever sorts or filters wants to see the top
    if (hash) writeHash(store);
    if (chosen && onselect) onselect(store.selected);
  });
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    event.stopPropagation(); // a notebook would take single letters for commands
    if (event.key === "/" && event.target !== bar.input) { event.preventDefault(); bar.input.focus(); bar.input.select(); }
    if (event.key === "Enter" && event.target === table.table && store.selected >= 0) details.element.focus();
    if (event.key === "Escape" && event.target === bar.input) store.update({ filter: { ...store.filter, query: "" } });
    if (event.key === "Escape" && event.target !== table.table) table.table.focus({ preventScroll: true });
  });
  const observer = new ResizeObserver(() => { plot.draw(); table.render(); });
  observer.observe(plot.element);
  observer.observe(table.element);
  const unwatch = watchTheme(() => plot.draw());
  const follow = () => {
    store.update(readHash(store));
    if (store.selected >= 0) root.scrollIntoView({ block: "start" });
  };
  const makePrint = createPrint(store);
  const beforePrint = () => print?.replaceChildren(makePrint());
  if (hash) window.addEventListener("hashchange", follow);
  if (print) window.addEventListener("beforeprint", beforePrint);
  bar.render(); table.renderHead(); details.render(); table.show(store.selected);
  if (hash && location.hash.length > 1) follow();
  root.dataset.ready = "true";
  performance.mark("workbench-ready");
  return {
    store,
    select: (row) => store.update({ selected: row }),
    destroy() {
      observer.disconnect(); unwatch();
      window.removeEventListener("hashchange", follow);
      window.removeEventListener("beforeprint", beforePrint);
      root.replaceChildren();
    },
  };
}
