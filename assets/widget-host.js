// Shows the book's widgets on a static page: no kernel, no CDN, also from file://. It reads the widget state that the
// notebook left in the page, imports each widget's module from a Blob and calls its render({model, el}).
(() => {
  const STATE = 'script[type="application/vnd.jupyter.widget-state+json"]';
  const VIEW = 'script[type="application/vnd.jupyter.widget-view+json"]';

  // what a widget sees of its model; without a kernel, saving changes nothing
  class Model {
    constructor(state) { this.state = state; this.handlers = new Map(); }
    get(key) { return this.state[key]; }
    set(key, value) {
      const changes = typeof key === "object" ? key : {[key]: value};
      const changed = Object.keys(changes).filter(name => this.state[name] !== changes[name]);
      for (const name of changed) this.state[name] = changes[name];
      for (const name of changed) this.emit(`change:${name}`, this, this.state[name]);
      if (changed.length) this.emit("change", this);
    }
    save_changes() {}
    send() {}
    on(names, handler) { for (const name of names.split(" ")) this.handlers.set(name, [...(this.handlers.get(name) ?? []), handler]); }
    off(names, handler) {
      if (!names) return this.handlers.clear();
      for (const name of names.split(" ")) this.handlers.set(name, (this.handlers.get(name) ?? []).filter(h => handler && h !== handler));
    }
    emit(name, ...values) { for (const handler of this.handlers.get(name) ?? []) handler(...values); }
  }

  const loaded = new Map();
  function load(source) {
    if (!loaded.has(source)) {
      const url = URL.createObjectURL(new Blob([source], {type: "text/javascript"}));
      loaded.set(source, import(url).finally(() => URL.revokeObjectURL(url)));
    }
    return loaded.get(source);
  }

  async function show(view, states, modules) {
    const {state, model_module: kind} = states[JSON.parse(view.textContent).model_id] ?? {};
    const el = document.createElement("div");
    el.className = "tl-widget";
    view.replaceWith(el);
    try {
      if (kind !== "anywidget") { // a stock control: the picture above it shows its first values
        el.textContent = "Controls: they work in the running notebook (download it above).";
        return;
      }
      const module = await load(modules[state._esm]);
      const definition = module.default ?? module, model = new Model(structuredClone(state)), signal = new AbortController().signal;
      await definition.initialize?.({model, signal});
      await definition.render({model, el, signal});
    } catch (error) {
      el.setAttribute("role", "alert");
      el.textContent = `This widget could not start (${error.message}). Where a table follows, it holds the same numbers.`;
      console.error(error);
    }
  }

  async function main() {
    const tag = document.querySelector(STATE);
    if (tag) {
      const {state: states, modules} = JSON.parse(tag.textContent);
      for (const view of document.querySelectorAll(VIEW)) { // one at a time, from the top, with room between for the reader's own keys
        await show(view, states, modules);
        await new Promise(done => setTimeout(done));
      }
    }
    document.documentElement.dataset.widgets = "ready";
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", main); else main();
})();
