// The reader's GPU, kept in this browser; printing with or without solutions; search straight from the disk and without TeX;
// what scrolls by itself can be reached by Tab.
(() => {
  // from file:// a page cannot read another one, so results come without their lines of text
  if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

  // a formula stands in a page twice, for eyes and for listeners: one line of a result needs it once, and without its TeX
  document.addEventListener("DOMContentLoaded", () => { // the search's own script comes after this one
    if (typeof Search === "undefined") return;
    const text = Search.htmlToText;
    Search.htmlToText = (html, anchor) => text(html.replace(/<span class="katex-mathml">.*?<\/math><\/span>/gs, ""), anchor);
  });

  const KEY = "threeledgers.gpu", CARD = "threeledgers.card", OWN = "own";
  const select = document.getElementById("tl-gpu"), note = document.getElementById("tl-gpu-note");
  const kept = () => { try { return localStorage.getItem(KEY) ?? ""; } catch { return ""; } };
  // a card of the reader's own: card.js reads its file, and is asked for only when there is one
  const own = () => { try { return JSON.parse(localStorage.getItem(CARD)); } catch { return null; } };
  const offer = () => {
    const card = own();
    select.querySelector(`option[value=${OWN}]`)?.remove();
    if (card) select.append(new Option(`${card.name} (your file)`, OWN));
  };
  const reader = () => window.tlCard ?? new Promise((done, fail) => {
    const script = document.createElement("script");
    script.src = file.dataset.reader;
    script.onload = () => done(window.tlCard);
    script.onerror = () => fail(new Error("the script that reads cards did not load"));
    document.head.append(script);
  });
  const LARGEST = 1e6; // bytes; as in threeledgers/specs/own.py
  const take = async given => {
    try {
      if (given.size > LARGEST) throw new Error(`${given.name} has ${given.size.toLocaleString("en-US")} bytes; a TOML file of at most ${LARGEST.toLocaleString("en-US")} is needed`);
      const card = (await reader()).read(await given.text(), given.name);
      if (card.fault) throw new Error(card.fault);
      try { localStorage.setItem(CARD, JSON.stringify(card)); localStorage.setItem(KEY, OWN); } catch { throw new Error("This browser keeps nothing, so a card of yours cannot be kept."); }
      offer();
      select.value = OWN;
      const count = Object.keys(card.numbers).length;
      note.textContent = `${card.name}: ${count} number${count === 1 ? "" : "s"} kept in this browser and sent nowhere. Widgets that need no others begin with it.`;
      document.dispatchEvent(new CustomEvent("tl-gpu", {detail: OWN}));
    } catch (error) { note.textContent = error.message; }
    file.value = ""; // the same file, mended, is a new choice
  };
  const file = document.getElementById("tl-card");
  if (select) {
    offer();
    select.value = kept();
    if (select.selectedIndex < 0) select.value = "";
    select.addEventListener("change", () => {
      try {
        if (select.value) localStorage.setItem(KEY, select.value); else localStorage.removeItem(KEY);
        if (!select.value) { localStorage.removeItem(CARD); offer(); }
        note.textContent = select.value ? "Kept in this browser. Widgets begin with it." : "Forgotten.";
      } catch { note.textContent = "This browser keeps nothing: it holds for this page."; }
      document.dispatchEvent(new CustomEvent("tl-gpu", {detail: select.value}));
    });
    file.addEventListener("change", () => { if (file.files[0]) take(file.files[0]); });
    const place = select.closest("section"), over = on => place.classList.toggle("tl-over", on);
    place.addEventListener("dragover", e => { if (e.dataTransfer.types.includes("Files")) { e.preventDefault(); over(true); } });
    place.addEventListener("dragleave", () => over(false));
    place.addEventListener("drop", e => { over(false); if (e.dataTransfer.files[0]) { e.preventDefault(); take(e.dataTransfer.files[0]); } });
  }

  // the theme asks and writes one after the other, and so lays out the page many times; here all are asked, then all are written
  const scrolls = new ResizeObserver(changed => {
    const wide = changed.map(({target: e}) => e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight);
    changed.forEach(({target}, i) => { target.tabIndex = wide[i] ? 0 : -1; });
  });
  for (const e of document.querySelectorAll("#main-content :is(pre, .cell_output > .output, .pst-scrollable-table-container)")) scrolls.observe(e);

  // in print: a light page, tables of widgets open, solutions and committed guesses only when asked for
  const root = document.documentElement;
  let opened = [], shown = [], theme;
  const open = selector => {
    for (const d of document.querySelectorAll(selector)) if (!d.open) { d.open = true; opened.push(d); }
  };
  window.tlPrint = solutions => {
    root.dataset.print = solutions ? "solutions" : "questions";
    window.print();
  };
  window.addEventListener("beforeprint", () => {
    theme ??= root.dataset.theme;
    root.dataset.theme = "light";
    open("article details.tl-table");
    if (root.dataset.print !== "solutions") return;
    open("article details.sd-dropdown");
    for (const box of document.querySelectorAll("article .toggle-hidden")) { box.classList.remove("toggle-hidden"); shown.push(box); }
  });
  window.addEventListener("afterprint", () => {
    for (const d of opened) d.open = false;
    for (const box of shown) box.classList.add("toggle-hidden");
    if (theme) root.dataset.theme = theme;
    opened = []; shown = []; theme = undefined;
    delete root.dataset.print;
  });
})();
