// ---------------------------------------------------------------------------------- address

const PARAMETERS = { query: "q", factor: "factor", limit: "limit" };

function readHash(store) {
  const { data } = store;
  const wanted = new URLSearchParams(location.hash.slice(1));
  const state = { ...exported(store), ...readFilter(data, wanted) };
  const [key, way] = (wanted.get("sort") ?? "").split(".");
  if (data.named[key]?.heading) state.sort = [key, way === "down"];
  for (const name of ["factor", "limit"]) if (NUMBER.test(wanted.get(name) ?? "")) state[name] = Number(wanted.get(name));
  if (data.named[wanted.get("y")]) state.figure = wanted.get("y");
  const name = wanted.get("op");
  if (name !== null) state.selected = find(data, name, wanted.get("it"), wanted.get("t"), wanted.get("r"));
  const changes = imported(store, state);
  if (name !== null && !filters(wanted)) changes.filter = EMPTY; // a link to an operator must find it
  return changes;
}

const filters = (wanted) => ["status", "q", "x"].some((name) => wanted.has(name)) || [...wanted.keys()].some((name) => name.startsWith("in."));

function readFilter(data, wanted) {
  if (!filters(wanted)) return {};
  const statuses = (wanted.get("status") ?? "").split(",").filter((name) => SEVERITY.includes(name));
  const chosen = [...wanted].filter(([name]) => name.startsWith("in.")).map(([name, value]) => [name.slice(3), value]);
  const choices = Object.fromEntries(chosen.map(([key, value]) => [key, typeof data.get(key, 0) === "number" ? Number(value) : value]));
  const range = /^(\d+)-(\d+)$/.exec(wanted.get("x") ?? "");
  return { statuses, choices, query: wanted.get("q") ?? "", positions: range ? [Number(range[1]), Number(range[2])] : null };
}

function find(data, name, iteration, tensor, rank) {
  let best = -1, points = 0;
  const columns = ["op_name", "golden"].map((key) => data.named[key]).filter(Boolean).map(({ texts, values }) => [values, texts.map((text) => text === name)]);
  for (let i = 0; i < data.rows; i++) {
    if (!columns.some(([values, fits]) => fits[values[i]])) continue;
    const score = 1 + 8 * (data.named.rank !== undefined && String(data.get("rank", i)) === rank)
      + 4 * (data.named.iteration === undefined || String(data.get("iteration", i)) === iteration) + 2 * (data.get("tensor", i) === tensor);
    if (score > points) { points = score; best = i; }
  }
  return best;
}

function writeHash(store) {
  const { data, filter, sort, selected, figure: key } = store, parts = new URLSearchParams();
  if (selected >= 0) {
    parts.set("op", nameOf(data, selected));
    if (data.named.iteration) parts.set("it", data.get("iteration", selected));
    if (data.named.rank) parts.set("r", data.get("rank", selected));
    parts.set("t", data.get("tensor", selected));
  }
  if (filter.statuses.length) parts.set("status", filter.statuses.join(","));
  if (filter.range) parts.set("x", filter.range.join("-"));
  for (const [name, value] of Object.entries(filter.choices)) parts.set(`in.${name}`, value);
  const state = exported(store);
  for (const [name, short] of Object.entries(PARAMETERS)) if (state[name] !== null && state[name] !== "") parts.set(short, state[name]);
  if (sort.key) parts.set("sort", `${sort.key}.${sort.down ? "down" : "up"}`);
  if (key !== "error") parts.set("y", key);
  try {
    history.replaceState(null, "", `#${parts}`);
  } catch { /* a frame without an address of its own has no hash to keep */ }
}

// Browsers take but so many changes of the address, and are slow at it: only the last of those that follow each other is written.
function afterwards(write) {
  let timer = 0;
  const call = () => { clearTimeout(timer); timer = setTimeout(write, 100); };
  return Object.assign(call, { cancel: () => clearTimeout(timer) });
}

// ------------------------------------------------------------------------------------ mount

