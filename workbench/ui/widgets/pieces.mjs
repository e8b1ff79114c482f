// HTML made by a template, whose rows can be chosen by click and keyboard. Folds stay as the reader left them.

function render({ model, el }) {
  const root = document.createElement("div");
  el.append(root);
  const folds = () => { // by their words, and how often these came before
    const seen = new Map();
    return [...root.querySelectorAll("details > summary")].map((one) => {
      const count = (seen.get(one.textContent) ?? 0) + 1;
      seen.set(one.textContent, count);
      return [`${count} ${one.textContent}`, one.parentElement];
    });
  };
  const show = () => {
    const before = new Map(folds().map(([key, fold]) => [key, fold.open]));
    const at = document.activeElement;
    const focus = root.contains(at) && at.closest("[data-row]");
    const scrolled = [...root.querySelectorAll("[data-keep]")].map((one) => [one.scrollLeft, one.scrollTop]);
    root.innerHTML = model.get("html");
    for (const [key, fold] of folds()) fold.open = before.get(key) ?? fold.open;
    root.querySelectorAll("[data-keep]").forEach((one, i) => {
      [one.scrollLeft, one.scrollTop] = scrolled[i] ?? [0, 0];
      reveal(one);
    });
    if (focus) root.querySelector('[aria-selected="true"]')?.focus({ preventScroll: true });
  };
  const reveal = (scroller) => { // its selected row, without moving the page
    const row = scroller.querySelector('[aria-selected="true"]')?.getBoundingClientRect();
    const box = scroller.getBoundingClientRect();
    if (!row || !box.height) return;
    if (row.top < box.top) scroller.scrollTop += row.top - box.top - 40;
    else if (row.bottom > box.bottom) scroller.scrollTop += row.bottom - box.bottom + 40;
  };
  const walk = (row, by) => { // to the next row of the same table
    const rows = [...row.closest("tbody").querySelectorAll(":scope > [data-row]")];
    const next = rows[rows.indexOf(row) + by];
    if (!next) return;
    if (row.tabIndex === 0 && next.tabIndex < 0) [row.tabIndex, next.tabIndex] = [-1, 0];
    next.focus();
  };
  const choose = (event) => {
    const found = event.target.closest?.("[data-row]");
    if (found && root.contains(found)) model.send({ row: found.dataset.row });
    else if (!event.target.closest?.("summary, details")) {
      const fold = event.target.closest?.("[data-fold]")?.querySelector("details");
      if (fold) fold.open = !fold.open;
    }
  };
  onPress(root, choose);
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    event.stopPropagation(); // the notebook takes single keys for itself
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by && event.target.matches("tbody > [data-row]")) {
      event.preventDefault();
      walk(event.target, by);
    }
    if ((event.key === "Enter" || event.key === " ") && event.target.matches("[data-row]")) {
      event.preventDefault();
      choose(event);
    }
  });
  model.on("change:html", show);
  show();
}
export default { render };
