// The answer box. `judge` is the twin of threeledgers/exercises/answers.py: same data, same messages, same verdicts.
const FACTOR = "[+-]?(?:\\d{1,3}(?:,\\d{3})+|\\d+(?:_\\d+)*)?(?:\\.\\d+)?(?:[eE][+-]?\\d+)?";
const TERM = new RegExp(`^\\s*(${FACTOR})\\s*(?:(?:\\*\\*|\\^)\\s*(${FACTOR}))?\\s*`);
class Unreadable extends Error {}

function say(key, data, values = {}) {
  let text = A.messages[key];
  for (const [name, value] of Object.entries({example: data.example ?? "", because: data.because ?? "", shown: data.shown ?? "", ...values}))
    text = text.replaceAll(`{${name}}`, () => String(value));
  return text.trim();
}
const fail = (...words) => { throw new Unreadable(say(...words)); };

function number(text) { return /\d/.test(text ?? "") ? parseFloat(text.replaceAll(",", "").replaceAll("_", "")) : null; }

function quantity(text) {
  let total = null, rest = text, sign = "*";
  for (;;) {
    const match = TERM.exec(rest), base = number(match[1]), power = match[2] === undefined ? undefined : number(match[2]);
    if (base === null || power === null) return [null, rest];
    const factor = power === undefined ? base : Math.pow(base, power);
    total = total === null ? factor : sign === "*" ? total * factor : total / factor;
    rest = rest.slice(match[0].length);
    if (rest[0] !== "*" && rest[0] !== "/") return [total, rest];
    sign = rest[0];
    rest = rest.slice(1);
  }
}

function scalar(data, text) {
  const [value, rest] = quantity(text), unit = rest.trim();
  if (value === null) fail("text", data);
  if (!unit) return value;
  if (!/^[%A-Za-zµμ/]+$/.test(unit)) fail("text", data);
  const known = A.units[unit.replaceAll("μ", "µ")];
  if (!known) fail("unit", data, {unit});
  if (known[0] !== data.unit) fail(data.unit === "1" ? "count" : "dimension", data, {base: data.unit, unit});
  return value * known[1];
}

function numbers(data, answer) {
  let text = answer.replaceAll("\u00a0", " ").replaceAll("\u202f", " ").replaceAll("−", "-").replaceAll("×", "*").trim();
  if (!text) fail("empty", data);
  let parts = [text];
  if (data.tuple) {
    text = text.replace(/^[([]|[)\]]$/g, "").trim();
    parts = text.split(/\s*,\s*|\s+/).filter(p => p);
  }
  const values = parts.map(part => scalar(data, part));
  if (values.length !== data.answer.length) fail(data.tuple ? "length" : "one", data, {want: data.answer.length, got: values.length});
  if (!values.every(Number.isFinite)) fail("finite", data);
  return values;
}

function letters(data, answer) {
  const chosen = answer.split(/[\s,;>]+/).map(k => k.replace(/^[ ().]+|[ ().]+$/g, "").toLowerCase()).filter(k => k);
  if (!chosen.length) fail("empty", data);
  const known = data.options.map(o => o.letter);
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
    const values = numbers(data, answer), first = data.answer[0];
    if (data.kind === "guess") {
      if (values[0] <= 0) fail("positive", data);
      const ratio = values[0] / first, tenths = Math.floor(10 * Math.max(ratio, 1 / ratio) + 0.5);
      const factor = tenths < 1e9 ? `${Math.floor(tenths / 10)}.${tenths % 10}` : "more than 100 million";
      return verdict("guessed", say(ratio === 1 ? "exactly" : "off", data, {factor}));
    }
    const close = (value, target) => data.exact ? value === target : Math.abs(value - target) <= A.tolerance * Math.abs(target);
    return decide(target => values.every((v, n) => close(v, target[n])),
      () => say(data.tuple ? "wrong" : values[0] < first ? "low" : "high", data));
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

export default {render, judge};
