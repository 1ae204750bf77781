// The cache calculator: what keys and values of past tokens occupy, and how many tokens a budget holds.
// MODELS (shapes) and CHOICES (what a setting may be) come from kv_cache.py, F from the formulas.
const SHARING = {released: "as released", all: "a pair for every head (MHA)", eight: "8 pairs (GQA)", one: "one pair (MQA)"};

function perToken(s) {
  const m = MODELS[s.model], {elem_bytes} = s;
  if (s.sharing === "released" && m.kv_rank) return F.mla_cache_bytes({...m, elem_bytes});
  const kv_heads = {released: m.kv_heads, all: m.heads, eight: 8, one: 1}[s.sharing];
  return F.kv_cache_bytes({...m, kv_heads, elem_bytes});
}

function trace(s) {
  kit.check(s, CHOICES);
  const token = perToken(s), budget = s.budget * 1e9, tokens = s.seq * s.batch;
  const {heads} = MODELS[s.model], all = perToken({...s, sharing: "all"});
  return {token, all, sequence: token * s.seq, total: token * tokens, budget, fits: token * tokens <= budget,
    room: Math.floor(budget / token), longest: Math.floor(budget / (token * s.batch)), scores: s.elem_bytes * heads * s.seq ** 2};
}

const giga = n => n >= 1e12 ? `${(n / 1e12).toFixed(2)} TB` : n >= 1e11 ? `${Math.round(n / 1e9)} GB` : n >= 1e10 ? `${(n / 1e9).toFixed(1)} GB`
  : n >= 1e7 ? `${(n / 1e9).toFixed(2)} GB` : `${(n / 1e6).toFixed(2)} MB`;

function summary(s, t) {
  const ratio = t.all / t.token;
  const shared = ratio === 1 ? "That is a key and a value for every head" : `A pair for every head would be ${ratio.toFixed(1)} times as much`;
  return `${MODELS[s.model].name}, ${SHARING[s.sharing]}: ${kit.bytes(t.token)} a token, ${giga(t.sequence)} a sequence, ${giga(t.total)} in all, `
    + `which ${t.fits ? "fits into" : "is more than"} ${giga(t.budget)}. ${shared}. The budget holds ${kit.plural(t.room, "token")}: `
    + `${kit.plural(s.batch, "sequence")} of ${kit.count(t.longest)}. One layer's scores, were they stored for one sequence, would take ${giga(t.scores)}.`;
}

const {label, picture} = kit;

// the cache against the budget, one piece a sequence where pieces can be told apart
function bar(s, t, width) {
  const most = Math.max(t.total, t.budget), scale = (width - 4) / most, edge = 2 + t.budget * scale, piece = t.sequence * scale, kids = [];
  const pieces = piece >= 4 ? s.batch : 1, w = t.total * scale / pieces;
  for (let n = 0; n < pieces; n++) {
    kids.push(kit.svg("rect", {x: 2 + n * w, y: 20, width: w, height: 30, fill: "var(--tl-memory, #0072b2)", "fill-opacity": .75, stroke: "currentColor", "stroke-width": .6}));
  }
  kids.push(kit.svg("rect", {x: 2, y: 20, width: edge - 2, height: 30, fill: "none", stroke: "currentColor", "stroke-dasharray": "3 3"}),
    kit.svg("line", {x1: edge, x2: edge, y1: 16, y2: 56, stroke: "currentColor", "stroke-width": 2}),
    label(Math.min(edge, width - 2), 12, `budget: ${giga(t.budget)}`, edge > width / 2 ? "end" : "start"),
    label(2, 68, `cache: ${giga(t.total)}${t.fits ? "" : ", too much"}`));
  return picture(width, 74, ...kids);
}

function render({model, el}) {
  let s = {...model.get("settings")}, width = 640;
  const pictures = kit.el("div"), live = kit.live();
  const draw = t => pictures.replaceChildren(bar(s, t, width));
  const update = change => {
    s = {...s, ...change};
    const t = trace(s);
    if (change) { model.set("settings", s); model.save_changes(); }
    draw(t);
    live.textContent = summary(s, t);
  };
  const choose = (text, name, options) => kit.select({label: text, options, value: s[name], on: v => update({[name]: v})});
  const slide = (text, name, show = kit.count) => kit.slider({label: text, values: CHOICES[name], value: s[name], show, on: v => update({[name]: v})});
  const controls = kit.el("div", {class: "tlw-controls"},
    choose("model", "model", kit.names(MODELS)),
    choose("keys and values", "sharing", CHOICES.sharing.map(v => [v, SHARING[v]])), slide("tokens in a sequence", "seq"), slide("sequences", "batch"),
    choose("element", "elem_bytes", CHOICES.elem_bytes.map(n => [n, n === 2 ? "16 bits" : "8 bits"])), slide("budget", "budget", n => `${n} GB`));
  update();
  el.append(kit.frame("Cache calculator", controls, pictures, live));
  kit.fitted(pictures, 240, 640, now => { width = now; draw(trace(s)); });
}

export default {render, trace, summary};
