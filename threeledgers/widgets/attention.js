// The tile animator: attention of one head walks over its score matrix, and a meter counts what crosses the memory bus.
// `walk` is the one JavaScript twin of threeledgers/simulate/attention.py. GPUS and CHOICES come from attention.py.
const HALF = 2; // bytes of a bf16 or fp16 number
const LABELS = {naive: "written out (naive)", tiled: "in tiles (FlashAttention-2)"};
const PASSES = ["scores are written", "scores come in, probabilities go out", "probabilities come in, output goes out"];

// elements read and written in each step, handed to `step(row, col, read, written, pass)`
function walk(s, step) {
  const {seq: n, head_dim: d, rows, cols} = s, down = Math.ceil(n / rows), across = Math.ceil(n / cols);
  const high = i => Math.min(rows, n - i * rows), wide = j => Math.min(cols, n - j * cols);
  if (s.way === "tiled") {
    for (let i = 0; i < down; i++) {
      for (let j = 0; j < across; j++) {
        step(i, j, 2 * wide(j) * d + (j ? 0 : high(i) * d), j === across - 1 ? high(i) * (d + 1) : 0, 0);
      }
    }
    return;
  }
  for (let pass = 0; pass < 3; pass++) {
    for (let i = 0; i < down; i++) {
      const r = high(i), table = i ? 0 : n * d;
      const [read, written] = [[r * d + table, r * n], [r * n, r * n], [r * n + table, r * d]][pass];
      step(i, 0, read, written, pass);
    }
  }
}

function trace(s) {
  kit.check(s, CHOICES);
  const down = Math.ceil(s.seq / s.rows), across = Math.ceil(s.seq / s.cols);
  const steps = s.way === "tiled" ? down * across : 3 * down, done = Math.ceil(steps * s.done / 100);
  let at = 0, read = 0, written = 0, last = null;
  walk(s, (row, col, r, w, pass) => {
    if (at++ < done) { read += HALF * r; written += HALF * w; last = [row, col, pass]; }
  });
  const sizes = {elem_bytes: HALF, seq: s.seq, head_dim: s.head_dim, tile_rows: s.rows, tile_cols: s.cols};
  const naive = F.naive_attention_traffic(sizes), tiled = F.flash_attention_traffic(sizes), card = GPUS[s.gpu];
  const shared = F.tile_shared_bytes(sizes), registers = F.tile_register_bytes(sizes);
  return {down, across, steps, done, read, written, last, naive, tiled, shared, registers,
    fits: shared <= card.shared_bytes_per_sm && registers <= card.registers_bytes_per_sm};
}

const mega = n => n >= 1e9 ? `${(n / 1e9).toFixed(2)} GB` : n >= 1e7 ? `${(n / 1e6).toFixed(1)} MB` : `${(n / 1e6).toFixed(2)} MB`;
const kilo = n => `${(n / 1e3).toFixed(1)} kB`;

function summary(s, t) {
  const moved = t.read + t.written, card = GPUS[s.gpu];
  const where = t.done === t.steps ? "Done" : `${s.done} % done`;
  const what = s.way === "tiled" ? `${kit.count(t.done)} of ${kit.plural(t.steps, "tile")}`
    : t.last ? `pass ${t.last[2] + 1} of 3, ${PASSES[t.last[2]]}` : "before pass 1 of 3";
  const chip = s.way === "naive" ? ""
    : ` The tiles take ${kilo(t.shared)} of ${kilo(card.shared_bytes_per_sm)} shared memory and ${kilo(t.registers)} of `
      + `${kilo(card.registers_bytes_per_sm)} registers: ${t.fits ? "they fit" : "they do not fit"} on an SM of ${card.name}.`;
  return `${where}: ${what}. ${mega(moved)} moved, ${mega(t.read)} read and ${mega(t.written)} written. In all, written out moves `
    + `${mega(t.naive)}, in tiles ${mega(t.tiled)}: ${(t.naive / t.tiled).toFixed(2)} times.${chip}`;
}

const memory = "var(--tl-memory, #0072b2)", flops = "var(--tl-flops, #d55e00)";
const {label, picture} = kit;
const box = (x, y, width, height, more) => kit.svg("rect", {x, y, width: Math.max(0, width), height: Math.max(0, height), ...more});
const outline = {fill: "none", stroke: "currentColor", "stroke-width": .8};

