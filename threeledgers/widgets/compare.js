// Compare your run: a record is read and checked as threeledgers/records.py does it, then drawn beside recorded ones. Nothing is sent.
// `parse` is the one JavaScript twin of records.parse: same order of checks, same fields.
const LARGEST = 10_000_000; // characters; a record has a few thousand
const COLOURS = ["var(--tl-memory, #0072b2)", "var(--tl-flops, #d55e00)", "currentColor"];
const DASHES = ["6 3", "2 3", "8 3 2 3", "1 4"];

const isObject = v => typeof v === "object" && v !== null && !Array.isArray(v);
const isNumber = v => typeof v === "number";
const TYPES = {object: isObject, array: Array.isArray, string: v => typeof v === "string", number: isNumber, integer: Number.isInteger,
  boolean: v => typeof v === "boolean", null: v => v === null};
// Python's \d and $ in a browser: digits of every script, and a line's end may stand before the end
const pattern = text => new RegExp(text.replaceAll("\\d", "\\p{Nd}").replace(/\$$/, "(?=\\n?$)"), "u");

// what each keyword of the schema, in this order, finds wrong: [path, message, name of a key that is missing or too much]
const KEYWORDS = {
  $ref: (v, ref, at, rule, root) => check(v, root.$defs[ref.split("/").at(-1)], at, root),
  type: (v, types, at) => [types].flat().some(t => TYPES[t](v)) ? [] : [[at, `must be of type ${[types].flat().join(" or ")}`]],
  const: (v, only, at) => v === only ? [] : [[at, `must be ${JSON.stringify(only)}`]],
  enum: (v, list, at) => list.includes(v) ? [] : [[at, `must be one of ${list.join(", ")}`]],
  pattern: (v, text, at) => typeof v !== "string" || pattern(text).test(v) ? [] : [[at, `must look like ${text}`]],
  minimum: (v, least, at) => !isNumber(v) || v >= least ? [] : [[at, `must be at least ${least}`]],
  exclusiveMinimum: (v, least, at) => !isNumber(v) || v > least ? [] : [[at, `must be more than ${least}`]],
  minItems: (v, least, at) => !Array.isArray(v) || v.length >= least ? [] : [[at, `must hold at least ${kit.plural(least, "item")}`]],
  additionalProperties: (v, allowed, at, rule) => {
    const extra = isObject(v) && allowed === false ? Object.keys(v).filter(k => !Object.hasOwn(rule.properties, k)).sort() : [];
    return extra.length ? [[at, "is not a field of a record", extra[0]]] : [];
  },
  required: (v, names, at) => {
    const missing = isObject(v) ? names.filter(n => !Object.hasOwn(v, n)) : [];
    return missing.length ? [[at, "is missing", missing[0]]] : [];
  },
  properties: (v, rules, at, rule, root) => isObject(v)
    ? Object.keys(rules).filter(k => Object.hasOwn(v, k)).flatMap(k => check(v[k], rules[k], [...at, k], root)) : [],
  items: (v, one, at, rule, root) => Array.isArray(v) ? v.flatMap((each, n) => check(each, one, [...at, n], root)) : [],
};

function check(value, rule, at, root) {
  return Object.keys(KEYWORDS).filter(k => Object.hasOwn(rule, k)).flatMap(k => KEYWORDS[k](value, rule[k], at, rule, root));
}

function crc32(bytes) {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >>> 1 ^ 0xedb88320 : crc >>> 1;
  }
  return ((crc ^ -1) >>> 0).toString(16).padStart(8, "0");
}
const checksum = text => crc32(new TextEncoder().encode(text.replace(/("checksum": ")([0-9a-f]*)(")/, "$1$3")));

