// The bar that overflows: who holds the memory of a training step when most is held, and one step from left to right.
// MODELS (shapes), GPUS (capacities) and CHOICES (what a setting may be) come from autograd.py, F from the formulas.
const LABELS = {adam: "Adam (mixed)", adam8: "8-bit Adam", sgd: "SGD",
  fused: "fused (SDPA)", eager: "eager", none: "none", selective: "attention core only", full: "every layer"};
const NAMES = {weights: "weights", gradients: "gradients", optimizer: "optimizer states", layers: "saved by the layers",
  head: "saved by head and loss", passing: "while going backward"};
const FILLS = {weights: ["memory", 1], gradients: ["memory", .7], optimizer: ["memory", .4], layers: ["flops", 1],
  head: ["flops", .65], passing: ["flops", .35]};

function holders(s, batch) {
  const m = MODELS[s.model], all = {...m, batch, seq: s.seq, tensor_ranks: 1, elem_bytes: 2};
  const params = F.llama_params(all);
  const states = {adam: () => F.optimizer_bytes({params}), adam8: () => F.adam_8bit_bytes({params}) - F.sgd_bytes({params}), sgd: () => 0};
  const block = s.attention === "fused" ? F.llama_block_saved_bytes(all) : F.eager_block_saved_bytes(all);
  const kept = {none: () => block, selective: () => F.sp_selective_saved_bytes(all), full: () => F.checkpoint_saved_bytes(all)}[s.checkpoint]();
  const again = s.checkpoint === "full" ? block : block - kept;
  return {weights: F.weights_bytes({params, elem_bytes: 2}), gradients: F.grads_bytes({params, elem_bytes: 2}),
    optimizer: states[s.optimizer](), layers: m.layers * kept, head: F.head_saved_bytes(all),
    passing: Math.max(F.loss_backward_bytes(all), F.head_backward_bytes(all), again), kept, again};
}

const PARTS = Object.keys(NAMES);
const sum = held => PARTS.reduce((t, name) => t + held[name], 0);
const floor = held => held.weights + held.gradients + held.optimizer;

// the largest batch: everything but the states grows nearly in proportion; the last steps are tried
function largest(s, capacity) {
  const one = sum(holders(s, 1)), step = sum(holders(s, 2)) - one;
  let n = Math.max(0, F.batch_max({capacity, states: one - step, sample_bytes: step}));
  while (sum(holders(s, n + 1)) <= capacity) n++;
  while (n > 0 && sum(holders(s, n)) > capacity) n--;
  return n;
}

// [layers gone through, bytes held]: up a layer at a time, the head, the loss going backward, down again; where a layer kept
// less than backward needs, the rest is computed again first and is held for that layer only
function course(s, held) {
  const states = floor(held), L = MODELS[s.model].layers, full = states + L * held.kept + held.head, points = [];
  for (let k = 0; k <= L; k++) points.push([k, states + k * held.kept]);
  points.push([L + 1, full], [L + 1, full + held.passing], [L + 2, states + L * held.kept]);
  for (let k = L; k > 0; k--) {
    const at = 2 * L + 2 - k;
    if (held.again) points.push([at + 0.5, states + k * held.kept + held.again]);
    points.push([at + 1, states + (k - 1) * held.kept]);
  }
  return points;
}

function trace(s) {
  kit.check(s, CHOICES);
  const held = holders(s, s.batch), capacity = GPUS[s.gpu].bytes, total = sum(held);
  return {states: floor(held), held: Object.fromEntries(PARTS.map(name => [name, held[name]])), total, capacity, fits: total <= capacity,
    over: Math.max(0, total - capacity), most: largest(s, capacity), course: course(s, held)};
}

const giga = n => {
  if (!n) return "0 GB";
  const g = n / 1e9;
  return `${g >= 100 ? Math.round(g).toLocaleString("en-US") : g >= 10 ? g.toFixed(1) : g.toFixed(2)} GB`;
};

