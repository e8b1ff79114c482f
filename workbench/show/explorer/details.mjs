// ---------------------------------------------------------------------------------- details

function createDetails(store) {
  const { data } = store, { say } = data;
  const inner = h("div", { class: "wbx-told" });
  const place = h("output", { class: "wbx-place", role: "status" });
  const buttons = h("div", { class: "wbx-jump" },
    h("button", { type: "button", onclick: () => jump(store, -1) }, `‹ ${say("explorer/previous-failing")}`),
    h("button", { type: "button", onclick: () => jump(store, 1) }, `${say("explorer/next-failing")} ›`));
  const element = h("div", { class: "wbx-details", role: "region", tabindex: "0", "aria-label": say("explorer/selected") }, buttons, place, inner);

  function render() {
    const row = store.selected, at = row < 0 ? -1 : store.place[row];
    const values = { n: count(at + 1), total: count(store.visible.length) };
    if (row < 0) place.textContent = say("explorer/nothing-selected");
    else place.textContent = at < 0 ? say("explorer/hidden") : say("explorer/row-of", values);
    inner.replaceChildren(...(row < 0 ? [] : describe(data, row)));
  }
  return { element, render };
}

function describe(data, row) {
  const { say } = data, status = data.get("status", row), given = SEVERITY[data.named.status.given[row]];
  const over = times(data.get("error", row), data.get("floor", row));
  const parts = [
    h("h3", {}, h("span", { class: "wb-name" }, ...named(nameOf(data, row)))),
    h("p", {}, mark(status), " ", h("strong", {}, say(STATUS_WORDS[status])), status === given ? "" : ` (${say("explorer/regraded-from", { status: say(STATUS_WORDS[given]) })})`,
      " · ", h("bdi", {}, brief(data.get("op_type", row))), ` · ${data.get("tensor", row)}`,
      data.named.rank ? ` · ${say("explorer/rank", { n: data.get("rank", row) })}` : "",
      data.named.iteration ? ` · ${say("explorer/iteration", { n: data.get("iteration", row) })}` : ""),
  ];
  if (data.get("reason", row)) parts.push(h("p", { class: "wbx-reason" }, readable(data.get("reason", row))));
  parts.push(h("dl", { class: "wbx-figures" },
    ...["error", "own", "inherited", "floor"].filter((key) => data.named[key]).flatMap((key) => pair(data.named[key].heading, told(data, key, row))),
    ...(over ? pair(say("explorer/ratio"), over) : [])));
  if (data.get("code", row) || data.get("source", row))
    parts.push(h("p", { class: "wb-source" }, h("bdi", {}, readable(data.get("source", row))), h("code", {}, h("bdi", {}, readable(data.get("code", row))))));
  parts.push(sides(data, row));
  const metrics = data.columns.filter((c) => c.help && c.get(row) !== null);
  if (metrics.length)
    parts.push(h("dl", { class: "wbx-metrics" }, ...metrics.flatMap((c) => pair(c.heading, figure(c, c.get(row)), c.help))));
  return parts;
}

// Nobody can compute every operator again; what is read was made elsewhere.
function told(data, key, row) {
  const value = data.get(key, row);
  if (key !== "own" || value !== null) return number(value);
  return data.say(data.get("tensor", row).startsWith("input") ? "explorer/of-producer" : "explorer/unknown");
}

const pair = (term, text, help = null) => [h("dt", { title: help }, term), h("dd", {}, text)];

function sides(data, row) {
  const { say } = data;
  const side = (name, dtype, shape) => h("tr", {}, h("th", { scope: "row" }, name),
    h("td", {}, h("bdi", {}, brief(data.get(dtype, row)) || "–")), h("td", {}, data.get(shape, row) || "–"));
  const table = h("table", { class: "wbx-sides" },
    h("tbody", {}, side(say("explorer/target"), "dtype", "shape"), side(say("explorer/golden"), "golden_dtype", "golden_shape")));
  const rule = data.get("rule", row);
  const golden = data.get("golden", row);
  const text = rule ? say("explorer/matched-by", { rule, score: number(data.get("score", row)) }) : say("explorer/unmatched");
  return h("div", {}, table, h("p", { class: "wb-quiet" }, text, ...(golden && golden !== data.get("op_name", row) ? [": ", h("bdi", {}, brief(golden))] : [])));
}
