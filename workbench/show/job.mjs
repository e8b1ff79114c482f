// The map of a job: ranks down, iterations across, a cell a unit. A chosen cell tells what it holds; `asked` is called
// with one that somebody wants to see whole. What is too long to be seen at once scrolls beside an overview of all.
async function unpacked(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}
function bytesOf(text) {
  return Uint8Array.from(atob(text.trim()), (one) => one.charCodeAt(0));
}
function made(kind, name, ...inside) {
  const one = document.createElement(kind);
  one.className = name;
  one.append(...inside);
  return one;
}
function colored(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)).concat(hex.length > 7 ? parseInt(hex.slice(7), 16) : 255);
}
const LOW = [0, 34, 78], MIDDLE = [124, 123, 120], HIGH = [254, 232, 56], NONE = [0, 0, 0, 0], PALE = [127, 127, 127, 40];
function shade(share) {
  const [from, to, part] = share < 0.5 ? [LOW, MIDDLE, share * 2] : [MIDDLE, HIGH, share * 2 - 1];
  return [...from.map((one, at) => Math.round(one + (to[at] - one) * part)), 255];
}

// A value of a cell from 0 to 1 by kind; -1: it has none, 2: it is not finite. And what its ends are called.
function valued(data, planes, words, kind) {
  const most = (name) => planes[name].reduce((a, b) => Math.max(a, b), 0), names = data.names.length;
  const upTo = (name) => (most(name) === 255 ? "255+" : `${most(name)}`);
  const counted = (name) => [(at) => (planes[name][at] ? planes[name][at] / most(name) : -1), ["1", upTo(name)]];
  if (kind === "error") return [(at) => {
    const step = planes.error[at];
    return step === 255 ? -1 : step > data.steps ? 2 : step / data.steps;
  }, [`1e${data.smallest}`, "10"]];
  if (kind === "first") return [(at) => {
    const part = planes.part_low[at] + 256 * planes.part_high[at];
    return part ? (part - 1) / Math.max(1, names - 1) : -1;
  }, [words.early, words.late]];
  return counted(kind);
}

