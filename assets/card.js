// A card of the reader's own: its TOML is read here, held to the schema of the book's own cards, and goes nowhere.
// The one JavaScript twin of `read` in threeledgers/specs: same checks, same order, same words. SCHEMA comes from there when
// the book is built. What a card's file cannot use (dates, lists of tables, texts of several lines) is not read.
globalThis.tlCard = (() => {
  class Fault extends Error {}
  class Float extends Number {} // Python writes 4.0 and 4 differently

  // ---- TOML
  function parse(text) {
    const root = new Map(), closed = new Set(), headers = new Set();
    let at = 0, table = root;
    const fail = why => {
      const line = text.slice(0, at).split("\n").length;
      throw new Fault(`not valid TOML: ${why} (at line ${line})`);
    };
    const take = pattern => {
      pattern.lastIndex = at;
      const found = pattern.exec(text);
      if (found) at += found[0].length;
      return found;
    };
    const gap = () => take(/[ \t]*/y), between = () => take(/(?:\s|#[^\n]*)*/y);
    const end = () => { if (!take(/[ \t]*(?:#[^\n]*)?(?:\r?\n|$)/y)) fail("a new line is needed"); };

    const ESCAPES = {b: "\b", t: "\t", n: "\n", f: "\f", r: "\r", '"': '"', "\\": "\\"};
    function string() {
      if (/"""|'''/.test(text.slice(at, at + 3))) fail("texts of several lines are not read here");
      const literal = take(/'([^'\n]*)'/y);
      if (literal) return literal[1];
      const basic = take(/"((?:[^"\\\n]|\\.)*)"/y);
      if (!basic) fail("a text does not end");
      return basic[1].replace(/\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))/gs, (_, four, eight, one) => {
        if (four || eight) { try { return String.fromCodePoint(parseInt(four ?? eight, 16)); } catch { fail("no such character"); } }
        return ESCAPES[one] ?? fail("an unknown escape in a text");
      });
    }
    const quoted = () => text[at] === '"' || text[at] === "'";
    function path() {
      const keys = [];
      do { gap(); keys.push(quoted() ? string() : (take(/[A-Za-z0-9_-]+/y) ?? fail("a key is needed"))[0]); gap(); } while (take(/\./y));
      return keys;
    }
    // the table that a dotted key leads to
    const inside = (from, keys) => keys.reduce((now, key) => {
      if (!now.has(key)) now.set(key, new Map());
      const next = now.get(key);
      if (!(next instanceof Map) || closed.has(next)) fail(`${key} is no table that can grow`);
      return next;
    }, from);
    function pair(into) {
      const keys = path(), last = keys.pop();
      if (!take(/=/y)) fail("an = is needed after the key");
      gap();
      const home = inside(into, keys), found = value();
      if (home.has(last)) fail(`${last} is there twice`);
      home.set(last, found);
    }
    function value() {
      if (quoted()) return string();
      if (take(/\{/y)) {
        const made = new Map();
        gap();
        if (!take(/\}/y)) do { pair(made); gap(); } while (take(/,/y) ?? (take(/\}/y) ? null : fail("a , or } is needed")));
        closed.add(made);
        return made;
      }
      if (take(/\[/y)) {
        const made = [];
        for (between(); !take(/\]/y); between()) {
          made.push(value());
          between();
          if (!take(/,/y) && text[at] !== "]") fail("a , or ] is needed");
        }
        return made;
      }
      const word = take(/[^\s,#\]}]+/y)?.[0] ?? fail("a value is needed");
      if (word === "true" || word === "false") return word === "true";
      if (/^[+-]?(inf|nan)$/.test(word)) return new Float(word.endsWith("nan") ? NaN : word[0] === "-" ? -Infinity : Infinity);
      const digits = word.replaceAll(/(?<=[0-9a-fA-F])_(?=[0-9a-fA-F])/g, "");
      if (/^(0x[0-9a-fA-F]+|0o[0-7]+|0b[01]+)$/.test(digits) || /^[+-]?(0|[1-9]\d*)$/.test(digits)) {
        return Number.isSafeInteger(Number(digits)) ? Number(digits) : BigInt(digits);
      }
      if (/^[+-]?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(digits)) return new Float(digits);
      return fail(`${word} is no value that is read here`);
    }

    for (between(); at < text.length; between()) {
      if (take(/\[\[/y)) fail("lists of tables are not read here");
      if (take(/\[/y)) {
        const keys = path();
        if (!take(/\]/y)) fail("a ] is needed");
        table = inside(root, keys);
        if (headers.has(table)) fail(`[${keys.join(".")}] is there twice`);
        headers.add(table);
      } else pair(table);
      end();
    }
    return root;
  }

  // ---- how Python would write it
  function repr(value) {
    if (typeof value === "string") {
      const quote = value.includes("'") && !value.includes('"') ? '"' : "'";
      const inner = JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"');
      return quote + (quote === "'" ? inner.replaceAll("'", "\\'") : inner) + quote;
    }
    if (typeof value === "boolean") return value ? "True" : "False";
    if (value instanceof Map) return `{${[...value].map(([key, v]) => `${repr(key)}: ${repr(v)}`).join(", ")}}`;
    if (typeof value === "bigint") return String(value);
    if (Array.isArray(value)) return `[${value.map(repr).join(", ")}]`;
    const n = Number(value), exponent = n && isFinite(n) ? Math.floor(Math.log10(Math.abs(n))) : 0;
    if (Number.isNaN(n)) return "nan";
    if (!isFinite(n)) return n > 0 ? "inf" : "-inf";
    if (!(value instanceof Float)) return String(n);
    if (exponent < -4 || exponent >= 16) return n.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
    return Number.isInteger(n) ? `${n}.0` : String(n);
  }

  // ---- the schema
  const sorted = keys => [...keys].sort((a, b) => (a < b ? -1 : 1));
  const isText = value => typeof value === "string" && value !== "";
  function check(data) {
    const fail = why => { throw new Fault(why); };
    const texts = SCHEMA.texts, extra = sorted([...data.keys()].filter(key => ![...texts, "sources", "numbers"].includes(key)));
    if (extra.length) fail(`unknown key ${extra.join(", ")}; a gpu has ${texts.join(", ")}, sources, numbers`);
    for (const key of texts) if (!isText(data.get(key))) fail(`${key} must be a text`);
    const sources = data.get("sources") ?? new Map(), numbers = data.get("numbers");
    if (!(sources instanceof Map) || ![...sources.values()].every(isText)) fail("[sources] must hold texts that say where numbers were read");
    if (!(numbers instanceof Map) || !numbers.size) fail("[numbers] is empty");
    const needed = ["value", "unit", "source"], may = Object.keys(SCHEMA.optional);
    for (const [field, entry] of numbers) {
      const unit = Object.hasOwn(SCHEMA.fields, field) ? SCHEMA.fields[field] : null;
      if (unit === null) fail(`${field} is not a field of a gpu; fields are ${Object.keys(SCHEMA.fields).join(", ")}`);
      const keys = entry instanceof Map ? [...entry.keys()] : [];
      if (!needed.every(key => keys.includes(key)) || keys.some(key => ![...needed, ...may].includes(key))) {
        fail(`${field} needs value, unit and source, and may have ${may.join(" and ")}; got ${repr(entry)}`);
      }
      for (const [key, kind] of Object.entries({unit: "str", source: "str", ...SCHEMA.optional})) {
        const told = entry.get(key);
        if (told !== undefined && typeof told !== (kind === "str" ? "string" : "boolean")) {
          fail(`${field}: ${key} = ${repr(told)} must be ${kind === "str" ? "a text" : "true or false"}`);
        }
      }
      const value = entry.get("value"), number = ["number", "bigint"].includes(typeof value) || value instanceof Float;
      if (!number || !(value > 0 && value < Infinity)) {
        fail(`${field} = ${repr(value)}: a finite positive number is needed; leave the field out when it is unknown`);
      }
      if (value > SCHEMA.largest) fail(`${field} = ${repr(value).slice(0, 40)}: at most ${SCHEMA.largest_text} is believed`);
      if (entry.get("unit") !== unit) fail(`${field} is in ${unit}, not ${repr(entry.get("unit"))}`);
      if (!sources.has(entry.get("source"))) {
        fail(`${field}: source ${repr(entry.get("source"))} is not under [sources]; there are ${[...sources.keys()].join(", ") || "none"}`);
      }
    }
    return {name: data.get("name"), numbers: Object.fromEntries([...numbers].map(([field, entry]) => [field, Number(entry.get("value"))]))};
  }

  // {name, numbers: {field: value}} of a file's text, or {fault: one sentence that names file and field}
  function read(text, file) {
    try { return check(parse(text)); } catch (error) {
      if (error instanceof Fault) return {fault: `${file}: ${error.message}`};
      if (error instanceof RangeError) return {fault: `${file}: not valid TOML: it is nested too deeply`};
      throw error;
    }
  }
  return {read};
})();
