// The answer box. `judge` is the twin of threeledgers/exercises/answers.py and reading.py: same data, messages, verdicts.
const READ_AS = A.readAs.map(([characters, meant]) => [new RegExp(characters, "gu"), meant]);
const RAISED = new RegExp(`[${A.raised}]+`, "g");
class Unreadable extends Error {}

function say(key, data, values = {}) {
  const known = {example: data.example ?? "", because: data.because ?? "", shown: data.shown ?? "", ...values};
  return A.messages[key].replace(/\{([a-z]+)\}/g, (blank, name) => String(known[name])).replace(/^ +| +$/g, "");
}
const fail = (...words) => { throw new Unreadable(say(...words)); };

function plain(data, typed) {
  if ([...typed.slice(0, 2 * A.longest + 2)].length > A.longest) fail("long", data, {most: A.longest});
  let text = typed.replace(/[\uff01-\uff5e]/g, c => String.fromCharCode(c.charCodeAt(0) - 0xfee0));
  text = text.replace(RAISED, run => "^" + [...run].map(c => "0123456789-"[A.raised.indexOf(c)]).join(""));
  for (const [characters, meant] of READ_AS) text = text.replace(characters, meant);
  text = text.replace(/^ +| +$/g, "");
  if (!text) fail("empty", data);
  return text;
}

const finite = (data, value) => Number.isFinite(value) ? value : fail("finite", data);
const base = data => A.units[data.unit] ?? [data.unit, 1];

function split(data, typed) {
  const text = typed.replace(/ ?\.$/, "").replace(/^[(\[] ?| ?[)\]]$/g, "");
  let parts = [text];
  if (/;| and /.test(text)) parts = text.split(/ ?; ?|,? and /);
  else if (/, | ,/.test(text)) parts = text.split(/ ?, | ,/);
  else if (data.tuple && text.includes(",")) {
    parts = text.split(",");
    if (parts.some(part => /^0[0-9]/.test(part))) fail("digits", data, {typed: text});
  } else if (data.tuple) parts = text.split(/ (?=[+-]?[.0-9])/);
  parts = parts.filter(part => part);
  return parts.length ? parts : fail("text", data);
}

function quantity(data, text) {
  let [total, rest] = power(data, text);
  while (rest[0] === "*" || rest[0] === "/") {
    const [value, after] = power(data, rest.slice(1));
    total = finite(data, rest[0] === "*" ? total * value : total / value);
    rest = after;
  }
  if (!rest) return [total, null];
  if (!/^[%A-Za-zµ/]+$/.test(rest)) fail("text", data);
  if (!Object.prototype.hasOwnProperty.call(A.units, rest)) fail("unit", data, {unit: rest});
  if (A.units[rest][0] !== base(data)[0]) fail(data.unit === "1" ? "count" : "dimension", data, {base: data.unit, unit: rest});
  return [total, rest];
}

