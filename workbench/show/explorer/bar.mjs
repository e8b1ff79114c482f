// ---------------------------------------------------------------------------------- toolbar

const CHOICES = [["io", "explorer/all-io"], ["op_type", "explorer/all-types"], ["dtype", "explorer/all-dtypes"], ["iteration", "explorer/all-iterations"],
  ["rank", "explorer/all-ranks"], ["file", "explorer/all-files"], ["rule", "explorer/all-rules"]];

function createBar(store) {
  const { data } = store, { say } = data;
  const filter = (changes) => store.update({ filter: { ...store.filter, ...changes } });
  const input = h("input", { type: "search", class: "wbx-filter", placeholder: say("explorer/filter-by"), "aria-label": say("explorer/filter-rows"), "aria-keyshortcuts": "/",
    spellcheck: "false", autocomplete: "off", oninput: () => filter({ query: input.value }) });
  const chips = createChips(store, filter);
  const choices = createChoices(store, filter);
  const grades = createGrades(store);
  const shown = h("output", { class: "wbx-shown", role: "status" });
  const range = h("button", { type: "button", class: "wbx-chip wbx-range", hidden: true, onclick: () => zoomTo(store, null) });
  const reset = h("button", { type: "button", class: "wbx-reset", onclick: () => store.update({ filter: EMPTY, sort: UNSORTED }) }, say("explorer/reset"));
  const element = h("div", { class: "wbx-bar", role: "group", "aria-label": say("explorer/filters") }, input,
    h("span", { class: "wbx-chips" }, ...chips.elements, range),
    h("span", { class: "wbx-chips wbx-rest" }, ...choices.elements),
    h("span", { class: "wbx-chips wbx-rest" }, grades.element, h("span", { class: "wbx-result" }, shown, reset)));

  function render() {
    const { filter: kept, sort } = store;
    if (input.value !== kept.query) input.value = kept.query;
    chips.render();
    choices.render();
    grades.render();
    range.hidden = !kept.range;
    if (kept.range) range.textContent = `${say("explorer/positions")} ${count(kept.range[0])}–${count(kept.range[1])} ✕`;
    shown.textContent = say("explorer/rows-shown", { n: count(store.visible.length), total: count(data.rows) });
    reset.disabled = !sort.key && JSON.stringify(kept) === JSON.stringify(EMPTY);
  }
  return { element, input, render };
}

function createChips(store, filter) {
  const { data } = store, { say } = data;
  const counts = SEVERITY.map(() => h("span", { class: "wbx-count" }));
  const elements = SEVERITY.map((name, number) => h("button",
    { type: "button", class: "wbx-chip", "data-status": name, title: data.statuses[name] ?? null, onclick: () => toggle(name) },
    mark(name), ` ${say(STATUS_WORDS[name])} `, counts[number]));

  function toggle(name) {
    const old = store.filter.statuses;
    filter({ statuses: old.includes(name) ? old.filter((other) => other !== name) : [...old, name] });
  }
  function render() {
    elements.forEach((chip, number) => {
      const pressed = store.filter.statuses.includes(SEVERITY[number]);
      chip.hidden = !store.totals[number] && !pressed;
      chip.setAttribute("aria-pressed", pressed ? "true" : "false");
      counts[number].textContent = count(store.totals[number]);
    });
  }
  return { elements, render };
}

function createChoices(store, filter) {
  const { data } = store, { say } = data;
  const choose = (key, value) => {
    const { [key]: _, ...others } = store.filter.choices;
    filter({ choices: value === null ? others : { ...others, [key]: value } });
  };
  const selects = CHOICES.map(([key, all]) => select(data, key, say(all), choose)).filter(Boolean);
  const scopes = scopesOf(data.named.whole.texts), id = `wbxs${serial++}`;
  const scope = h("input", { class: "wbx-scope", list: id, placeholder: say("explorer/all-scopes"), "aria-label": say("explorer/scope"), spellcheck: "false", autocomplete: "off",
    oninput: () => choose("scope", scope.value || null) });
  const elements = [...selects, scope, h("datalist", { id }, ...scopes.map((name) => h("option", { value: name })))];

  function render() {
    for (const box of selects) box.value = String(box.values.indexOf(store.filter.choices[box.dataset.key] ?? null));
    const wanted = store.filter.choices.scope ?? "";
    if (scope.value !== wanted) scope.value = wanted;
  }
  return { elements, render };
}

