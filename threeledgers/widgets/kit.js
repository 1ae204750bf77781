// What every widget is made of: elements, controls, numbers. Nothing here touches the page until it is called.
const kit = (() => {
  const SVG = "http://www.w3.org/2000/svg"; // a name, not an address: nothing is fetched
  const make = (node, attributes, kids) => {
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...kids.filter(kid => kid !== null && kid !== undefined));
    return node;
  };
  const el = (tag, attributes, ...kids) => make(document.createElement(tag), attributes, kids);
  const svg = (tag, attributes, ...kids) => make(document.createElementNS(SVG, tag), attributes, kids);

  const CSS = `
    .tlw { border: 1px solid color-mix(in srgb, currentColor 30%, transparent); border-radius: 6px; padding: .7rem .9rem; margin: .5rem 0; color: inherit; }
    .tlw-controls { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: .5rem 1rem; margin-bottom: .6rem; }
    .tlw label { display: block; font-size: .85rem; }
    .tlw input:not([type=checkbox]), .tlw select, .tlw button { font: inherit; max-width: 100%; box-sizing: border-box; color: inherit; background: transparent;
      border: 1px solid color-mix(in srgb, currentColor 55%, transparent); border-radius: 4px; padding: .15rem .4rem; }
    .tlw select option { color: #111; background: #fff; }
    .tlw input[type=range] { width: 100%; padding: 0; accent-color: var(--tl-memory, #0072b2); }
    .tlw button { cursor: pointer; padding: .15rem .8rem; }
    .tlw :is(input, select, button):focus-visible { outline: 2px solid var(--tl-memory, #0072b2); outline-offset: 2px; }
    .tlw-live { margin: .5rem 0 0; } .tlw-live:empty { display: none; }
    .tlw svg { display: block; width: 100%; height: auto; overflow: visible; }
    .tlw svg text { fill: currentColor; font-size: 9px; }
    .tlw code { background: none; border: 0; padding: 0; color: inherit; overflow-wrap: anywhere; }
    .tlw-row { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }`;

  let serial = 0;
  const id = () => `tlw-${++serial}-${Math.random().toString(36).slice(2, 8)}`;

  // a slider over a list of values; Home, End and the arrow keys come from the browser
  const slider = ({label, values, value, show = String, on}) => {
    const key = id();
    const read = el("span", {}, show(value));
    const text = v => { read.textContent = show(v); input.setAttribute("aria-valuetext", show(v)); };
    const input = el("input", {id: key, type: "range", min: 0, max: values.length - 1, value: Math.max(0, values.indexOf(value)),
      oninput: () => { text(values[input.value]); on(values[input.value]); }});
    text(value);
    return el("div", {}, el("label", {for: key}, label + ": ", read), input);
  };
  const select = ({label, options, value, on}) => {
    const key = id();
    const input = el("select", {id: key, onchange: () => on(options[input.selectedIndex][0])},
      ...options.map(([v, text]) => el("option", {selected: String(v) === String(value)}, text)));
    return el("div", {}, el("label", {for: key}, label), input);
  };
  const text = ({label, value, on}) => {
    const key = id();
    const input = el("input", {id: key, type: "text", value, autocomplete: "off", spellcheck: "false", oninput: () => on(input.value)});
    return el("div", {}, el("label", {for: key}, label), input);
  };
  const checkbox = ({label, value, on}) => {
    const input = el("input", {type: "checkbox", checked: value, onchange: () => on(input.checked)});
    return el("label", {}, input, " " + label);
  };
  const live = () => el("p", {class: "tlw-live", role: "status", "aria-live": "polite"});
  // keys stay in the widget: JupyterLab would take arrows and letters for commands on cells
  const frame = (name, ...kids) => el("div", {class: "tlw", role: "group", "aria-label": name, onkeydown: e => e.stopPropagation()},
    el("style", {}, CSS), ...kids);
  const kept = key => { try { return localStorage.getItem(key); } catch { return null; } };
  // [id, name] of each entry, as a select wants its options
  const names = table => Object.entries(table).map(([id, {name}]) => [id, name]);
  // a card of the reader's own (assets/card.js has read it) joins a table of cards and its ids, where it has every number that the
  // table holds; `fields`: key of the table -> field of a card
  const own = (table, known, fields) => {
    delete table.own;
    if (known.at(-1) === "own") known.pop();
    try {
      const {name, numbers} = JSON.parse(kept("threeledgers.card"));
      const held = Object.entries(fields).map(([key, field]) => [key, numbers[field]]);
      if (!held.every(([, value]) => value > 0 && value < Infinity)) return;
      table.own = {name: String(name), ...Object.fromEntries(held)};
      known.push("own");
    } catch { /* none is kept */ }
  };
  // the control for a card of a table, and the card it begins with: the one that the reader said is theirs (assets/site.js keeps
  // it), where the table has it, else `first`; and word when that changes
  const card = ({label, table, known, fields, first, on}) => {
    own(table, known, fields);
    const mine = kept("threeledgers.gpu"), options = names(table);
    let value = known.includes(mine) ? mine : first;
    const control = select({label, options, value, on: id => on(value = id)});
    document.addEventListener("tl-gpu", ({detail}) => {
      own(table, known, fields);
      options.splice(0, Infinity, ...names(table));
      const next = known.includes(detail) ? detail : known.includes(value) ? value : first;
      control.querySelector("select").replaceChildren(...options.map(([id, text]) => el("option", {selected: id === next}, text)));
      if (next !== value || next === "own") on(value = next);
    });
    return [control, value];
  };
  // a setting outside its list is refused by name
  const check = (settings, choices) => {
    for (const [name, accepted] of Object.entries(choices)) {
      if (!accepted.includes(settings[name])) throw new Error(`${name} is ${JSON.stringify(settings[name])}: it must be one of ${accepted.join(", ")}`);
    }
  };
  // one unit of a picture is one pixel, whatever the width, so that text keeps its size on a phone
  const label = (x, y, text, anchor = "start", more) => svg("text", {x, y, "text-anchor": anchor, style: "font-size: 12px", ...more}, text);
  const picture = (width, height, ...kids) => svg("svg", {viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true",
    style: `max-width: ${width}px; margin-top: .4rem`}, ...kids);
  // calls draw(width) whenever the room for pictures that were drawn at `most` pixels changes
  const fitted = (pictures, least, most, draw) => {
    let width = most;
    new ResizeObserver(([{contentRect}]) => {
      const now = Math.round(Math.min(most, Math.max(least, contentRect.width)));
      if (contentRect.width && now !== width) { width = now; requestAnimationFrame(() => draw(width)); }
    }).observe(pictures);
  };
  const count = n => n.toLocaleString("en-US");
  const bytes = n => `${count(n)} ${n === 1 ? "byte" : "bytes"}`;
  const plural = (n, one) => `${count(n)} ${one}${n === 1 ? "" : "s"}`;
  return {el, svg, id, slider, select, text, checkbox, live, frame, card, names, check, label, picture, fitted, count, bytes, plural};
})();