function power(data, text) {
  const [, sign, unsigned] = /^ ?([+-]?) ?(.*)$/.exec(text);
  const digits = /^[.0-9](?:[0-9.,'_ ]*[.0-9])?/.exec(unsigned)?.[0] ?? "";
  if (!/[0-9]/.test(digits)) fail("text", data);
  if (!/^(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|[0-9]+(?:_[0-9]+)*)?(?:\.[0-9]*)?$/.test(digits)) fail("digits", data, {typed: digits});
  const [, exponent = "", raise, after] = /^([eE][+-]?[0-9]+)? ?(\*\*|\^)?(.*)$/.exec(unsigned.slice(digits.length));
  let value = finite(data, parseFloat(digits.replace(/[,_]/g, "") + exponent)), rest = after;
  if (raise) {
    const [by, beyond] = power(data, after);
    value = finite(data, Math.pow(value, by));
    rest = beyond;
  }
  return [sign === "-" ? -value : value, rest];
}

function numbers(data, answer) {
  const parts = split(data, plain(data, answer));
  if (parts.length !== data.answer.length) fail(data.tuple ? "length" : "one", data, {want: data.answer.length, got: parts.length});
  const pairs = parts.map(part => quantity(data, part));
  let units = pairs.map(([, unit]) => unit);
  const last = units[units.length - 1];
  if (!units.slice(0, -1).some(unit => unit)) units = units.map(() => last);
  else if (!units.every(unit => unit)) fail("bare", data);
  const values = pairs.map(([v], n) => units[n] === null ? v : finite(data, v * A.units[units[n]][1] / base(data)[1]));
  return [values, !units.some(unit => unit)];
}

function otherUnits(data) {
  const [unit, scale] = base(data);
  if (unit === "1") return data.shown.includes("%") ? [0.01] : [];
  return Object.values(A.units).filter(([name]) => name === unit).map(([, factor]) => factor / scale);
}

function letters(data, answer) {
  const words = plain(data, answer).split(/[ ,;>()[\]{}]+/).map(w => w.replace(/^[.'"`]+|[.'"`]+$/g, "").replace(/[A-Z]/g, c => c.toLowerCase()));
  const chosen = words.filter(w => w && w !== "and"), known = data.options.map(o => o.letter);
  if (!chosen.length) fail("empty", data);
  for (const option of chosen) if (!known.includes(option)) fail("option", data, {option, options: [...known].sort().join(", ")});
  if (data.kind === "ordering") {
    if ([...chosen].sort().join() !== [...known].sort().join()) fail("every", data);
    return chosen;
  }
  return [...new Set(chosen)].sort();
}

function judge(data, answer) {
  const verdict = (status, message, trap = null) => ({id: data.id, status, message, trap});
  const decide = (same, otherwise) => {
    if (same(data.answer)) return verdict("right", say("right", data));
    const trap = data.traps.findIndex(t => same(t.value));
    return trap >= 0 ? verdict("wrong", data.traps[trap].hint, trap) : verdict("wrong", otherwise());
  };
  try {
    if (data.kind === "choice" || data.kind === "ordering") {
      const chosen = letters(data, answer);
      return decide(target => chosen.join() === target.join(), () => {
        const misplaced = data.kind === "ordering" ? chosen.find((c, n) => c !== data.answer[n])
          : chosen.find(k => !data.answer.includes(k)) ?? data.answer.find(k => !chosen.includes(k));
        return `${say("wrong", data)} (${misplaced}) ${data.options.find(o => o.letter === misplaced).reason}`;
      });
    }
    const [values, bare] = numbers(data, answer), first = data.answer[0];
    if (data.kind === "guess") {
      if (values[0] <= 0) fail("positive", data);
      const factor = Math.max(values[0], first) / Math.min(values[0], first), tenths = Math.floor(10 * factor + 0.5);
      if (bare && data.unit !== "1" && factor >= A.far) fail("bare", data);
      const text = factor >= 1e8 ? "more than 100 million" : `${Math.floor(tenths / 10)}.${tenths % 10}`;
      return verdict("guessed", say(factor === 1 ? "exactly" : "off", data, {factor: text}));
    }
    const close = (value, target) => data.exact ? value === target : Math.abs(value - target) <= A.tolerance * Math.abs(target);
    const same = (target, factor = 1) => values.every((v, n) => close(v * factor, target[n]));
    return decide(same, () => {
      if (bare && otherUnits(data).some(factor => [data.answer, ...data.traps.map(t => t.value)].some(target => same(target, factor)))) fail("bare", data);
      return say(data.tuple ? "wrong" : values[0] < first ? "low" : "high", data);
    });
  } catch (problem) {
    if (problem instanceof Unreadable) return verdict("unreadable", problem.message);
    throw problem;
  }
}

// progress: in this browser only
const STORE = "threeledgers.progress";
const progress = {
  all() { try { return JSON.parse(localStorage.getItem(STORE)) ?? {}; } catch { return {}; } },
  keep(verdict, answer) {
    if (verdict.status === "unreadable") return;
    const kept = progress.all(), before = kept[verdict.id];
    const status = before?.status === "right" ? "right" : verdict.status;
    kept[verdict.id] = {status, answer, tries: (before?.tries ?? 0) + 1, date: new Date().toISOString().slice(0, 10)};
    try { localStorage.setItem(STORE, JSON.stringify(kept)); } catch { return; }
    document.dispatchEvent(new Event("tl-progress"));
  },
  clear() { try { localStorage.removeItem(STORE); } catch { return; } document.dispatchEvent(new Event("tl-progress")); },
};

function renderProgress({model, el}) {
  const ids = model.get("data").ids, live = kit.live();
  const show = () => {
    const kept = progress.all(), right = ids.filter(i => kept[i]?.status === "right"), tried = ids.filter(i => kept[i]);
    live.textContent = `${right.length} of ${ids.length} right, ${tried.length} tried. Kept in this browser only.`;
  };
  const save = () => {
    const link = kit.el("a", {href: URL.createObjectURL(new Blob([JSON.stringify(progress.all(), null, 2)], {type: "application/json"})), download: "threeledgers-progress.json"});
    link.click();
    URL.revokeObjectURL(link.href);
  };
  document.addEventListener("tl-progress", show);
  el.append(kit.frame("Your progress", live, kit.el("div", {class: "tlw-row"}, kit.el("button", {type: "button", onclick: save}, "Export as JSON"),
    kit.el("button", {type: "button", onclick: progress.clear}, "Delete"))));
  show();
}

function render({model, el}) {
  const data = model.get("data");
  if (data.kind === "progress") return renderProgress({model, el});
  const live = kit.live(), key = kit.id();
  let field = () => "";
  const parts = [];
  if (data.kind === "coding") {
    parts.push(kit.el("p", {style: "margin: 0"}, "Write it in a notebook, then run ", kit.el("code", {}, `check("${data.id}", ${data.name})`), "."));
  } else if (data.kind === "choice") {
    const boxes = data.options.map(o => kit.el("input", {type: "checkbox", value: o.letter}));
    field = () => boxes.filter(b => b.checked).map(b => b.value).join(", ");
    parts.push(kit.el("fieldset", {style: "border: 0; padding: 0; margin: 0"}, kit.el("legend", {style: "font-size: .85rem"}, "Your answer: all that apply"),
      ...data.options.map((o, n) => kit.el("label", {}, boxes[n], ` (${o.letter}) `, kit.el("code", {}, o.text)))));
  } else {
    const input = kit.el("input", {id: key, type: "text", autocomplete: "off", spellcheck: "false", placeholder: data.example, style: "width: 14rem"});
    field = () => input.value;
    if (data.kind === "ordering") parts.push(kit.el("ul", {}, ...data.options.map(o => kit.el("li", {}, `(${o.letter}) ${o.text}`))));
    const unit = data.unit && data.unit !== "1" ? ` (${data.unit})` : "";
    parts.push(kit.el("label", {for: key}, data.kind === "guess" ? `Your guess${unit}` : `Your answer${unit}`), input);
  }
  const submit = event => {
    event.preventDefault();
    const answer = field(), verdict = judge(data, answer);
    live.textContent = (verdict.status === "right" ? "✓ " : verdict.status === "wrong" ? "✗ " : "") + verdict.message;
    progress.keep(verdict, answer);
    model.set("verdict", {...verdict, answer});
    model.save_changes();
  };
  const button = data.kind === "coding" ? null : kit.el("button", {type: "submit"}, data.kind === "guess" ? "Commit" : "Check");
  el.append(kit.frame(data.kind === "guess" ? "Guess" : `Exercise ${data.id}`, kit.el("form", {class: "tlw-row", onsubmit: submit}, ...parts, button), live));
}

export default {render, judge, numbers};
