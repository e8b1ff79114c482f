// The map of a job: a cell a unit, by the verdict, the error or what is not finite; a chosen cell tells what it holds.
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text.trim()), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}
function plane(data, name) {
  return Uint8Array.from(atob(data.planes[name]), (one) => one.charCodeAt(0));
}
function colored(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)).concat(hex.length > 7 ? parseInt(hex.slice(7), 16) : 255);
}
const LOW = [0, 34, 78], MIDDLE = [124, 123, 120], HIGH = [254, 232, 56];
function shade(share) {
  const [from, to, part] = share < 0.5 ? [LOW, MIDDLE, share * 2] : [MIDDLE, HIGH, share * 2 - 1];
  return [...from.map((one, at) => Math.round(one + (to[at] - one) * part)), 255];
}
function painted(data, planes, kind) {
  const bad = colored(data.colors[data.colors.length - 1]), none = [0, 0, 0, 0];
  if (kind === "verdict") return (at) => colored(data.colors[planes.state[at]]);
  if (kind === "error") return (at) => {
    const step = planes.error[at];
    return step === 255 ? none : step > data.steps ? bad : shade(step / data.steps);
  };
  return (at) => (planes.error[at] === 255 ? none : shade(Math.min(1, planes.nonfinite[at] / 255)));
}
function draw(canvas, data, planes, kind) {
  const paint = painted(data, planes, kind), count = data.ranks.length * data.iterations.length;
  const image = new ImageData(data.iterations.length, data.ranks.length);
  for (let at = 0; at < count; at += 1) image.data.set(paint(at), at * 4);
  canvas.getContext("2d").putImageData(image, 0, 0);
}
function told(data, planes, words, row, column) {
  const at = row * data.iterations.length + column, step = planes.error[at], part = planes.part_low[at] + 256 * planes.part_high[at];
  const lines = [`${words.rank} ${data.ranks[row]}, ${words.iteration} ${data.iterations[column]}: ${data.states[planes.state[at]]}`];
  if (step > data.steps && step < 255) lines.push(`${words.error}: ∞`);
  else if (step > 0 && step < 255) lines.push(`${words.error}: ${(data.smallest + ((step - 1) / (data.steps - 1)) * (1 - data.smallest)).toFixed(1)}`);
  if (planes.nonfinite[at]) lines.push(`${words.nonfinite}: ${planes.nonfinite[at]}${planes.nonfinite[at] === 255 ? "+" : ""}`);
  if (part) lines.push(`${words.first}: ${data.names[part - 1]}`);
  return lines.join(" · ");
}
function quoted(path) {
  return /^[\w./:-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
function mount(root, data) {
  const words = root.dataset, rows = data.ranks.length, columns = data.iterations.length;
  const planes = Object.fromEntries(Object.keys(data.planes).map((name) => [name, plane(data, name)]));
  const choice = document.createElement("select"), canvas = document.createElement("canvas");
  const line = document.createElement("p"), command = document.createElement("pre");
  choice.setAttribute("aria-label", words.verdict);
  for (const kind of ["verdict", "error", "nonfinite"]) choice.append(new Option(words[kind], kind));
  choice.addEventListener("change", () => draw(canvas, data, planes, choice.value));
  [canvas.width, canvas.height] = [columns, rows];
  canvas.style.height = `${Math.min(640, Math.max(120, rows * 8))}px`;
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${words.rank} × ${words.iteration}`);
  line.className = "wb-job-told";
  line.setAttribute("role", "status");
  let [row, column] = [0, 0];
  const choose = (r, c) => {
    [row, column] = [Math.min(rows - 1, Math.max(0, r)), Math.min(columns - 1, Math.max(0, c))];
    line.textContent = told(data, planes, words, row, column);
    command.hidden = data.joined;
    const place = `--rank ${data.ranks[row]} --iteration ${data.iterations[column]}`;
    command.textContent = `workbench compare ${quoted(data.target)} ${quoted(data.golden)} ${place}`;
    command.setAttribute("aria-label", words.command);
  };
  canvas.addEventListener("click", (event) => {
    const box = canvas.getBoundingClientRect();
    choose(Math.floor(((event.clientY - box.top) / box.height) * rows), Math.floor(((event.clientX - box.left) / box.width) * columns));
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    choose(row + step[0], column + step[1]);
  });
  root.append(choice, canvas, line, command);
  draw(canvas, data, planes, "verdict");
  choose(0, 0);
}
unpacked(document.getElementById("job-data").textContent).then((data) => mount(document.getElementById("job"), data));
