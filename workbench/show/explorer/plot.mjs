// ------------------------------------------------------------------------------------- plot

function createPlot(store) {
  const { data } = store, { say } = data;
  const base = h("canvas", { class: "wbx-canvas", role: "img", "aria-label": plotLabel(data) });
  const over = h("canvas", { class: "wbx-canvas wbx-over", "aria-hidden": "true" });
  const tip = h("div", { class: "wbx-tip", hidden: true });
  const probe = h("span", { class: "wbx-probe" }); // an element that is not displayed may keep its old color
  const element = h("div", { class: "wbx-plot", tabindex: "0", role: "application", "aria-roledescription": say("explorer/chart"),
    "aria-label": say("explorer/plot-keys") }, base, over, tip, probe);
  const floor = noiseFloor(data), layers = layersOf(data);
  const sizes = { px: new Float32Array(data.rows), py: new Float32Array(data.rows) };
  const inks = {};
  let width = 0, height = 0, dpr = 1, font = "", scale = null, drag = null, hover = -1, pointed = null;

  // Asked for in the midst of changes, sizes and colors would make the browser lay out the page at once: they are read
  // when they may be others, and kept.
  function measure() {
    dpr = window.devicePixelRatio || 1;
    width = element.clientWidth;
    height = element.clientHeight;
    for (const canvas of [base, over]) {
      canvas.width = Math.round(width * dpr);
      canvas.height = Math.round(height * dpr);
      canvas.getContext("2d").setTransform(dpr, 0, 0, dpr, 0, 0);
    }
    for (const name of INKS) {
      probe.style.color = `var(--wb-${name})`;
      inks[name] = getComputedStyle(probe).color;
    }
    font = `11px ${getComputedStyle(element).fontFamily}`;
    draw();
  }

  function draw() {
    if (!width) return; // mounted hidden: the resize observer measures it
    if (dpr !== (window.devicePixelRatio || 1)) return measure(); // on another screen
    scale = createScale(data, store.figure, store.filter.range, width, height);
    const context = base.getContext("2d");
    context.clearRect(0, 0, scale.width, scale.height);
    context.font = font;
    if (RELATIVE.includes(store.figure)) drawFloor(context, scale, inks, floor);
    drawAxes(context, scale, inks, data);
    if (store.figure === "error") drawLimit(context, scale, inks, store.grade.limit);
    drawPoints(context, scale, inks, store, sizes);
    drawStrip(context, scale, inks, store, layers);
    drawMarks(context, scale, inks, data.marks);
    drawOver();
  }

  function drawOver() {
    if (!scale) return;
    const context = over.getContext("2d");
    context.clearRect(0, 0, scale.width, scale.height);
    for (const [row, radius] of [[hover, 7], [store.selected, 8]]) {
      if (row < 0 || !inside(scale, data.x[row])) continue;
      const x = scale.x(data.x[row]);
      context.strokeStyle = inks.accent;
      context.lineWidth = row === store.selected ? 2 : 1;
      context.beginPath();
      if (store.figure === "error") drawStem(context, scale, data, row, x);
      context.moveTo(x + radius, scale.y(row));
      context.arc(x, scale.y(row), radius, 0, 7);
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
    tip.replaceChildren(...(pointed ? layerTip(store, pointed, row) : tipText(store, row)));
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
    const layer = drag?.wide ? null : layerAt(scale, layers, event);
    const row = drag?.wide ? -1 : layer ? worstOf(store, layer) : nearest(event);
    over.style.cursor = layer ? "pointer" : "";
    if (row !== hover || layer !== pointed || drag) { hover = row; pointed = layer; showTip(row); drawOver(); }
  });
  over.addEventListener("pointerup", (event) => {
    if (drag?.wide) {
      const ends = [scale.back(drag.from), scale.back(drag.to)].sort((a, b) => a - b);
      drag = null;
      zoomTo(store, Math.ceil(ends[0]), Math.floor(ends[1]));
    } else {
      drag = null;
      const layer = layerAt(scale, layers, event), row = layer ? worstOf(store, layer) : nearest(event);
      if (row >= 0) store.update({ selected: row });
    }
  });
  over.addEventListener("pointercancel", () => { drag = null; drawOver(); });
  over.addEventListener("pointerleave", () => { if (!drag) { hover = -1; showTip(-1); drawOver(); } });
  over.addEventListener("dblclick", () => zoomTo(store, null));
  const keys = {
    ArrowLeft: () => step(store, -1), ArrowRight: () => step(store, 1), ArrowUp: () => jump(store, -1), ArrowDown: () => jump(store, 1),
    PageUp: () => stepLayer(store, layers, -1), PageDown: () => stepLayer(store, layers, 1),
    Home: () => step(store, -data.rows), End: () => step(store, data.rows),
    "+": () => zoom(store, 0.5), "=": () => zoom(store, 0.5), "-": () => zoom(store, 2), 0: () => zoomTo(store, null),
  };
  element.addEventListener("keydown", (event) => {
    if (event.target !== element || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  return { element, measure, draw, drawOver };
}

function tipText({ data, figure: key }, row) {
  const over = times(data.get("error", row), data.get("floor", row));
  const parts = [`${data.get("tensor", row)} · ${data.say(STATUS_WORDS[data.get("status", row)])}`, `${data.say("explorer/error")} ${number(data.get("error", row))}`];
  if (over) parts.push(data.say("explorer/times-floor", { n: over }));
  if (data.get("inherited", row) !== null) parts.push(`${data.say("explorer/propagated")} ${number(data.get("inherited", row))}`);
  if (data.get("own", row) !== null) parts.push(`${data.say("explorer/local")} ${number(data.get("own", row))}`);
  if (!RELATIVE.includes(key)) parts.push(`${key} ${figure(data.named[key], data.get(key, row))}`);
  return [h("strong", {}, h("bdi", {}, shorten(visible(nameOf(data, row)), 160))), h("br"), parts.join(" · ")];
}

const nameOf = (data, row) => data.get("op_name", row) || data.get("golden", row);

function plotLabel(data) {
  const matched = data.x.filter((x) => x !== null).length;
  const text = data.say("explorer/plot-label", { n: count(matched) });
  if (!data.marks.length) return text;
  return `${text}; ${data.say("explorer/plot-findings")}: ${data.marks.slice(0, 3).map((m) => shorten(visible(m[2]), 160)).join(", ")}`;
}

// ------------------------------------------------------------------------------- going about

// To the next or previous tensor in execution order, among those that the filter leaves.
function step(store, by) {
  const walk = store.walk();
  if (!walk.length) return;
  const at = walk.indexOf(store.selected);
  const from = at >= 0 || Math.abs(by) > 1 ? at : by > 0 ? -1 : walk.length;
  const to = Math.max(0, Math.min(walk.length - 1, from + by));
  store.update({ selected: walk[to] });
}

// To the next or previous failing tensor in the order of the table.
function jump(store, by) {
  const { visible, data } = store;
  const place = store.place[store.selected] ?? -1;
  const start = place >= 0 ? place : by > 0 ? -1 : visible.length;
  for (let at = start + by; at >= 0 && at < visible.length; at += by)
    if (data.get("status", visible[at]) === "fail") return store.update({ selected: visible[at] });
  return undefined;
}

function zoomTo(store, low, high) {
  const width = store.data.width;
  let range = low === null ? null : [Math.max(0, low), Math.min(width - 1, high)];
  if (range && range[0] > range[1]) return; // between two operators
  if (range && range[0] === 0 && range[1] === width - 1) range = null;
  store.update({ filter: { ...store.filter, range } });
}

// Around the selected tensor if it is in sight, else around the middle.
function zoom(store, by) {
  const { data } = store, [low, high] = store.filter.range ?? [0, data.width - 1];
  const at = data.x[store.selected] ?? null;
  const middle = at !== null && at >= low && at <= high ? at : (low + high) / 2;
  const half = Math.max(1, ((high - low) * by) / 2);
  zoomTo(store, Math.round(middle - half), Math.round(middle + half));
}
