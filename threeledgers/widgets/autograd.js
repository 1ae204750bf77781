// The bar that overflows: who holds the memory of a training step when most is held, and one step from left to right.
// MODELS (shapes) and GPUS (capacities) come from the specs, F from the formulas.
const BATCHES = [1, 2, 4, 8, 16, 32, 64], LENGTHS = [256, 512, 1024, 2048, 4096, 8192, 16384, 32768];
const OPTIMIZERS = [["adam", "Adam (mixed)"], ["adam8", "8-bit Adam"], ["sgd", "SGD"]];
const NAMES = {weights: "weights", gradients: "gradients", optimizer: "optimizer states", layers: "saved by the layers", head: "saved by head and loss", passing: "while going backward"};
const FILLS = {weights: ["memory", 1], gradients: ["memory", .7], optimizer: ["memory", .4], layers: ["flops", 1], head: ["flops", .65], passing: ["flops", .35]};

function holders(s, batch) {
  const m = MODELS[s.model], all = {...m, batch, seq: s.seq, tensor_ranks: 1, elem_bytes: 2};
  const params = F.llama_params(all);
  const states = {adam: () => F.optimizer_bytes({params}), adam8: () => F.adam_8bit_bytes({params}) - F.sgd_bytes({params}), sgd: () => 0};
  const block = s.attention === "fused" ? F.llama_block_saved_bytes(all) : F.eager_block_saved_bytes(all);
  const kept = {none: () => block, selective: () => F.sp_selective_saved_bytes(all), full: () => F.checkpoint_saved_bytes(all)}[s.checkpoint]();
  const again = s.checkpoint === "full" ? block : block - kept;
  return {weights: F.weights_bytes({params, elem_bytes: 2}), gradients: F.grads_bytes({params, elem_bytes: 2}), optimizer: states[s.optimizer](),
    layers: m.layers * kept, head: F.head_saved_bytes(all), passing: Math.max(F.loss_backward_bytes(all), F.head_backward_bytes(all), again), kept, again};
}

const PARTS = Object.keys(NAMES);
const sum = held => PARTS.reduce((t, name) => t + held[name], 0);

// the largest batch: everything but the states grows nearly in proportion; the last steps are tried
function largest(s, capacity) {
  const one = sum(holders(s, 1)), step = sum(holders(s, 2)) - one;
  let n = Math.max(0, F.batch_max({capacity, states: one - step, sample_bytes: step}));
  while (sum(holders(s, n + 1)) <= capacity) n++;
  while (n > 0 && sum(holders(s, n)) > capacity) n--;
  return n;
}

// bytes held: after each layer forward, at the loss, and after each layer backward
function course(s, held) {
  const states = held.weights + held.gradients + held.optimizer, L = MODELS[s.model].layers, points = [];
  for (let k = 0; k <= L; k++) points.push(states + k * held.kept);
  points.push(states + L * held.kept + held.head, states + L * held.kept + held.head + held.passing);
  for (let k = L; k > 0; k--) points.push(states + k * held.kept + held.again);
  points.push(states);
  return points;
}

function trace(s) {
  const held = holders(s, s.batch), capacity = GPUS[s.gpu].bytes, total = sum(held);
  return {held: Object.fromEntries(PARTS.map(name => [name, held[name]])), total, capacity, fits: total <= capacity, most: largest(s, capacity), course: course(s, held)};
}

const giga = n => {
  const g = n / 1e9;
  return `${g >= 100 ? Math.round(g).toLocaleString("en-US") : g >= 10 ? g.toFixed(1) : g.toFixed(2)} GB`;
};

function summary(s, t) {
  const states = t.held.weights + t.held.gradients + t.held.optimizer, card = `${giga(t.capacity)} of ${GPUS[s.gpu].name}`;
  const [name] = PARTS.map(n => [n, t.held[n]]).reduce((a, b) => b[1] > a[1] ? b : a);
  const verdict = t.fits ? `fits into the ${card}` : `is ${giga(t.total - t.capacity)} more than the ${card}`;
  const most = states > t.capacity ? "Not even the states fit" : t.most ? `At most ${kit.plural(t.most, "sequence")} of this length would fit` : "Not even one sequence fits beside the states";
  return `${giga(t.total)} at the peak ${verdict}: states ${giga(states)}, saved tensors ${giga(t.total - states)}. The largest part: ${NAMES[name]}, ${giga(t.held[name])}. ${most}.`;
}

const colour = name => ({fill: `var(--tl-${FILLS[name][0]}, ${FILLS[name][0] === "memory" ? "#0072b2" : "#d55e00"})`, "fill-opacity": FILLS[name][1]});
const label = (x, y, text, anchor = "start", size = 10) => kit.svg("text", {x, y, "text-anchor": anchor, style: `font-size: ${size}px`}, text);
const rule = (x1, y1, x2, y2, dash) => kit.svg("line", {x1, y1, x2, y2, stroke: "currentColor", "stroke-width": 1.2, "stroke-dasharray": dash});

