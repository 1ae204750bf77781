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

  const KEY = "threeledgers.gpu";
  const select = document.getElementById("tl-gpu"), note = document.getElementById("tl-gpu-note");
  const kept = () => { try { return localStorage.getItem(KEY) ?? ""; } catch { return ""; } };
  if (select) {
    select.value = kept();
    if (select.selectedIndex < 0) select.value = "";
    select.addEventListener("change", () => {
      try {
        if (select.value) localStorage.setItem(KEY, select.value); else localStorage.removeItem(KEY);
        note.textContent = select.value ? "Kept in this browser. Widgets begin with it." : "Forgotten.";
      } catch { note.textContent = "This browser keeps nothing: it holds for this page."; }
      document.dispatchEvent(new CustomEvent("tl-gpu", {detail: select.value}));
    });
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
