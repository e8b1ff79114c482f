// ------------------------------------------------------------------------------------ state

const EMPTY = { query: "", statuses: [], choices: {}, range: null };
const UNGRADED = { factor: null, limit: null };
const UNSORTED = { key: "", down: false };
const PARTS = ["filter", "sort", "grade", "figure", "selected"];

function createStore(data) {
  const orders = new Map();
  const listeners = [];
  const store = {
    data,
    filter: EMPTY,
    sort: UNSORTED,
    grade: UNGRADED,
    figure: "error", // column that the plot draws
    selected: -1,
    visible: new Int32Array(0),
    place: new Int32Array(data.rows).fill(-1), // row → position among the visible ones
    totals: [],
    listen: (listener) => listeners.push(listener),
    update(changes) {
      const changed = Object.fromEntries(PARTS.map((part) => [part, part in changes && changes[part] !== store[part]]));
      Object.assign(store, changes);
      if (changed.grade) grade();
      if (changed.filter || changed.sort || changed.grade) refresh();
      for (const listener of listeners) listener(changed);
    },
    // Visible rows in execution order, those of one place together.
    walk() {
      store.walked ??= store.visible.filter((i) => data.x[i] !== null).sort((a, b) => data.x[a] - data.x[b] || a - b);
      return store.walked;
    },
  };
  function grade() {
    regrade(data, store.grade);
    for (const name of orders.keys()) if (name.startsWith("status ")) orders.delete(name);
  }
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
    store.walked = null;
    store.place.fill(-1);
    store.visible.forEach((i, position) => { store.place[i] = position; });
    store.totals = new Array(SEVERITY.length).fill(0);
    for (const number of data.named.status.values) store.totals[number] += 1;
  }
  refresh();
  return store;
}

// The rule of show/look/narrow.py.
function mask(data, { query, statuses, choices, range }) {
  const keep = new Uint8Array(data.rows).fill(1);
  for (const term of query.toLowerCase().split(/\s+/).filter(Boolean)) narrow(keep, contains(data, term));
  if (statuses.length) {
    const status = data.named.status.values, wanted = SEVERITY.map((name) => statuses.includes(name));
    for (let i = 0; i < keep.length; i++) if (!wanted[status[i]]) keep[i] = 0;
  }
  for (const [key, wanted] of Object.entries(choices)) choose(data, keep, key, wanted);
  if (range) {
    const [low, high] = range;
    for (let i = 0; i < keep.length; i++) if (data.x[i] === null || data.x[i] < low || data.x[i] > high) keep[i] = 0;
  }
  return keep;
}

function choose(data, keep, key, wanted) {
  const column = data.named[key === "scope" ? "whole" : key];
  if (column?.texts) {
    const fits = column.texts.map(key === "scope" ? (text) => text.startsWith(wanted) : (text) => text === wanted);
    for (let i = 0; i < keep.length; i++) if (!fits[column.values[i]]) keep[i] = 0;
  } else for (let i = 0; i < keep.length; i++) if (data.get(key, i) !== wanted) keep[i] = 0;
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

// --------------------------------------------------------------------------- state from outside

// The state as the traits of workbench.show.look.look have it.
function exported(store) {
  const { filter, sort, grade, figure, selected } = store;
  return { selected, query: filter.query, statuses: filter.statuses, choices: filter.choices, positions: filter.range,
    sort: [sort.key, sort.down], factor: grade.factor, limit: grade.limit, figure };
}

// Changes that bring a store to a state; parts that are equal stay the same objects, so nothing hears of them.
function imported(store, state) {
  const { data } = store, own = exported(store), same = (name) => JSON.stringify(state[name]) === JSON.stringify(own[name]);
  const changes = {};
  if (!["query", "statuses", "choices", "positions"].every(same))
    changes.filter = { query: state.query, statuses: state.statuses, choices: state.choices, range: state.positions };
  const [key, down] = state.sort;
  if (!same("sort")) changes.sort = data.named[key]?.heading ? { key, down } : UNSORTED;
  if (!same("factor") || !same("limit")) changes.grade = { factor: state.factor, limit: state.limit };
  if (!same("figure") && data.named[state.figure]?.kind !== "text") changes.figure = data.named[state.figure] ? state.figure : "error";
  if (!same("selected")) {
    changes.selected = state.selected < data.rows ? state.selected : -1;
    if (!changes.filter && store.place[changes.selected] < 0) changes.filter = EMPTY; // what is asked for must be found
  }
  return changes;
}
