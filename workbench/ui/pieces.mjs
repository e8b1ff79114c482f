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
    root.innerHTML = model.get("html");
    for (const [key, fold] of folds()) fold.open = before.get(key) ?? fold.open;
    if (focus) root.querySelector('[aria-selected="true"]')?.focus({ preventScroll: true });
  };
  const choose = (event) => {
    const found = event.target.closest?.("[data-row]");
    if (found && root.contains(found)) model.send({ row: found.dataset.row });
    else if (!event.target.closest?.("summary, details")) {
      const fold = event.target.closest?.("[data-fold]")?.querySelector("details");
      if (fold) fold.open = !fold.open;
    }
  };
  root.addEventListener("click", choose);
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    event.stopPropagation(); // the notebook takes single keys for itself
    if ((event.key === "Enter" || event.key === " ") && event.target.matches("[data-row]")) {
      event.preventDefault();
      choose(event);
    }
  });
  model.on("change:html", show);
  show();
}
export default { render };
