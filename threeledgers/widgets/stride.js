// The stride microscope: where a tensor's elements lie, which sectors its first 32 touch, whether view works, what a copy moves.
// `trace` is the one JavaScript twin of threeledgers/simulate (views.py, access.py).
const SIZES = [1, 2, 3, 4, 6, 8, 16, 32];
const DTYPES = [[1, "int8, 1 byte"], [2, "bf16, 2 bytes"], [4, "fp32, 4 bytes"], [8, "fp64, 8 bytes"]];
const ORDERS = {1: [[0]], 2: [[0, 1], [1, 0]], 3: [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]};
const product = list => list.reduce((a, b) => a * b, 1);

function rowMajor(shape) {
  const strides = [];
  let step = 1;
  for (const n of [...shape].reverse()) { strides.unshift(step); step *= n; }
  return strides;
}

// "2, -1" -> sizes; {why: "text" | "size"} where that cannot be
function targetShape(text, numel) {
  const parts = text.replace(/[()[\]]/g, " ").split(/[\s,]+/).filter(p => p);
  if (!parts.length || parts.some(p => !/^-?\d+$/.test(p))) return {why: "text"};
  const sizes = parts.map(Number), rest = product(sizes.filter(n => n !== -1)), open = sizes.filter(n => n === -1).length;
  if (open > 1 || sizes.some(n => n < -1 || n === 0) || (open ? numel % rest : rest !== numel)) return {why: "size"};
  return {sizes: sizes.map(n => n === -1 ? numel / rest : n)};
}

// strides of view(target), or null: merge neighbours into blocks, cut the blocks up from the innermost outwards
function viewStride(shape, stride, target) {
  const blocks = [[shape.at(-1), stride.at(-1)]];
  for (let d = shape.length - 2; d >= 0; d--) {
    const [elements, inner] = blocks[0];
    if (shape[d] === 1 || F.view_mergeable({stride: stride[d], inner_stride: inner, inner_size: elements})) blocks[0] = [elements * shape[d], inner];
    else blocks.unshift([shape[d], stride[d]]);
  }
  const result = [], left = [...target];
  for (const [elements, step] of blocks.reverse()) {
    let taken = 1;
    while (left.length && (taken < elements || left.at(-1) === 1)) { result.unshift(taken * step); taken *= left.pop(); }
    if (taken !== elements) return null;
  }
  return result;
}

function trace(s) {
  let shape = s.order.map(d => s.shape[d]), stride = s.order.map(d => rowMajor(s.shape)[d]);
  const last = shape.length - 1;
  shape[last] = Math.ceil(shape[last] / s.step);
  stride[last] *= s.step;
  if (s.expand) { stride = stride.map((t, d) => shape[d] === 1 ? 0 : t); shape = shape.map(n => n === 1 ? 4 : n); }
  const numel = product(shape), distinct = product(shape.filter((n, d) => stride[d] !== 0)), e = s.elem_bytes;
  let contiguous = true, step = 1;
  for (let d = last; d >= 0; d--) { if (shape[d] !== 1 && stride[d] !== step) contiguous = false; step *= shape[d]; }
  const places = [];
  for (let i = 0; i < Math.min(C.LANES, numel); i++) {
    let at = s.offset, rest = i;
    for (let d = last; d >= 0; d--) { at += (rest % shape[d]) * stride[d]; rest = Math.floor(rest / shape[d]); }
    places.push(at);
  }
  const sectors = [...new Set(places.map(p => Math.floor(p * e / C.SECTOR)))].sort((a, b) => a - b);
  const target = targetShape(s.view, numel);
  const view = target.sizes ? viewStride(shape, stride, target.sizes) : null;
  const moved = contiguous ? 0 : (F.copy_traffic({numel, elem_bytes: e}) + F.copy_traffic({numel: distinct, elem_bytes: e})) / 2;
  const why = target.why ?? (view ? "" : "stride");
  return {shape, stride, numel, contiguous, places, sectors, moved, why, target: target.sizes ?? null, view, storage: s.offset + product(s.shape)};
}

const tuple = list => `(${list.join(", ")}${list.length === 1 ? "," : ""})`;

function expression(s) {
  let text = `x = torch.empty${tuple(s.shape)}`;
  if (s.order.some((d, i) => d !== i)) text += s.order.length === 2 ? ".t()" : `.permute${tuple(s.order)}`;
  if (s.step > 1) text += `[..., ::${s.step}]`;
  if (s.expand) text += ", sizes of 1 expanded to 4";
  return text + (s.offset ? `; the storage begins ${s.offset} earlier` : "");
}

function summary(s, t) {
  const asked = new Set(t.places).size * s.elem_bytes;
  const views = {
    "": () => `view(${t.target.join(", ")}) works, with strides ${tuple(t.view)}`,
    stride: () => `view(${t.target.join(", ")}) raises: the strides do not merge`,
    size: () => `view(${s.view}) raises: the sizes do not hold ${t.numel} elements`,
    text: () => "write the target of view as sizes, like 2, 3 or -1",
  };
  const copy = t.contiguous ? "contiguous() copies nothing" : `contiguous() moves ${kit.bytes(t.moved)}`;
  return `Shape ${tuple(t.shape)}, strides ${tuple(t.stride)}. ${views[t.why]()}; ${copy}. The first ${kit.plural(t.places.length, "element")} `
    + `touch ${kit.plural(t.sectors.length, "sector")}: ${asked} of ${C.SECTOR * t.sectors.length} bytes are used.`;
}