function summary(s, t) {
  const {states} = t, card = `${giga(t.capacity)} of ${GPUS[s.gpu].name}`;
  const [name] = PARTS.map(n => [n, t.held[n]]).reduce((a, b) => b[1] > a[1] ? b : a);
  const verdict = t.fits ? `fits into the ${card}` : `is ${giga(t.over)} more than the ${card}`;
  const most = states > t.capacity ? "Not even the states fit"
    : t.most ? `At most ${kit.plural(t.most, "sequence")} of this length would fit` : "Not even one sequence fits beside the states";
  return `${giga(t.total)} at the peak ${verdict}: states ${giga(states)}, saved tensors ${giga(t.total - states)}. `
    + `The largest part: ${NAMES[name]}, ${giga(t.held[name])}. ${most}.`;
}

const colour = name => ({fill: `var(--tl-${FILLS[name][0]}, ${FILLS[name][0] === "memory" ? "#0072b2" : "#d55e00"})`, "fill-opacity": FILLS[name][1]});
const {label, picture} = kit;
const rule = (x1, y1, x2, y2, more) => kit.svg("line", {x1, y1, x2, y2, stroke: "currentColor", ...more});
const badge = (x, y, n) => kit.svg("g", {}, kit.svg("circle", {cx: x, cy: y, r: 8, fill: "#fff", stroke: "#111", "stroke-width": .6}),
  kit.svg("text", {x, y: y + 4, "text-anchor": "middle", style: "font-size: 12px; fill: #111"}, String(n)));

function bar(t, width) {
  const scale = (width - 4) / Math.max(t.total, t.capacity), kids = [], key = kit.id();
  let x = 2;
  const spans = PARTS.map((name, n) => ({name, n: n + 1, w: t.held[name] * scale})).filter(({w}) => w), thin = spans.filter(({w}) => w < 20);
  for (const span of spans) { span.x = x; span.mid = x + span.w / 2; x += span.w; }
  // numbers of thin parts stand above the bar, side by side
  thin.forEach((span, k) => { span.at = Math.max(span.mid, 10, k ? thin[k - 1].at + 18 : 0); });
  for (let k = thin.length - 1, right = width - 10; k >= 0; k--, right -= 18) thin[k].at = Math.min(thin[k].at, right);
  const top = thin.length ? 44 : 20, end = top + 34, edge = 2 + t.capacity * scale;
  for (const span of spans) {
    kids.push(kit.svg("rect", {x: span.x, y: top, width: span.w, height: 34, stroke: "currentColor", "stroke-width": .6, ...colour(span.name)}));
    if (span.at) kids.push(rule(span.at, top - 8, span.mid, top, {"stroke-width": .8}));
  }
  if (t.over) {
    kids.push(kit.svg("pattern", {id: key, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)"},
        rule(0, 0, 0, 6, {"stroke-width": 2})),
      kit.svg("rect", {x: edge, y: end + 1, width: Math.max(1, x - edge), height: 8, fill: `url(#${key})`, stroke: "currentColor", "stroke-width": .6}),
      label(width - 2, end + 23, `over by ${giga(t.over)}`, "end"));
  } else {
    kids.push(kit.svg("rect", {x, y: top, width: edge - x, height: 34, fill: "none", stroke: "currentColor", "stroke-dasharray": "3 3"}));
    if (edge - x > 90) kids.push(label((x + edge) / 2, top + 21, `${giga(t.capacity - t.total)} free`, "middle"));
  }
  kids.push(rule(edge, 16, edge, end + 9, {"stroke-width": 2}),
    label(Math.min(edge, width - 2), 12, `the card: ${giga(t.capacity)}`, edge > width / 2 ? "end" : "start"),
    ...spans.map(span => span.at ? badge(span.at, top - 16, span.n) : badge(span.mid, top + 17, span.n)));
  return picture(width, end + (t.over ? 28 : 11), ...kids);
}