// a record from its text: {record}, or {field, message}; field is "" where the text is no JSON
function parse(text, schema) {
  const fail = (field, message) => ({field, message: `${field || "the text"} ${message}`});
  const space = "(?:(?!\\ufeff)[\\s\\x1c-\\x1f\\x85])+"; // what Python's strip takes away
  text = text.replaceAll("\r\n", "\n").replace(new RegExp(`^${space}`), "").replace(new RegExp(`${space}$`), "");
  let record;
  try { // a bare NaN becomes a text, and so a named field; within texts, and as a key, it stays
    record = JSON.parse(text.replace(/"(?:[^"\\]|\\[^])*"|(?:-?Infinity|NaN)(?![ \t\n\r]*:)/g, word => word[0] === '"' ? word : `"${word}"`));
  } catch {
    return fail("", "is not complete JSON");
  }
  if (!isObject(record)) return fail("record", "is not a JSON object");
  const newest = schema.properties.schema.const;
  if (Number.isInteger(record.schema) && record.schema > newest)
    return fail("schema", `${record.schema} is newer than ${newest}, the newest that this page knows`);
  const order = path => `[${path.map(p => isNumber(p) ? p : `'${p}'`).join(", ")}]`;
  const problems = check(record, schema, [], schema).sort(([a], [b]) =>
    a.length - b.length || (order(a) < order(b) ? -1 : order(a) > order(b) ? 1 : 0));
  if (problems.length) {
    const [path, message, key] = problems[0], place = path.map(p => isNumber(p) ? `[${p}]` : `.${p}`).join("");
    return fail((key === undefined ? place || "record" : `${place}.${key}`).replace(/^\.+/, ""), message);
  }
  const all = [...Object.values(record.ceilings), ...record.quantities], off = all.findIndex(q => !(q.p10 <= q.median && q.median <= q.p90));
  if (off >= 0) return fail(`${all[off].name} (number ${off})`, "breaks p10 <= median <= p90");
  if (record.checksum !== checksum(text)) return fail("checksum", "does not match: the text was changed after it was written; run the lab again");
  return {record};
}

const sorted = v => Array.isArray(v) ? v.map(sorted) : isObject(v) ? Object.keys(v).sort().map(k => [k, sorted(v[k])]) : v;
const key = q => JSON.stringify([q.name, sorted(q.at)]);
const short = (x, digits = 3) => String(Number(x.toPrecision(digits)));
const PREFIXES = ["T", "G", "M", "k", "", "m", "µ", "n"].map((prefix, n) => [1000 ** (4 - n), prefix]);

function amount(q) {
  const [scale, prefix] = q.unit === "1" ? [1, ""] : PREFIXES.find(([least, p]) => q.median >= least || p === "n");
  return `${short(q.median / scale)}${q.unit === "1" ? "" : ` ${prefix}${q.unit}`}${q.verdict === "ok" ? "" : " (too noisy)"}`;
}
const where = at => Object.entries(at).map(([k, v]) => `${k} ${typeof v === "string" ? v : JSON.stringify(v)}`).join(", ");
const line = r => `${r.machine.name} · torch ${r.machine.torch} · ${r.created.slice(0, 10)} · n ≥ ${Math.min(...r.quantities.map(q => q.n))}`;

// [stride, rate over the run's own rate at stride 1], in the order of the strides
function shares(record) {
  const points = record.quantities.filter(q => q.name === "strided_bandwidth" && isNumber(q.at.stride) && q.at.stride > 0);
  const plain = points.find(q => q.at.stride === 1);
  return plain ? points.map(q => [q.at.stride, q.median / plain.median]).sort((a, b) => a[0] - b[0]) : [];
}

function told(record, prediction, others) {
  const {machine, created, lab, quantities, ceilings, run} = record;
  const said = [`Your run: ${machine.name}, torch ${machine.torch}, ${created.slice(0, 10)}${run.quick ? ", a quick run" : ""}.`];
  const mine = new Map(lab === "stride" ? shares(record) : []), both = prediction.filter(([s]) => mine.has(s));
  const [stride, share] = both.find(([s]) => s === 8) ?? both.at(-1) ?? [];
  if (stride) said.push(`At stride ${stride} it reaches ${short(mine.get(stride), 2)} of its rate at stride 1; the sector model says ${short(share, 2)}.`);
  const noisy = [...Object.values(ceilings), ...quantities].filter(q => q.verdict !== "ok").length;
  if (noisy) said.push(`${kit.plural(noisy, "quantity").replace("quantitys", "quantities")} of it ${noisy === 1 ? "is" : "are"} too noisy to rely on.`);
  if (!others) said.push(`No record exists yet for this lab${lab === "stride" ? "; only the prediction is drawn" : ""}.`);
  return said.join(" ");
}