// the storage as rows of 128 bytes; a touched sector is shaded, a read cell is filled and numbered in reading order
function strip(s, t) {
  const line = 4 * C.SECTOR, perRow = line / s.elem_bytes, width = 640 / perRow, rowHeight = 22, rows = [];
  const turn = new Map();
  t.places.forEach((place, n) => { if (!turn.has(place)) turn.set(place, n + 1); });
  const wanted = [...new Set(t.places.map(p => Math.floor(p / perRow)))].sort((a, b) => a - b), shown = wanted.slice(0, 16);
  const touched = new Set(t.sectors);
  shown.forEach((row, r) => {
    const y = r * rowHeight, kids = [kit.svg("text", {x: 0, y: y + 12}, String(row * line))];
    for (let q = 0; q < 4; q++) {
      kids.push(kit.svg("rect", {x: 40 + q * 160, y, width: 158, height: 17, fill: "currentColor", "fill-opacity": touched.has(row * 4 + q) ? 0.18 : 0,
        stroke: "currentColor", "stroke-opacity": touched.has(row * 4 + q) ? 1 : 0.3}));
    }
    for (let c = 0; c < perRow; c++) {
      const place = row * perRow + c, n = turn.get(place);
      if (place >= t.storage || (!n && width < 10)) continue;
      kids.push(kit.svg("rect", {x: 40 + c * width + 1, y: y + 2, width: width - 4 < 1 ? 1 : width - 4, height: 13,
        fill: n ? "var(--tl-memory, #0072b2)" : "none", stroke: "currentColor", "stroke-opacity": 0.35, "stroke-width": 0.5}));
      if (n && width >= 18) kids.push(kit.svg("text", {x: 40 + c * width + width / 2 - 1, y: y + 12, "text-anchor": "middle", style: "fill: #fff; font-size: 8px"}, String(n)));
    }
    rows.push(kit.svg("g", {}, ...kids));
  });
  const height = shown.length * rowHeight + (wanted.length > shown.length ? 16 : 0);
  if (wanted.length > shown.length) rows.push(kit.svg("text", {x: 40, y: height - 3}, `and ${wanted.length - shown.length} more rows`));
  return kit.svg("svg", {viewBox: `0 0 682 ${height}`, "aria-hidden": "true"}, ...rows);
}

function render({model, el}) {
  let s = {...model.get("settings")};
  const controls = kit.el("div", {class: "tlw-controls"}), code = kit.el("code"), picture = kit.el("div"), live = kit.live();
  const update = change => {
    s = {...s, ...change};
    if (change) { model.set("settings", s); model.save_changes(); }
    const t = trace(s);
    code.textContent = expression(s);
    picture.replaceChildren(strip(s, t));
    live.textContent = summary(s, t);
  };
  const rebuild = change => {
    const focus = [...controls.querySelectorAll("input, select")].indexOf(document.activeElement);
    update(change);
    const size = d => kit.slider({label: `size ${d}`, values: SIZES, value: s.shape[d], on: v => update({shape: s.shape.map((n, k) => k === d ? v : n)})});
    controls.replaceChildren(
      kit.select({label: "dimensions", options: [1, 2, 3].map(n => [n, String(n)]), value: s.shape.length,
        on: n => rebuild({shape: [...s.shape, 1, 1].slice(0, n), order: ORDERS[n][0]})}),
      ...s.shape.map((_, d) => size(d)),
      kit.select({label: "order of dimensions", options: ORDERS[s.shape.length].map(o => [o, tuple(o)]), value: s.order, on: order => update({order})}),
      kit.slider({label: "slice: every n-th of the last", values: [1, 2, 3, 4], value: s.step, on: step => update({step})}),
      kit.slider({label: "offset (elements)", values: [0, 1, 2, 3, 4, 5, 6, 7, 8], value: s.offset, on: offset => update({offset})}),
      kit.select({label: "element", options: DTYPES, value: s.elem_bytes, on: elem_bytes => update({elem_bytes})}),
      kit.checkbox({label: "expand sizes of 1 to 4", value: s.expand, on: expand => update({expand})}),
      kit.text({label: "target of view", value: s.view, on: view => update({view})}));
    controls.querySelectorAll("input, select")[focus]?.focus();
  };
  rebuild();
  el.append(kit.frame("Stride microscope", controls, kit.el("p", {}, code),
    kit.el("p", {style: "font-size: .85rem; margin: .2rem 0"}, "The storage, 128 bytes a row, first byte at the left. Boxes are sectors of 32 bytes; shaded ones are touched. "
      + "Filled cells are the first 32 elements, numbered as they are read."), picture, live));
}

export default {render, trace, summary};
