// HTML made by a template, whose rows can be chosen by click and keyboard. Folds stay as the reader left them.
const NAMES = ["row", "line"];

function render({ model, el }) {
  const root = document.createElement("div");
  el.append(root);
  const summaries = () => [...root.querySelectorAll("details > summary")];
  const show = () => {
    const folds = new Map(summaries().map((one) => [one.textContent, one.parentElement.open]));
    const at = document.activeElement;
    const focus = root.contains(at) && at.closest(`[data-row],[data-line]`);
    root.innerHTML = model.get("html");
    for (const one of summaries()) {
      if (folds.has(one.textContent)) one.parentElement.open = folds.get(one.textContent);
    }
    if (focus) root.querySelector('[aria-selected="true"]')?.focus({ preventScroll: true });
  };
  const choose = (event) => {
    for (const name of NAMES) {
      const found = event.target.closest?.(`[data-${name}]`);
      if (found && root.contains(found)) {
        model.send({ [name]: found.dataset[name] });
        return true;
      }
    }
    return false;
  };
  root.addEventListener("click", choose);
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    event.stopPropagation(); // the notebook takes single keys for itself
    if ((event.key === "Enter" || event.key === " ") && event.target.matches("[data-row],[data-line]")) {
      if (choose(event)) event.preventDefault();
    }
  });
  model.on("change:html", show);
  show();
}
export default { render };