// a marker of its own for each line, so that colour is not needed: circle, square, triangle, cross
function marker(n, x, y, colour) {
  const paths = [`M${x - 4} ${y}a4 4 0 1 0 8 0a4 4 0 1 0-8 0`, `M${x - 3.5} ${y - 3.5}h7v7h-7z`, `M${x} ${y - 4.5}l4.5 8h-9z`, `M${x - 4} ${y - 4}l8 8m0-8l-8 8`];
  return kit.svg("path", {d: paths[n % 4], fill: n === 0 ? colour : "none", stroke: colour, "stroke-width": 1.5});
}

// lines: [{name, points, yours}]; the first is the prediction where there is one
function chart(lines) {
  const points = lines.flatMap(l => l.points), xs = [...new Set(points.map(([s]) => s))].sort((a, b) => a - b);
  const style = "font-size: 11px", lowest = Math.log2(xs[0]), span = Math.log2(xs.at(-1)) - lowest || 1;
  const top = Math.max(1, ...points.map(p => p[1])), step = 0.25 * 2 ** Math.max(0, Math.ceil(Math.log2(top / 1.5))), steps = Math.ceil(top / step);
  const x = s => 48 + 340 * (Math.log2(s) - lowest) / span, y = share => 190 - 175 * share / (steps * step), kids = [];
  for (let n = 0; n <= steps; n++) {
    kids.push(kit.svg("path", {d: `M48 ${y(n * step)}h340`, stroke: "currentColor", "stroke-opacity": n ? 0.2 : 1}),
      kit.svg("text", {x: 40, y: y(n * step) + 4, "text-anchor": "end", style}, String(n * step)));
  }
  const powers = Array.from({length: Math.floor(lowest + span) - Math.ceil(lowest) + 1}, (_, n) => 2 ** (n + Math.ceil(lowest)));
  const every = Math.ceil(powers.length / 12);
  powers.filter((_, n) => n % every === 0).forEach(s => kids.push(kit.svg("text", {x: x(s), y: 205, "text-anchor": "middle", style}, short(s))));
  kids.push(kit.svg("text", {x: 218, y: 222, "text-anchor": "middle", style}, "stride (elements, log scale)"),
    kit.svg("text", {transform: "translate(11 102) rotate(-90)", "text-anchor": "middle", style}, "rate / rate at stride 1"));
  const legend = lines.map(({name, points: own, yours}, n) => {
    const shape = yours ? 0 : n % 3 + 1, colour = COLOURS[yours ? 0 : n % 2 + 1];
    const pen = {fill: "none", stroke: colour, "stroke-width": yours ? 2.5 : 1.5, "stroke-dasharray": yours ? undefined : DASHES[n % 4]};
    kids.push(kit.svg("polyline", {points: own.map(([s, share]) => `${x(s)},${y(share)}`).join(" "), ...pen, "data-line": name}),
      ...own.map(([s, share]) => marker(shape, x(s), y(share), colour)));
    const sample = kit.svg("svg", {viewBox: "0 0 44 12", style: "width: 44px; flex: none", "aria-hidden": "true"}, kit.svg("path", {d: "M0 6h44", ...pen}), marker(shape, 22, 6, colour));
    return kit.el("div", {class: "tlw-row", style: "flex-wrap: nowrap; font-size: .85rem"}, sample, kit.el("span", {}, name));
  });
  const names = `Rate over the own rate at stride 1, against the stride: ${lines.map(l => l.name).join("; ")}`;
  return [kit.svg("svg", {viewBox: "0 0 400 228", style: "max-width: 40rem", role: "img", "aria-label": names}, ...kids), ...legend];
}