// queries and output at the left and right, keys and values on top, the scores in the middle
function matrix(s, t, width) {
  const side = Math.min(240, width - 160), left = (width - side) / 2, top = 40, strip = 12;
  const [row, col, pass] = t.last ?? [0, 0, 0], h = side / t.down, w = side / t.across, kids = [];
  const y = top + row * h, under = t.last ? Math.min(side, (row + 1) * h) : 0;
  const full = {fill: memory, "fill-opacity": .3};
  if (s.way === "tiled") {
    kids.push(box(left, top, side, row * h, full), box(left, y, t.last ? (col + 1) * w : 0, h, full));
    if (t.last && t.done < t.steps) kids.push(box(left + col * w, y, Math.max(w, 2), Math.max(h, 2), {fill: flops}));
  } else {
    kids.push(box(left, top, side, pass ? side : under, {...full, "fill-opacity": .2}));
    if (pass) kids.push(box(left, top, side, pass > 1 ? side : under, {...full, "fill-opacity": .2}));
    if (pass > 1) kids.push(box(left, top, side, under, {...full, "fill-opacity": .2}));
    if (t.last && t.done < t.steps) kids.push(box(left, y, side, Math.max(h, 2), {fill: flops}));
  }
  const now = t.last && t.done < t.steps ? {fill: memory} : {fill: "none"};
  const tiled = s.way === "tiled";
  if (tiled || pass === 0) kids.push(box(left - strip - 6, y, strip, Math.max(h, 2), now));
  if (tiled) kids.push(box(left + col * w, top - strip - 6, Math.max(w, 2), strip, now));
  const finished = tiled ? (t.done === t.steps ? side : row * h) : pass > 1 ? under : 0;
  kids.push(box(left + side + 6, top, strip, finished, {fill: memory, "fill-opacity": .6}),
    box(left, top, side, side, outline), box(left - strip - 6, top, strip, side, outline),
    box(left, top - strip - 6, side, strip, outline), box(left + side + 6, top, strip, side, outline));
  if (tiled && t.down * t.across <= 1024) {
    for (let i = 1; i < t.down; i++) kids.push(kit.svg("line", {x1: left, x2: left + side, y1: top + i * h, y2: top + i * h, stroke: "currentColor", "stroke-opacity": .25}));
    for (let j = 1; j < t.across; j++) kids.push(kit.svg("line", {y1: top, y2: top + side, x1: left + j * w, x2: left + j * w, stroke: "currentColor", "stroke-opacity": .25}));
  }
  return picture(width, top + side + 22, ...kids, label(left + side / 2, 14, "keys and values", "middle"),
    label(left - strip - 10, top + 10, "queries", "end"), label(left + side + strip + 10, top + 10, "output"),
    label(left + side / 2, top + side + 16, `scores: ${kit.count(s.seq)} queries by ${kit.count(s.seq)} keys`, "middle"));
}

// [text, bytes, largest, colour] as bars under their text
function bars(rows, width) {
  const kids = rows.flatMap(([text, value, most, fill], n) => {
    const y = 38 * n, scale = (width - 4) / most, end = Math.min(value, most) * scale;
    return [label(2, y + 12, text), box(2, y + 17, width - 4, 13, {...outline, "stroke-opacity": .4}),
      box(2, y + 17, end, 13, {fill, "fill-opacity": value > most ? 1 : .75}),
      value > most ? label(width - 2, y + 12, "too much", "end") : null];
  });
  return picture(width, 38 * rows.length, ...kids);
}

function meters(s, t, width) {
  const most = Math.max(t.naive, t.tiled), moved = t.read + t.written, card = GPUS[s.gpu];
  const chip = s.way === "naive" ? [] : [
    [`shared memory: ${kilo(t.shared)} of ${kilo(card.shared_bytes_per_sm)}`, t.shared, card.shared_bytes_per_sm, flops],
    [`registers: ${kilo(t.registers)} of ${kilo(card.registers_bytes_per_sm)}`, t.registers, card.registers_bytes_per_sm, flops]];
  return bars([[`moved so far: ${mega(moved)}`, moved, most, memory], [`written out, in all: ${mega(t.naive)}`, t.naive, most, memory],
    [`in tiles, in all: ${mega(t.tiled)}`, t.tiled, most, memory], ...chip], width);
}

function render({model, el}) {
  let s = {...model.get("settings")}, width = 640, timer = null;
  const pictures = kit.el("div"), live = kit.live();
  const draw = t => pictures.replaceChildren(matrix(s, t, width), meters(s, t, width));
  const update = (change, quiet) => {
    s = {...s, ...change};
    const t = trace(s);
    if (change) { model.set("settings", s); model.save_changes(); }
    draw(t);
    if (!quiet) live.textContent = summary(s, t);
  };
  const stop = () => { clearInterval(timer); timer = null; play.textContent = "Play"; };
  const change = (name, value) => { if (timer) stop(); update({[name]: value}); };
  const choose = (text, name, options) => kit.select({label: text, options, value: s[name], on: v => change(name, v)});
  const slide = (text, name, show = kit.count) => kit.slider({label: text, values: CHOICES[name], value: s[name], show, on: v => change(name, v)});
  const progress = slide("done", "done", n => `${n} %`), slider = progress.querySelector("input");
  const move = done => { slider.value = done; progress.querySelector("span").textContent = `${done} %`; slider.setAttribute("aria-valuetext", `${done} %`); };
  const play = kit.el("button", {type: "button", onclick: () => {
    if (timer) { stop(); update({}); return; }
    let at = s.done >= 100 ? 0 : s.done;
    const stride = matchMedia("(prefers-reduced-motion: reduce)").matches ? 25 : 1;
    play.textContent = "Pause";
    timer = setInterval(() => {
      if (!el.isConnected) { clearInterval(timer); return; }
      at = Math.min(100, at + stride);
      move(at);
      if (at === 100) stop();
      update({done: at}, at < 100);
    }, 60 * stride);
  }}, "Play");
  const [card, mine] = kit.card({label: "card", table: GPUS, known: CHOICES.gpu, first: s.gpu, on: id => change("gpu", id),
    fields: {shared_bytes_per_sm: "shared_bytes_per_sm", registers_bytes_per_sm: "registers_bytes_per_sm"}});
  s.gpu = mine;
  const controls = kit.el("div", {class: "tlw-controls"},
    choose("attention", "way", CHOICES.way.map(v => [v, LABELS[v]])), slide("tokens", "seq"),
    choose("width of a head", "head_dim", CHOICES.head_dim.map(n => [n, String(n)])),
    slide("queries in a tile", "rows"), slide("keys in a tile", "cols"),
    card, progress);
  update();
  el.append(kit.frame("Tile animator", controls, kit.el("div", {class: "tlw-row"}, play), pictures, live));
  kit.fitted(pictures, 240, 640, now => { width = now; draw(trace(s)); });
}

export default {render, trace, summary};
