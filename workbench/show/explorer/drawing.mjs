// --------------------------------------------------------------------------------- drawing

const MARGIN = { left: 88, right: 14, top: 44, bottom: 56 };
const INKS = ["ink", "muted", "line", "fail", "warn", "pass", "equal", "uncomparable", "accent"];
const RELATIVE = ["error", "own", "inherited"]; // figures that a noise floor can be held against
const SIGNS = 2000; // more are drawn small and all at once: a picture of each takes longer than all else
const STEMS = 600; // so many rows at most show where their error starts

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

function createScale(data, figure, range, width, height) {
  const column = data.named[figure];
  column.limits ??= limitsOf(data, figure);
  column.gaps ??= data.x.some((x, i) => x !== null && column.values[i] === null);
  const [low, high] = column.limits;
  const [first, last] = range ?? [0, data.width - 1];
  const pad = 0.5 + 0.012 * (last - first + 1);
  const left = MARGIN.left, right = width - MARGIN.right, bottom = height - MARGIN.bottom;
  const lane = Math.min(26, (bottom - MARGIN.top) / 8);
  const lanes = { top: MARGIN.top + lane / 2 };
  lanes.zero = bottom - lane / 2 - (column.gaps ? lane : 0);
  if (column.gaps) lanes.none = bottom - lane / 2;
  const top = MARGIN.top + lane + 8, floor = lanes.zero - lane / 2 - 8;
  const span = last - first + 2 * pad;
  const log = (value) => top + ((high - Math.max(low, Math.min(high, value))) / (high - low)) * (floor - top);
  const level = (value) => {
    if (value === null) return lanes.none;
    if (!Number.isFinite(value)) return lanes.top;
    return value === 0 ? lanes.zero : log(Math.log10(value));
  };
  return {
    width, height, left, right, bottom, low, high, first, last, top, floor, lanes, log, lane, level,
    best: column.worse < 0 ? "explorer/exactly-1" : "explorer/exactly-0",
    x: (x) => left + ((x - first + pad) / span) * (right - left),
    back: (px) => first - pad + ((px - left) / (right - left)) * span,
    y: (row) => level(drawn(column, row)),
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
  for (const [lane, text] of [["top", "explorer/not-finite"], ["zero", scale.best], ["none", "explorer/not-measured"]])
    if (scale.lanes[lane]) label(data.say(text), scale.left - 8, scale.lanes[lane], "right");
  context.strokeStyle = inks.equal;
  line(scale.left, scale.lanes.top + scale.lane / 2, scale.right, scale.lanes.top + scale.lane / 2);
  line(scale.left, scale.lanes.zero - scale.lane / 2, scale.right, scale.lanes.zero - scale.lane / 2);
  for (const tick of ticks(scale.first, scale.last)) label(count(tick), scale.x(tick), scale.bottom + 26, "center");
  if (data.segments.length > 1) drawSegments(scale, data.segments, line, label);
  label(data.say("explorer/layers"), scale.left - 8, scale.bottom + STRIP.top + STRIP.height / 2, "right");
  if (data.segments.length < 2) label(data.say("explorer/positions"), scale.right, scale.bottom + 44, "right");
}

function drawSegments(scale, segments, line, label) {
  let free = -Infinity;
  for (const [start, end, text] of segments) {
    if (end < scale.first || start > scale.last) continue;
    const x = scale.x(Math.max(start, scale.first) - 0.5);
    if (start > scale.first) line(x, MARGIN.top, x, scale.bottom);
    if (x < free || x > scale.right - 60) continue;
    label(text, x + 3, scale.bottom + 44, "left");
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

// From the error that came in to the one that was measured: what is between was added by the operator.
function drawStem(context, scale, data, row, x) {
  const came = data.get("inherited", row), error = data.get("error", row);
  if (came === null || error === null || !(came > 0) || error === 0) return;
  const start = scale.level(came), end = scale.level(error);
  context.moveTo(x - 2.5, start); context.lineTo(x + 2.5, start);
  context.moveTo(x, start); context.lineTo(x, end);
}

// What the operator adds by itself, as a diamond on the same scale.
function drawOwn(context, scale, data, row, x) {
  const own = data.get("own", row);
  if (own === null || own < 10 ** scale.low) return; // below the scale it is nothing beside the error
  const y = scale.level(own), r = 6; // around the mark of an error that is all its own
  context.moveTo(x, y - r); context.lineTo(x + r, y); context.lineTo(x, y + r); context.lineTo(x - r, y);
  context.closePath();
}

function drawPoints(context, scale, inks, store, { px, py }) {
  const { data } = store, status = data.named.status;
  const radius = Math.max(1.4, Math.min(3.6, 45 / Math.sqrt(store.visible.length + 1) + 1.2));
  const shown = [], hidden = [];
  for (let i = 0; i < data.rows; i++) {
    if (!inside(scale, data.x[i])) continue;
    px[i] = scale.x(data.x[i]);
    py[i] = scale.y(i);
    (store.place[i] < 0 ? hidden : shown).push(i);
  }
  if (store.figure === "error" && shown.length <= STEMS) {
    context.strokeStyle = inks.muted;
    context.globalAlpha = 0.55;
    context.beginPath();
    for (const i of shown) drawStem(context, scale, data, i, px[i]);
    context.stroke();
    context.strokeStyle = inks.ink;
    context.globalAlpha = 0.8;
    context.beginPath();
    for (const i of shown) drawOwn(context, scale, data, i, px[i]);
    context.stroke();
  }
  context.globalAlpha = 0.25; // rows that the filter hides stay as a shadow
  if (hidden.length) drawSmall(context, inks.muted, SMALL.hidden, hidden, { px, py });
  context.globalAlpha = 0.92;
  for (const number of [...SEVERITY.keys()].reverse()) {
    const same = shown.filter((i) => status.values[i] === number);
    if (!same.length) continue;
    if (shown.length > SIGNS) drawSmall(context, inks[SEVERITY[number]] ?? inks.equal, SMALL[SEVERITY[number]] ?? DOT, same, { px, py });
    else drawSigns(context, SEVERITY[number], inks, same, { px, py }, radius);
  }
  context.globalAlpha = 1;
}

const DOT = ["###", "###", "###"];
const SMALL = {
  fail: ["#...#", ".#.#.", "..#..", ".#.#.", "#...#"],
  warn: ["..#..", "..#..", ".###.", ".###.", "#####"],
  uncomparable: ["####", "####", "####", "####"],
  equal: [".##.", "#..#", "#..#", ".##."],
  hidden: ["##", "##"],
};

// All signs of a status on one sheet, which then takes their color.
function drawSmall(context, ink, lines, rows, { px, py }) {
  const { width, height } = context.canvas, dpr = context.getTransform().a, wide = Math.max(1, Math.round(dpr));
  const middle = Math.floor((lines.length * wide) / 2), dots = [];
  for (let y = 0; y < lines.length * wide; y++)
    for (let x = 0; x < lines.length * wide; x++) if (lines[Math.floor(y / wide)][Math.floor(x / wide)] === "#") dots.push([x - middle, y - middle]);
  const sheet = new ImageData(width, height), { data } = sheet;
  for (const i of rows) {
    const left = Math.round(px[i] * dpr), top = Math.round(py[i] * dpr);
    for (const [x, y] of dots) data[4 * ((top + y) * width + left + x) + 3] = 255;
  }
  context.drawImage(colored(sheet, ink), 0, 0, width / dpr, height / dpr);
}

function colored(sheet, ink) {
  const canvas = h("canvas", { width: sheet.width, height: sheet.height }), context = canvas.getContext("2d");
  context.putImageData(sheet, 0, 0);
  context.globalCompositeOperation = "source-in";
  context.fillStyle = ink;
  context.fillRect(0, 0, sheet.width, sheet.height);
  return canvas;
}

function drawSigns(context, name, inks, rows, { px, py }, radius) {
  const { canvas, half } = stamp(name, inks, radius, context.getTransform().a), size = 2 * half;
  for (const i of rows) context.drawImage(canvas, Math.round(px[i] - half), Math.round(py[i] - half), size, size);
}

// The sign of a status, drawn once: one path of thousands of signs takes seconds.
function stamp(name, inks, radius, dpr) {
  const half = Math.ceil(radius * 1.2 + 2), canvas = document.createElement("canvas"), context = canvas.getContext("2d");
  canvas.width = canvas.height = Math.round(2 * half * dpr);
  context.scale(canvas.width / (2 * half), canvas.width / (2 * half));
  context.fillStyle = context.strokeStyle = inks[name] ?? inks.equal;
  context.beginPath();
  trace(context, name, half, half, radius);
  if (name === "fail" || name === "equal") {
    context.lineWidth = name === "fail" ? radius * 0.7 : 1;
    context.stroke();
  } else context.fill();
  return { canvas, half };
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
    const text = `${number}  ${shorten(visible(name), 44)}`;
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

// A threshold without a floor is one line; one by the floor follows it and is left to the colors.
function drawLimit(context, scale, inks, limit) {
  if (limit === null || !(limit > 0)) return;
  const y = Math.round(scale.log(Math.log10(limit))) + 0.5;
  context.strokeStyle = inks.fail;
  context.setLineDash([6, 4]);
  context.beginPath();
  context.moveTo(scale.left, y); context.lineTo(scale.right, y);
  context.stroke();
  context.setLineDash([]);
}
