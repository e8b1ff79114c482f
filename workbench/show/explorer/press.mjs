// ------------------------------------------------------------------------------------ press

// Calls back with the event of a click. Browsers give none where the pressed row was drawn anew before it was released
// (the table was scrolled, an answer came): then it is the release, if it is over the same row.
function onPress(root, chosen) {
  let pressed = null;
  const rowOf = (event) => event.target.closest?.("[data-row]");
  root.addEventListener("pointerdown", (event) => { pressed = event.button === 0 ? rowOf(event) : null; });
  root.addEventListener("pointerup", (event) => {
    const anew = pressed && !root.contains(pressed) && rowOf(event)?.dataset.row === pressed.dataset.row;
    pressed = null;
    if (anew) chosen(event);
  });
  root.addEventListener("click", chosen);
}