// How a cell is painted, and how much it stands out: of several in one place the overview shows the one that does most.
function painter(data, planes, words, kind) {
  if (kind === "verdict") {
    const colors = data.colors.map(colored), grave = data.states.map((one) => data.grave.indexOf(one));
    return { paint: (at) => colors[planes.state[at]], grave: (at) => grave[planes.state[at]] };
  }
  const [value, ends] = valued(data, planes, words, kind), bad = colored(data.colors.at(-1));
  const paint = (at) => {
    const share = value(at);
    return share > 1 ? bad : share >= 0 ? shade(share) : planes.state[at] ? PALE : NONE;
  };
  return { paint, grave: value, ends };
}
function draw(canvas, data, { paint, grave }, most = Infinity) {
  const rows = data.ranks.length, columns = data.iterations.length, count = rows * columns;
  [canvas.width, canvas.height] = [Math.min(columns, most), Math.min(rows, most)];
  const image = new ImageData(canvas.width, canvas.height), seen = new Map();
  for (let at = 0; at < count; at += 1) {
    const x = Math.floor(((at % columns) * canvas.width) / columns), y = Math.floor((Math.floor(at / columns) * canvas.height) / rows);
    const place = y * canvas.width + x, how = grave(at);
    if (seen.has(place) && seen.get(place) >= how) continue;
    seen.set(place, how);
    image.data.set(paint(at), place * 4);
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}
function told(data, planes, words, row, column) {
  const at = row * data.iterations.length + column, step = planes.error[at], part = planes.part_low[at] + 256 * planes.part_high[at];
  const rank = data.joined ? words.joined : `${words.rank} ${data.ranks[row]}`, most = (count) => `${count}${count === 255 ? "+" : ""}`;
  const lines = [`${rank}, ${words.iteration} ${data.iterations[column]}: ${data.states[planes.state[at]]}`];
  if (step > data.steps && step < 255) lines.push(`${words.error}: ∞`);
  else if (step > 0 && step < 255) lines.push(`${words.error}: ≈ ${(10 ** (data.smallest + ((step - 1) / (data.steps - 1)) * (1 - data.smallest))).toExponential(0)}`);
  if (part) lines.push(`${words.first}: ${data.names[part - 1]}`);
  for (const kind of ["nonfinite", "missing"]) if (planes[kind][at]) lines.push(`${words[kind]}: ${most(planes[kind][at])}`);
  return lines.join(" · ");
}
function quoted(path) {
  return /^[\w./:-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
function legend(data, planes, words, kind, ends) {
  const box = made("p", "wb-job-legend"), dot = (color) => {
    const one = made("i", "");
    one.style.background = `rgb(${color.slice(0, 3).join(" ")} / ${(color[3] ?? 255) / 255})`;
    return one;
  };
  if (kind === "verdict") {
    const seen = new Set(planes.state);
    data.states.forEach((state, at) => seen.has(at) && box.append(made("span", "", dot(colored(data.colors[at])), state)));
    return box;
  }
  const bar = made("i", "wb-job-scale");
  bar.style.background = `linear-gradient(to right, ${[0, 0.5, 1].map((share) => `rgb(${shade(share).slice(0, 3)})`)})`;
  box.append(made("span", "", ends[0], bar, ends[1]));
  if (kind === "error") box.append(made("span", "", dot(colored(data.colors.at(-1))), "∞, NaN"));
  box.append(made("span", "", dot(PALE), words.none));
  return box;
}
// Numbers beside every cell, or as many as there is room for: `most` of them.
function numbers(box, list, most, side) {
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((one) => list.length / one <= most) ?? Math.ceil(list.length / most);
  list.forEach((number, at) => {
    if (at % step) return;
    const one = made("span", "", `${number}`);
    one.style[side] = `${((at + 0.5) / list.length) * 100}%`;
    box.append(one);
  });
}
const HIGH_CELL = 22, LOW_CELL = 8, WIDE_CELL = 48, NARROW_CELL = 7, ROOM = 400, OVERVIEW = 400;
function mount(root, data, words, asked) {
  const rows = data.ranks.length, columns = data.iterations.length;
  const planes = Object.fromEntries(Object.entries(data.planes).map(([name, text]) => [name, bytesOf(text)]));
  const high = Math.min(HIGH_CELL, Math.max(LOW_CELL, Math.floor(ROOM / rows))) * rows;
  const choice = made("select", ""), canvas = made("canvas", ""), cell = made("div", "wb-job-at"), grid = made("div", "wb-job-grid");
  const line = made("p", "wb-job-told"), below = asked ? made("button", "jupyter-button", words.open) : made("pre", "");
  const across = made("div", "wb-job-across"), down = made("div", "wb-job-down"), picture = made("div", "wb-job-picture", canvas, grid, cell);
  const scroller = made("div", "wb-job-scroller", made("span", "wb-job-corner"), across, down, picture);
  const overview = made("canvas", "wb-job-all"), seen = made("div", "wb-job-seen"), beside = made("div", "wb-job-beside", overview, seen);
  const head = made("div", "wb-job-head", choice, made("span", "", `↓ ${words.rank} · → ${words.iteration}`));
  let marks = made("p", "wb-job-legend");
  head.append(marks);
  choice.setAttribute("aria-label", words.shown);
  for (const kind of ["verdict", "error", "first", "nonfinite", "missing"]) choice.append(new Option(words[kind], kind));
  const show = () => {
    const how = painter(data, planes, words, choice.value);
    draw(canvas, data, how);
    if (!beside.hidden) draw(overview, data, how, OVERVIEW);
    marks.replaceWith((marks = legend(data, planes, words, choice.value, how.ends)));
  };
  choice.addEventListener("change", show);
  picture.style.cssText = `height:${high}px;--rows:${rows};--columns:${columns}`;
  scroller.style.gridTemplateColumns = `auto clamp(${columns * NARROW_CELL}px, 100% - 5em, ${columns * WIDE_CELL}px)`;
  beside.hidden = high <= ROOM;
  numbers(down, data.joined ? [words.joined] : data.ranks, high / 18, "top");
  numbers(across, data.iterations, 16, "left");
  down.style.minWidth = data.joined ? "9em" : "";
  picture.tabIndex = 0;
  picture.setAttribute("role", "application");
  picture.setAttribute("aria-label", `${words.rank} × ${words.iteration}. ${words.keys}`);
  line.setAttribute("role", "status");
  let [row, column] = data.start;
  const choose = (r, c) => {
    [row, column] = [Math.min(rows - 1, Math.max(0, r)), Math.min(columns - 1, Math.max(0, c))];
    cell.style.cssText = `left:${(column / columns) * 100}%;top:${(row / rows) * 100}%`;
    line.textContent = told(data, planes, words, row, column);
    if (asked) return;
    below.hidden = data.joined;
    const place = `--rank ${data.ranks[row]} --iteration ${data.iterations[column]}`;
    below.textContent = `workbench compare ${quoted(data.target)} ${quoted(data.golden)} ${place}`;
    below.setAttribute("aria-label", words.command);
  };
  const reveal = () => { // the chosen cell, without moving the page
    const [top, left] = [(row / rows) * picture.offsetHeight, (column / columns) * picture.offsetWidth];
    const room = [scroller.clientHeight - picture.offsetTop, scroller.clientWidth - picture.offsetLeft];
    if (top < scroller.scrollTop || top + cell.offsetHeight > scroller.scrollTop + room[0]) scroller.scrollTop = top - room[0] / 2;
    if (left < scroller.scrollLeft || left + cell.offsetWidth > scroller.scrollLeft + room[1]) scroller.scrollLeft = left - room[1] / 2;
  };
  const ask = () => asked?.(data.ranks[row], data.iterations[column]);
  const inside = (event, box = event.currentTarget.getBoundingClientRect()) => [(event.clientY - box.top) / box.height, (event.clientX - box.left) / box.width];
  picture.addEventListener("click", (event) => {
    const [y, x] = inside(event);
    choose(Math.floor(y * rows), Math.floor(x * columns));
    ask();
  });
  picture.addEventListener("focus", () => { // browsers show the middle of it; not while a button is pressed over a cell
    if (picture.matches(":focus-visible")) reveal();
  });
  picture.addEventListener("mousemove", (event) => {
    const [y, x] = inside(event).map((one, at) => Math.min(0.999999, Math.max(0, one)) * [rows, columns][at]);
    picture.title = told(data, planes, words, Math.floor(y), Math.floor(x));
  });
  picture.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    event.stopPropagation(); // the notebook takes single keys for itself
    const page = Math.max(1, Math.floor((scroller.clientHeight / picture.offsetHeight) * rows) - 1);
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-page, 0], PageDown: [page, 0], Home: [0, -columns], End: [0, columns] }[event.key];
    if (!step && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    if (!step) return ask();
    choose(row + step[0], column + step[1]);
    reveal();
  });
  if (asked) below.addEventListener("click", ask);
  const follow = () => {
    const whole = picture.offsetHeight || 1;
    seen.style.cssText = `top:${(scroller.scrollTop / whole) * 100}%;height:${((scroller.clientHeight - picture.offsetTop) / whole) * 100}%`;
  };
  const go = (event) => {
    if (event.buttons & 1) scroller.scrollTop = inside(event)[0] * picture.offsetHeight - scroller.clientHeight / 2;
  };
  scroller.addEventListener("scroll", follow);
  for (const kind of ["pointerdown", "pointermove"]) beside.addEventListener(kind, go);
  root.append(head, made("div", "wb-job-map", scroller, beside), line, below);
  show();
  choose(row, column);
  const watch = new ResizeObserver(follow), first = new IntersectionObserver(([one]) => { // where there is room for it
    if (!one.isIntersecting) return;
    first.disconnect();
    reveal();
    follow();
  });
  watch.observe(scroller);
  first.observe(root);
  return () => { watch.disconnect(); first.disconnect(); };
}