function table(record, other) {
  const theirs = new Map(other.quantities.map(q => [key(q), q])), shared = record.quantities.filter(q => theirs.has(key(q)));
  if (!shared.length) return kit.el("p", {}, "The two runs share no quantity.");
  const row = (cells, tag) => kit.el("tr", {}, ...cells.map(c => kit.el(tag, {style: "padding: .1rem .6rem .1rem 0; text-align: left"}, c)));
  const rows = shared.map(q => [q, theirs.get(key(q))]).map(([q, t]) =>
    row([q.name, where(q.at), amount(q), amount(t), q.unit === t.unit ? `x${short(q.median / t.median, 2)}` : "the units differ"], "td"));
  return kit.el("div", {style: "overflow-x: auto; font-size: .85rem", tabindex: 0, role: "region", "aria-label": "Your run and the recorded one"},
    kit.el("table", {}, kit.el("thead", {}, row(["name", "at", "yours", "theirs", "yours over theirs"], "th")), kit.el("tbody", {}, ...rows)));
}

function render({model, el}) {
  const {schema, runs, prediction} = model.get("settings"), picture = kit.el("div"), beside = kit.el("div"), live = kit.live(), id = kit.id();
  const draw = (lab, own) => {
    const lines = lab === "stride" ? [{name: "prediction: sector model", points: prediction},
      ...runs.filter(r => r.lab === lab).map(r => ({name: `recorded: ${line(r)}`, points: shares(r)})), ...own].filter(l => l.points.length) : [];
    picture.replaceChildren(...lines.length ? chart(lines) : []);
  };
  const refuse = message => { picture.replaceChildren(); beside.replaceChildren(); live.textContent = `Not accepted, nothing is drawn: ${message}.`; };
  const take = text => {
    const {record, message} = text.length > LARGEST ? {message: "this is far larger than a record"} : parse(text, schema);
    if (!record) return refuse(message);
    const others = runs.filter(r => r.lab === record.lab), against = kit.el("div");
    draw(record.lab, [{name: `yours: ${line(record)}`, points: shares(record), yours: true}]);
    const show = n => against.replaceChildren(kit.el("p", {}, `Recorded: ${line(others[n])}`), table(record, others[n]));
    beside.replaceChildren(kit.el("p", {}, `Yours: ${line(record)}`));
    if (others.length) { beside.append(kit.select({label: "compare with", options: others.map((r, n) => [n, line(r)]), value: 0, on: show}), against); show(0); }
    live.textContent = told(record, prediction, others.length);
  };
  let turn = 0; // the last file wins, whatever the order in which they are read
  const open = async file => {
    const mine = ++turn;
    if (file.size > LARGEST) return refuse("this file is far larger than a record");
    let text = null;
    try { text = new TextDecoder("utf-8", {fatal: true, ignoreBOM: true}).decode(await file.arrayBuffer()); } catch { /* said below */ }
    if (mine === turn) { if (text === null) refuse("the file cannot be read as UTF-8 text"); else take(text); }
  };
  const area = kit.el("textarea", {id, rows: 4, spellcheck: "false", autocomplete: "off",
    style: "width: 100%; box-sizing: border-box; font: .8rem monospace; color: inherit; background: transparent"});
  const input = kit.el("input", {type: "file", accept: ".json,application/json", onchange: () => {
    if (input.files.length) open(input.files[0]);
    input.value = ""; // so that the same file can be chosen again
  }});
  const frame = kit.frame("Compare your run", kit.el("label", {}, "The run's file, chosen here or dropped anywhere in this box: ", input),
    kit.el("label", {for: id}, "Or its text, pasted:"), area,
    kit.el("button", {type: "button", onclick: () => { turn++; take(area.value); }}, "Compare"), live, picture, beside);
  frame.addEventListener("dragover", event => event.preventDefault());
  frame.addEventListener("drop", event => {
    const file = event.dataTransfer.files[0];
    event.preventDefault();
    if (file) open(file);
    else { turn++; take(event.dataTransfer.getData("text")); }
  });
  draw("stride", []);
  live.textContent = `No run yet: drawn are the prediction and ${kit.plural(runs.length, "recorded run")}.`;
  el.append(frame);
}

export default {render, parse, told};