// The best finding's row is selected from the start: its failing output, else anything of it.
function firstMarked(data) {
  const place = data.marks[0]?.[0] ?? -1;
  const rows = [...data.x.keys()].filter((i) => data.x[i] === place);
  const output = rows.find((i) => data.get("status", i) === "fail" && data.get("tensor", i).startsWith("output"));
  return output ?? rows[0] ?? -1;
}

// In the next frame: JupyterLab takes its page away while it changes the theme.
function watchTheme(redraw) {
  const draw = () => requestAnimationFrame(redraw);
  const media = matchMedia("(prefers-color-scheme: dark)");
  media.addEventListener("change", draw);
  const observer = new MutationObserver(draw);
  observer.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-jp-theme-name", "class"] });
  return () => { media.removeEventListener("change", draw); observer.disconnect(); };
}

function listenForKeys(root, store, { bar, plot, table, details }) {
  const walked = [table.table, plot.element];
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    event.stopPropagation(); // a notebook would take single letters for commands
    const typing = event.target.matches("input, select");
    if (event.key === "/" && !typing) { event.preventDefault(); bar.input.focus(); bar.input.select(); }
    if (event.key === "Enter" && walked.includes(event.target) && store.selected >= 0) details.element.focus();
    if (event.key === "Escape" && event.target === bar.input) store.update({ filter: { ...store.filter, query: "" } });
    if (event.key === "Escape" && !walked.includes(event.target)) table.table.focus({ preventScroll: true });
  });
}

// Options: `hash` keeps the state in the address, `print` is an element to fill before printing, `state` is what to
// start with, as `exported` gives it, and `onchange` hears of every state after it.
export function mount(root, raw, { hash = false, print = null, state = null, onchange = null } = {}) {
  const store = createStore(decode(raw));
  const head = createHead(store), plot = createPlot(store), table = createTable(store), details = createDetails(store), bar = createBar(store);
  root.classList.add("wbx");
  root.replaceChildren(
    h("div", { class: "wbx-top" }, h("div", { class: "wbx-left" }, head.element, plot.element), details.element),
    h("p", { class: "wbx-hint" }, store.data.say("explorer/hint")), bar.element, table.element);
  let known = location.hash; // a link that was followed and not yet told of counts more than the view it was followed from
  const remember = afterwards(() => {
    if (location.hash !== known) return;
    writeHash(store);
    known = location.hash;
  });
  store.selected = firstMarked(store.data);
  if (state) store.update(imported(store, state));

  store.listen(({ filter, sort, grade, figure: other, selected }) => {
    if (filter || sort || grade) { bar.render(); table.renderHead(); }
    if (filter || other || grade) { head.render(); plot.draw(); }
    if (selected) { table.show(store.selected); plot.drawOver(); }
    else if (filter || sort) table.rewind(); // whoever sorts or filters wants to see the top
    else if (grade) table.render();
    if (selected || filter || sort || grade) details.render();
    if (hash) remember();
    onchange?.(exported(store));
  });
  listenForKeys(root, store, { bar, plot, table, details });
  const observer = new ResizeObserver(() => { plot.measure(); table.measure(); });
  observer.observe(plot.element);
  observer.observe(table.element);
  const unwatch = watchTheme(plot.measure);
  const follow = () => {
    known = location.hash;
    store.update(readHash(store));
    if (store.selected >= 0) root.scrollIntoView({ block: "start" });
  };
  const makePrint = createPrint(store);
  const beforePrint = () => print?.replaceChildren(makePrint());
  if (hash) window.addEventListener("hashchange", follow);
  if (print) window.addEventListener("beforeprint", beforePrint);
  bar.render(); head.render(); table.renderHead(); details.render(); table.show(store.selected);
  if (hash && location.hash.length > 1) follow();
  root.dataset.ready = "true";
  performance.mark("workbench-ready");
  return {
    store,
    state: () => exported(store),
    set(wanted) {
      const changes = imported(store, wanted);
      if (Object.keys(changes).length) store.update(changes);
    },
    destroy() {
      observer.disconnect(); unwatch(); remember.cancel();
      window.removeEventListener("hashchange", follow);
      window.removeEventListener("beforeprint", beforePrint);
      root.replaceChildren();
    },
  };
}