function line(s, t, width) {
  const high = Math.max(t.total, t.capacity) * 1.2, rough = high / 4, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find(m => m * power >= rough) * power;
  const ticks = Array.from({length: Math.floor(high / step) + 1}, (_, n) => [n * step, (n * step / 1e9).toLocaleString("en-US")]);
  const left = 10 + 7.5 * Math.max(...ticks.map(([, text]) => text.length)), right = width - 4, foot = 168, L = MODELS[s.model].layers;
  const X = at => left + at / (2 * L + 2) * (right - left), Y = n => foot - n / high * (foot - 24);
  const points = t.course.map(([at, n]) => `${X(at).toFixed(1)},${Y(n).toFixed(1)}`).join(" ");
  const flat = Y(t.states), peak = Y(t.total), card = Y(t.capacity);
  const saved = colour("layers"), dashes = {"stroke-dasharray": "5 3", "stroke-width": 1.5};
  const crossed = card < peak && card > peak - 24, low = foot - card < 24; // texts make way for the card's line
  return picture(width, 204, label(2, 12, "GB held"), rule(right - 142, 8, right - 118, 8, dashes), label(right - 112, 12, `the card: ${giga(t.capacity)}`),
    ...ticks.flatMap(([n, text]) => [rule(left, Y(n), right, Y(n), {"stroke-opacity": n ? .2 : 1}), label(left - 5, Y(n) + 4, text, "end")]),
    kit.svg("rect", {x: left, y: flat, width: right - left, height: foot - flat, ...colour("weights"), "fill-opacity": .22}),
    kit.svg("polygon", {points: `${left},${flat} ${points} ${right},${flat}`, ...saved, "fill-opacity": .22}),
    kit.svg("polyline", {points, fill: "none", stroke: saved.fill, "stroke-width": 2, "stroke-linejoin": "round"}),
    rule(left, card, right, card, dashes),
    kit.svg("circle", {cx: X(L + 1), cy: peak, r: 3.5, fill: "currentColor"}),
    label(X(L + 1), crossed ? peak + 18 : peak - 8, `peak ${giga(t.total)}`, "middle"),
    foot - flat > (low ? 44 : 20) ? label(left + 6, low ? flat + 16 : foot - 6, `states ${giga(t.states)}`) : null,
    label(X(L / 2), 183, "forward", "middle"), label(X(L + 1), 183, "loss", "middle"), label(X(1.5 * L + 2), 183, "backward", "middle"),
    label((left + right) / 2, 199, `one step, layer by layer (${L} layers)`, "middle"));
}

const legend = t => kit.el("ol", {style: "font-size: .85rem; margin: .3rem 0; padding-left: 1.6rem; columns: 15rem"}, ...PARTS.map(name => kit.el("li", {},
  kit.svg("svg", {viewBox: "0 0 12 12", "aria-hidden": "true", style: "display: inline-block; width: .8em; margin-right: .4em"},
    kit.svg("rect", {x: .5, y: .5, width: 11, height: 11, stroke: "currentColor", ...colour(name)})), `${NAMES[name]}: ${giga(t.held[name])}`)));

function render({model, el}) {
  let s = {...model.get("settings")}, width = 720;
  const pictures = kit.el("div"), live = kit.live();
  const draw = t => pictures.replaceChildren(bar(t, width), legend(t), line(s, t, width));
  const update = change => {
    s = {...s, ...change};
    const t = trace(s);
    if (change) { model.set("settings", s); model.save_changes(); }
    draw(t);
    live.textContent = summary(s, t);
  };
  const choose = (label, name, options = CHOICES[name].map(id => [id, LABELS[id]])) =>
    kit.select({label, options, value: s[name], on: value => update({[name]: value})});
  const slide = (label, name) =>
    kit.slider({label, values: CHOICES[name], value: s[name], show: kit.count, on: value => update({[name]: value})});
  const [card, mine] = kit.card({label: "card", table: GPUS, known: CHOICES.gpu, fields: {bytes: "memory_bytes"}, first: s.gpu, on: gpu => update({gpu})});
  s.gpu = mine;
  const controls = kit.el("div", {class: "tlw-controls"},
    choose("model", "model", kit.names(MODELS)), choose("optimizer", "optimizer"),
    slide("tokens in a sequence", "seq"), slide("sequences at a time", "batch"), choose("attention", "attention"), choose("checkpointing", "checkpoint"), card);
  update();
  el.append(kit.frame("The bar that overflows", controls, pictures, live));
  kit.fitted(pictures, 260, 720, now => { width = now; draw(trace(s)); });
}

export default {render, trace, summary};
