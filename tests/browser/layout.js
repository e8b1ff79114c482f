// What is wrong with how a part of a page is laid out: a list of sentences, empty if nothing is.
(root) => {
  const SLACK = 1.5; // pixels; boxes lie between them
  const frame = root.getBoundingClientRect();
  const style = (element) => getComputedStyle(element);
  const told = (element) => {
    const words = element.getAttribute("aria-label") || element.innerText || element.value || element.className.baseVal || element.className;
    return `${element.tagName.toLowerCase()} ${String(words).trim().slice(0, 60)}`;
  };
  const seen = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
    && element.getBoundingClientRect().width > SLACK && element.getBoundingClientRect().height > SLACK
    && !style(element).clip.startsWith("rect");
  const above = function* (element) {
    for (let one = element.parentElement; one && one !== root.parentElement; one = one.parentElement) yield one;
  };
  // Boxes of ipywidgets scroll too, but nobody wants them to.
  const scrolls = (element, axis) => element !== root && !element.matches(".widget-box, .lm-Panel, .lm-StackedPanel")
    && ["auto", "scroll"].includes(style(element)[`overflow${axis}`]);
  const all = [...root.querySelectorAll("*")].filter(seen);
  const wrong = [];

  if (root.scrollWidth > root.clientWidth + SLACK) wrong.push(`${root.scrollWidth - root.clientWidth} px too wide`);
  for (const element of all) {
    if (element.matches(".widget-box") && element.scrollWidth > element.clientWidth + SLACK)
      wrong.push(`a box that scrolls: ${told(element)}`);
    const box = element.getBoundingClientRect();
    if (box.right > frame.right + SLACK && ![...above(element)].some((one) => scrolls(one, "X")))
      wrong.push(`beyond the edge: ${told(element)}`);
  }

  const controls = all.filter((one) => one.matches("button, input, select, textarea, summary, a[href], [role=tab]"));
  const cutBy = (element, box) => [...above(element)].find((one) => {
    if (one === root || style(one).display === "contents") return false;
    const edge = one.getBoundingClientRect(), hides = style(one);
    return (["hidden", "clip"].includes(hides.overflowX) && (box.right > edge.right + SLACK || box.left < edge.left - SLACK))
      || (["hidden", "clip"].includes(hides.overflowY) && (box.bottom > edge.bottom + SLACK || box.top < edge.top - SLACK));
  });
  const pen = document.createElement("canvas").getContext("2d");
  const wide = (text, element) => { // as the browser would set it
    pen.font = style(element).font;
    return pen.measureText(text).width;
  };
  const room = (element) => element.clientWidth - parseFloat(style(element).paddingLeft) - parseFloat(style(element).paddingRight);
  for (const control of controls) {
    const by = cutBy(control, control.getBoundingClientRect());
    if (by) wrong.push(`cut off: ${told(control)} by ${by.className}`);
    if (control.matches("button, [role=tab]") && control.scrollWidth > control.clientWidth + SLACK)
      wrong.push(`words cut off: ${told(control)}`);
    if (control.matches("select:not([size], [multiple])") && control.selectedOptions.length
      && wide(control.selectedOptions[0].text, control) > room(control) + SLACK)
      wrong.push(`choice cut off: ${control.selectedOptions[0].text.slice(0, 60)}`);
    if (control.matches("input[placeholder]") && !control.value && wide(control.placeholder, control) > room(control) + SLACK)
      wrong.push(`hint cut off: ${control.placeholder.slice(0, 60)}`);
  }
  for (const label of all.filter((one) => one.matches("label, .widget-label")))
    if (label.scrollWidth > label.clientWidth + SLACK) wrong.push(`label cut off: ${told(label)}`);

  const visible = (element) => { // what is left of its box in all that scrolls
    let { left, right, top, bottom } = element.getBoundingClientRect();
    for (const one of above(element)) {
      if (style(one).overflowX === "visible" && style(one).overflowY === "visible") continue;
      const edge = one.getBoundingClientRect();
      [left, right] = [Math.max(left, edge.left), Math.min(right, edge.right)];
      [top, bottom] = [Math.max(top, edge.top), Math.min(bottom, edge.bottom)];
    }
    return { left, right, top, bottom };
  };
  const sticks = (element) => [element, ...above(element)].some((one) => style(one).position === "sticky");
  const boxes = controls.filter((one) => !sticks(one)).map((one) => [one, visible(one)]);
  boxes.forEach(([one, a], index) => {
    for (const [other, b] of boxes.slice(index + 1)) {
      if (one.contains(other) || other.contains(one)) continue;
      const over = [Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)];
      if (Math.min(...over) > SLACK) wrong.push(`overlap: ${told(one)} / ${told(other)}`);
    }
  });
  return [...new Set(wrong)];
}
