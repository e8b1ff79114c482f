// A slider that has a name; the kernel hears of a value when the reader lets go.
function render({ model, el }) {
  const label = document.createElement("label");
  const words = document.createElement("span");
  const input = document.createElement("input");
  const shown = document.createElement("output");
  label.style.cssText = "display:flex;align-items:center;gap:10px;font-size:13px;color:var(--jp-ui-font-color1)";
  words.style.minWidth = "4em";
  input.type = "range";
  input.min = 0;
  input.style.cssText = "flex:0 1 420px;min-width:80px";
  const show = () => {
    words.textContent = model.get("label");
    input.max = model.get("max");
    input.value = model.get("value");
    shown.textContent = `${input.value} / ${input.max}`;
  };
  input.addEventListener("input", () => { shown.textContent = `${input.value} / ${input.max}`; });
  input.addEventListener("change", () => {
    model.set("value", Number(input.value));
    model.save_changes();
  });
  input.addEventListener("keydown", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
  });
  model.on("change", show);
  show();
  label.append(words, input, shown);
  el.append(label);
}
export default { render };
