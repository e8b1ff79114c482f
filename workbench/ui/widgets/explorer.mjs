// ------------------------------------------------------------------------------------ widget

async function render({ model, el }) {
  const raw = await unpackColumns(model.get("data"));
  const root = h("div", { class: "wb" });
  el.append(root);
  const view = mount(root, raw, {
    state: model.get("state"),
    onchange(state) {
      if (JSON.stringify(state) === JSON.stringify(model.get("state"))) return;
      model.set("state", state);
      model.save_changes();
    },
  });
  const follow = () => view.set(model.get("state"));
  model.on("change:state", follow);
  return () => {
    model.off("change:state", follow);
    view.destroy();
  };
}

export default { render };