function select(data, key, all, choose) {
  const column = data.named[key];
  const values = column ? [...(column.texts ?? new Set(column.values))].sort(COLLATOR.compare) : [];
  if (values.length < 2) return null;
  const told = (value) => {
    if (typeof value === "number") return data.say(VALUE_WORDS[key], { n: value });
    if (VALUE_WORDS[value] && key === "io") return data.say(VALUE_WORDS[value]);
    return shorten(visible(value), 80) || data.say(key === "rule" ? "explorer/unmatched" : "explorer/none");
  };
  const box = h("select", { "data-key": key, "aria-label": all, onchange: () => choose(key, values[box.value] ?? null) },
    h("option", { value: "-1" }, all), ...values.map((value, i) => h("option", { value: String(i) }, told(value))));
  box.values = values;
  return box;
}

// Every beginning of a name that ends with a slash.
function scopesOf(names) {
  const found = new Set();
  for (const name of names)
    for (let cut = name.lastIndexOf("/"); cut > 0; cut = name.lastIndexOf("/", cut - 1)) {
      const scope = name.slice(0, cut + 1);
      if (found.has(scope)) break;
      if (scope.length <= 400) found.add(scope);
    }
  return [...found].sort(COLLATOR.compare);
}

// ---------------------------------------------------------------------------------- grading

const NUMBER = /^\s*(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i;

function createGrades(store) {
  const { say } = store.data, note = h("span", { class: "wbx-note", role: "alert" });
  const field = (name, label) => {
    const box = h("input", { type: "text", class: "wbx-grade", inputmode: "decimal", "aria-label": label, spellcheck: "false", autocomplete: "off", oninput: () => take(name, box) });
    return box;
  };
  const factor = field("factor", say("explorer/factor"));
  const limit = field("limit", say("explorer/limit"));
  const given = h("button", { type: "button", onclick: () => store.update({ grade: UNGRADED }) }, say("explorer/as-compared"));
  const told = h("strong", { class: "wbx-regraded" }, say("explorer/regraded"));
  const element = h("span", { class: "wbx-grades", role: "group", "aria-label": say("explorer/thresholds") }, say("explorer/fail-if"), " ", factor, ` ${say("explorer/times-floor-or")} `, limit, " ", told, given, note);

  function take(name, box) {
    const text = box.value.trim(), value = text ? Number(text) : null;
    const wrong = text !== "" && !(NUMBER.test(text) && Number.isFinite(value));
    box.setAttribute("aria-invalid", wrong ? "true" : "false");
    note.textContent = wrong ? say("explorer/not-a-number", { text: `“${shorten(visible(text), 20)}”` }) : "";
    if (!wrong) store.update({ grade: { ...store.grade, [name]: value } });
  }
  function render() {
    for (const [name, box] of [["factor", factor], ["limit", limit]]) {
      const value = store.grade[name], text = box.value.trim();
      if (value === (text ? Number(text) : null) || (document.activeElement === box && box.getAttribute("aria-invalid") === "true")) continue;
      box.value = value === null ? "" : String(value);
      box.setAttribute("aria-invalid", "false");
      note.textContent = "";
    }
    const regraded = store.grade.factor !== null || store.grade.limit !== null;
    for (const one of [told, given]) one.style.visibility = regraded ? "" : "hidden"; // their room stays: nothing moves
  }
  return { element, render };
}

// ------------------------------------------------------------------------- above the plot

function createHead(store) {
  const { data } = store, { say } = data;
  const drawable = data.columns.filter((column) => column.kind !== "text" && !["order", "rank", "graph_id", "iteration", "turn", "score"].includes(column.key));
  const box = h("select", { class: "wbx-figure", "aria-label": say("explorer/metric"), onchange: () => store.update({ figure: box.value }) },
    ...drawable.map((column) => h("option", { value: column.key }, column.heading)));
  const button = (sign, label, call) => h("button", { type: "button", "aria-label": label, title: label, onclick: call }, sign);
  const legend = h("span", { class: "wbx-legend" });
  const element = h("div", { class: "wbx-head", role: "group", "aria-label": say("explorer/plot") }, box,
    button("−", say("explorer/zoom-out"), () => zoom(store, 2)), button("+", say("explorer/zoom-in"), () => zoom(store, 0.5)), button("0", say("explorer/zoom-all"), () => zoomTo(store, null)), legend);

  function render() {
    box.value = store.figure;
    const { error, inherited, own } = data.named, few = store.visible.length <= STEMS;
    const told = [say("explorer/legend-floor")];
    if (store.figure === error.key && inherited.values.some((value) => value > 0))
      told.push(say(few ? "explorer/legend-stem" : "explorer/legend-zoom"));
    if (store.figure === error.key && own && few) told.push(say("explorer/legend-own"));
    legend.textContent = RELATIVE.includes(store.figure) ? told.join(" · ") : data.named[store.figure].help;
  }
  return { element, render };
}
