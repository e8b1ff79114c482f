// A button that puts its text on the clipboard; where that is forbidden it says so.
function render({ model, el }) {
  const button = document.createElement("button");
  const said = document.createElement("span");
  button.type = "button";
  button.className = "jupyter-button";
  said.setAttribute("role", "status");
  said.style.marginLeft = "8px";
  const label = () => { button.textContent = model.get("label"); };
  label();
  model.on("change:label", label);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(model.get("text"));
      said.textContent = model.get("copied");
    } catch {
      said.textContent = model.get("forbidden");
    }
  });
  el.append(button, said);
}
export default { render };
