// ------------------------------------------------------------------------------------ widget

async function render({ model, el }) {
  const root = document.createElement("div");
  root.className = "wb wb-job";
  el.append(root);
  const data = await unpacked(model.get("data"));
  return mount(root, data, model.get("words"), (rank, iteration) => model.send({ rank, iteration }));
}
export default { render };
