// ---------------------------------------------------------------------------------- layers

// Neighbors in execution order whose names begin alike are a layer; the strip below the plot shows the worst of each.

const STRIP = { top: 3, height: 12 }; // pixels below the plot
const THICK = { fail: 12, warn: 9, uncomparable: 6 }; // worse is higher, so that color is not all that tells

const layerOf = (name) => name.slice(0, Math.max(0, name.lastIndexOf("/"))) || name;

function layersOf(data) {
  const rows = new Map(); // by position
  data.x.forEach((x, i) => { if (x !== null) rows.set(x, [...(rows.get(x) ?? []), i]); });
  const layers = [], starts = new Set(data.segments.map(([start]) => start));
  for (const [x, members] of [...rows].sort((a, b) => a[0] - b[0])) {
    const name = layerOf(nameOf(data, members[0])), last = layers.at(-1);
    if (last?.name === name && !starts.has(x)) { last.last = x; last.rows.push(...members); }
    else layers.push({ name, first: x, last: x, rows: members });
  }
  return layers;
}

// The row that tells most of a layer: the worst status, then the largest error; NaN is worse than any number. It stays
// the same until statuses are graded anew.
function worstOf(store, layer) {
  if (layer.grade !== store.grade) Object.assign(layer, { grade: store.grade, worst: findWorst(store.data, layer.rows) });
  return layer.worst;
}

function findWorst(data, rows) {
  const { values } = data.named.status, error = (i) => data.get("error", i);
  return rows.reduce((best, i) => {
    if (values[i] !== values[best]) return values[i] < values[best] ? i : best;
    const by = rank(error(i)) - rank(error(best)) || (error(i) ?? 0) - (error(best) ?? 0);
    return by > 0 ? i : best;
  });
}

function drawStrip(context, scale, inks, store, layers) {
  const worst = new Map(); // by pixel column: many layers may share one
  for (const layer of layers) {
    if (layer.last < scale.first || layer.first > scale.last) continue;
    const number = store.data.named.status.values[worstOf(store, layer)];
    const left = Math.round(scale.x(Math.max(layer.first, scale.first) - 0.5)), right = Math.round(scale.x(Math.min(layer.last, scale.last) + 0.5));
    const width = Math.max(1, right - left - (right - left > 3 ? 1 : 0));
    if (!(worst.get(left)?.number <= number)) worst.set(left, { number, width });
  }
  for (const [left, { number, width }] of worst) {
    const name = SEVERITY[number], high = THICK[name] ?? 3;
    context.fillStyle = inks[name] ?? inks.equal;
    context.fillRect(left, scale.bottom + STRIP.top + STRIP.height - high, width, high);
  }
}

// The layer under the pointer; null beside the strip.
function layerAt(scale, layers, { offsetX, offsetY }) {
  const below = offsetY - scale.bottom;
  if (below < 0 || below > STRIP.top + STRIP.height + 2 || offsetX < scale.left || offsetX > scale.right) return null;
  const x = scale.back(offsetX);
  return layers.find((layer) => x >= layer.first - 0.5 && x <= layer.last + 0.5) ?? null;
}

// To the next layer, or the one before, of the selected tensor.
function stepLayer(store, layers, by) {
  const x = store.data.x[store.selected] ?? null;
  const at = x === null ? -1 : layers.findIndex((layer) => x >= layer.first && x <= layer.last);
  const next = layers[at < 0 ? (by > 0 ? 0 : layers.length - 1) : at + by];
  if (next) store.update({ selected: worstOf(store, next) });
}

function layerTip({ data }, layer, row) {
  const words = data.say("explorer/layer-tip", { n: count(layer.rows.length), status: data.say(STATUS_WORDS[data.get("status", row)]) });
  return [h("strong", {}, h("bdi", {}, shorten(visible(layer.name), 160))), h("br"), words];
}