function bar(t) {
  const width = 396, scale = width / Math.max(t.total, t.capacity), key = kit.id(), kids = [];
  kids.push(kit.svg("pattern", {id: key, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)"}, kit.svg("line", {x1: 0, y1: 0, x2: 0, y2: 6, stroke: "currentColor", "stroke-width": 2})));
  let x = 2;
  PARTS.forEach((name, n) => {
    const w = t.held[name] * scale;
    if (!w) return;
    kids.push(kit.svg("rect", {x, y: 16, width: w, height: 30, stroke: "currentColor", "stroke-width": .6, ...colour(name)}));
    if (w > 14) {
      kids.push(kit.svg("circle", {cx: x + w / 2, cy: 31, r: 7, fill: "#fff"}));
      kids.push(kit.svg("text", {x: x + w / 2, y: 34.5, "text-anchor": "middle", style: "font-size: 10px; fill: #111"}, String(n + 1)));
    }
    x += w;
  });
  const edge = 2 + t.capacity * scale;
  if (!t.fits) kids.push(kit.svg("rect", {x: edge, y: 47, width: Math.max(1, x - edge), height: 6, fill: `url(#${key})`, stroke: "currentColor", "stroke-width": .6}));
  kids.push(rule(edge, 10, edge, 54), label(Math.min(edge, width), 8, `the card: ${giga(t.capacity)}`, edge > 90 ? "end" : "start"));
  if (!t.fits) kids.push(label(Math.min(x, width), 64, `over by ${giga(t.total - t.capacity)}`, "end"));
  return kit.svg("svg", {viewBox: `0 0 400 ${t.fits ? 56 : 68}`, "aria-hidden": "true", style: "max-width: 40rem"}, ...kids);
}

function line(s, t) {
  const top = Math.max(t.total, t.capacity) * 1.16, X = k => 44 + k / (t.course.length - 1) * 350, Y = n => 118 - n / top * 104;
  const points = t.course.map((n, k) => `${X(k).toFixed(1)},${Y(n).toFixed(1)}`).join(" "), peak = t.course.indexOf(Math.max(...t.course)), high = t.course[peak];
  const steps = [0, .5, 1].map(part => part * t.capacity);
  return kit.svg("svg", {viewBox: "0 0 400 146", "aria-hidden": "true", style: "max-width: 40rem; margin-top: .6rem"},
    rule(44, 118, 396, 118), rule(44, 12, 44, 118),
    ...steps.map(n => label(40, Y(n) + 3, (n / 1e9).toFixed(0), "end", 9)), label(2, 8, "held (GB)", "start", 9),
    rule(44, Y(t.capacity), 396, Y(t.capacity), "4 3"), label(396, Y(t.capacity) - 3, "the card", "end", 9),
    kit.svg("polyline", {points, fill: "none", stroke: "var(--tl-flops, #d55e00)", "stroke-width": 2}),
    kit.svg("circle", {cx: X(peak), cy: Y(high), r: 3, fill: "currentColor"}),
    label(X(peak), Y(high) - 6, `peak ${giga(high)}`, "middle", 9),
    label(X(peak / 2), 130, "forward", "middle", 9), label(X((peak + t.course.length) / 2), 130, "backward", "middle", 9), label(220, 143, `one step, layer by layer (${MODELS[s.model].layers} layers)`, "middle", 9));
}

const legend = t => kit.el("ol", {style: "font-size: .85rem; margin: .3rem 0; padding-left: 1.6rem; columns: 15rem"}, ...PARTS.map(name => kit.el("li", {},
  kit.el("span", {"aria-hidden": "true", style: `display: inline-block; width: .8em; height: .8em; border: 1px solid currentColor; background: ${colour(name).fill}; opacity: ${Math.max(.4, FILLS[name][1])}; margin-right: .4em`}),
  `${NAMES[name]}: ${giga(t.held[name])}`)));

function render({model, el}) {
  let s = {...model.get("settings")};
  const picture = kit.el("div"), live = kit.live();
  const update = change => {
    s = {...s, ...change};
    if (change) { model.set("settings", s); model.save_changes(); }
    const t = trace(s);
    picture.replaceChildren(bar(t), legend(t), line(s, t));
    live.textContent = summary(s, t);
  };
  const names = table => Object.entries(table).map(([id, {name}]) => [id, name]);
  const controls = kit.el("div", {class: "tlw-controls"},
    kit.select({label: "model", options: names(MODELS), value: s.model, on: id => update({model: id})}),
    kit.select({label: "optimizer", options: OPTIMIZERS, value: s.optimizer, on: optimizer => update({optimizer})}),
    kit.slider({label: "tokens in a sequence", values: LENGTHS, value: s.seq, show: kit.count, on: seq => update({seq})}),
    kit.slider({label: "sequences at a time", values: BATCHES, value: s.batch, on: batch => update({batch})}),
    kit.select({label: "attention", options: [["fused", "fused (SDPA)"], ["eager", "eager"]], value: s.attention, on: attention => update({attention})}),
    kit.select({label: "checkpointing", options: [["none", "none"], ["selective", "attention core only"], ["full", "every layer"]], value: s.checkpoint, on: checkpoint => update({checkpoint})}),
    kit.select({label: "card", options: names(GPUS), value: s.gpu, on: id => update({gpu: id})}));
  update();
  el.append(kit.frame("The bar that overflows", controls, picture, live));
}

export default {render, trace, summary};
