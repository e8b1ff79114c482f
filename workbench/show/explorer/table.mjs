// ------------------------------------------------------------------------------------ table

const WIDTHS = { op_name: 370, order: 62, op_type: 150, tensor: 84, status: 134, shape: 120, golden_shape: 120, golden: 260,
  rule: 110, floor: 140, reason: 260, source: 240, code: 240, dtype: 84, golden_dtype: 110 };
let serial = 0;

function createTable(store) {
  const { data } = store, { say } = data, id = `wbx${serial++}`;
  const heads = data.columns.map((column, i) => {
    const button = h("button", { type: "button", tabindex: i ? "-1" : "0", title: column.help || null, onclick: () => store.update({ sort: turned(store.sort, column) }) },
      ...breakable(column.heading), h("span", { class: "wbx-arrow", "aria-hidden": "true" }));
    return h("th", { scope: "col", role: "columnheader", class: column.kind === "text" ? null : "wb-num" }, button);
  });
  const body = h("tbody", { role: "rowgroup" });
  const widths = data.columns.map((column) => WIDTHS[column.key] ?? (column.help ? 158 : column.kind === "count" ? 96 : 108));
  const table = h("table", { class: "wbx-table", role: "grid", tabindex: "0", "aria-label": say("explorer/table"), "aria-colcount": heads.length },
    h("colgroup", {}, ...widths.map((width) => { const col = h("col"); col.style.width = `${width}px`; return col; })),
    h("thead", { role: "rowgroup" }, h("tr", { role: "row", "aria-rowindex": "1" }, ...heads)), body);
  table.style.width = `${widths.reduce((a, b) => a + b)}px`;
  const scroller = h("div", { class: "wbx-scroll" }, table);
  let rendered = { top: 0, rows: -1 }, height = 420; // pixels; read of a changed page they would make the browser lay it out at once

  function measure() {
    height = scroller.clientHeight || height;
    render(scroller.scrollTop);
  }

  function render(top = rendered.top) {
    rendered = { top, rows: store.visible.length };
    const seen = Math.min(Math.floor(top / ROW), store.visible.length);
    const first = Math.max(0, seen - OVERSCAN), last = Math.min(store.visible.length, seen + Math.ceil(height / ROW) + OVERSCAN);
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
      ...data.columns.map((column) => cell(data, column, row)));
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

  // There must be room for all rows before the scroll position can be set.
  function show(row) {
    if (rendered.rows !== store.visible.length) body.replaceChildren(spacer(store.visible.length));
    reveal(row);
    render(scroller.scrollTop);
  }

  function rewind() {
    render(0);
    scroller.scrollTop = 0;
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

  function move(by) {
    if (!store.visible.length) return;
    const from = store.selected < 0 ? -1 : store.place[store.selected];
    const to = Math.max(0, Math.min(store.visible.length - 1, from < 0 && by > 0 ? by - 1 : from + by));
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
  walkable(heads.map((head) => head.firstChild));
  onPress(body, (event) => {
    const row = event.target.closest("tr[data-row]");
    if (!row) return;
    table.focus({ preventScroll: true });
    store.update({ selected: Number(row.dataset.row) });
  });
  let waiting = false;
  scroller.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; if (scroller.scrollTop !== rendered.top) render(scroller.scrollTop); });
  });
  return { element: scroller, table, measure, render, renderHead, show, rewind };
}

// One stop of the Tab key for all buttons of a row; left and right go from one to the next.
function walkable(buttons) {
  buttons.forEach((button, i) => button.addEventListener("keydown", (event) => {
    const next = buttons[i + { ArrowLeft: -1, ArrowRight: 1 }[event.key]];
    if (!next) return;
    event.preventDefault();
    button.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }));
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

function cell(data, column, row) {
  const value = column.get(row);
  if (column.key === "status") return h("td", { role: "gridcell" }, mark(value), ` ${data.say(STATUS_WORDS[value])}`);
  if (column.key === "op_name" || column.key === "golden")
    return h("td", { role: column.key === "op_name" ? "rowheader" : "gridcell", class: "wb-name", title: brief(value) }, h("span", {}, ...named(value)));
  if (column.kind === "text") return h("td", { role: "gridcell", title: readable(value) }, h("bdi", {}, readable(value)));
  const odd = value !== null && !Number.isFinite(value);
  return h("td", { role: "gridcell", class: odd ? "wb-num wb-odd" : value === null ? "wb-num wb-none" : "wb-num" }, figure(column, value));
}

function createPrint(store) {
  const { data } = store, { say } = data;
  return () => {
    const rows = [...data.x.keys()].filter((i) => ["fail", "warn"].includes(data.get("status", i)));
    const columns = ["op_name", "op_type", "tensor", "iteration", "status", "error", "floor"].map((key) => data.named[key]).filter(Boolean);
    const kept = rows.slice(0, PRINT_LIMIT);
    const caption = say("explorer/printed",
      { kept: count(kept.length), bad: count(rows.length), others: count(data.rows - rows.length) });
    return h("table", { class: "wb-table" }, h("caption", {}, caption),
      h("thead", {}, h("tr", {}, ...columns.map((column) => h("th", { scope: "col", class: column.kind === "text" ? null : "wb-num" }, column.heading)))),
      h("tbody", {}, ...kept.map((row) => h("tr", {}, ...columns.map((column) => cell(data, column, row))))));
  };
}
