"""Pages send what they show: the scripts and styles they use, the icons and rules that occur, the letters that are set.

Scripts are chosen on Sphinx's own page context. Fonts and the style sheet (styles.py) are trimmed after the pages are written;
the pages themselves are only read. Each trimming says how much it took and stops the build when that is not what a theme of
this version gives up, so that an update cannot pass unseen.
"""

import hashlib
import json
import logging as standard_logging
import re
from pathlib import Path

from sphinx.errors import ExtensionError
from sphinx.util import logging

from _ext import keys, styles

log = logging.getLogger(__name__)
standard_logging.getLogger("fontTools").setLevel(standard_logging.WARNING)

# Part of a file's name: what the article must hold for the file to be of use.
NEEDED_FOR = {
    "togglebutton": r'class="[^"]*\b(?:dropdown|toggle)\b',
    "design-tabs": r"sd-tab-set",
    "copybutton": r'class="highlight',
    "clipboard": r'class="highlight',
}
PLAIN = re.compile(r'<span class="(?:n|nn|p|w)">([^<]*)</span>')  # names, marks and spaces of code: set like all text
WHOLE = {"search"}  # the search page runs scripts that look for one another
FIRST = "documentation_options"  # inline scripts write into what this one makes
STATE = "application/vnd.jupyter.widget-state+json"  # of the widgets: a third of a lecture
THEME = "scripts/pydata-sphinx-theme.js"
# The theme's search for what scrolls, which lays out the whole page; site.js does it piece by piece.
AT_ONCE = '"complete"===document.readyState?I():window.addEventListener("load",I)'
ICONS = "_static/vendor/fontawesome/webfonts"


def page_context(app, pagename, templatename, context, doctree):
    """Keep the scripts that this page uses, run them after the page is read, and ask for one style sheet."""
    body = context["body"] = PLAIN.sub(r"\1", context.get("body") or "")  # half the elements of a page of code
    if strange := [str(f.filename) for f in context.get("css_files", ()) if not styles.known(f.filename)]:
        raise ExtensionError(f"no style sheet of the book: {', '.join(strange)}; name it in _ext/styles.py, SHEETS")
    context["css_files"] = []
    context["tl_styles"] = f"{styles.NAME}?v={app.config.tl_site[:8]}"
    scripts = context.get("script_files", [])
    if states := [f for f in scripts if f.attributes.get("type") == STATE]:
        told = "".join(f'<script type="{STATE}">{once(f.attributes["body"])}</script>\n' for f in states)
        context["body"] = body + told
        scripts = [f for f in scripts if f not in states]
    context["script_files"] = scripts if pagename in WHOLE else [deferred(f) for f in scripts if used(f, body)]


def once(states):
    """The states of a page's widgets as JSON; code that several share stands once, in ``modules``: widget-host.js reads it."""
    told, modules = json.loads(states), {}
    for model in told["state"].values():
        if code := model["state"].get("_esm"):
            model["state"]["_esm"] = modules.setdefault(code, len(modules))
    return json.dumps(told | {"modules": list(modules)}).replace("</", "<\\/")


def used(file, body):
    name = str(getattr(file, "filename", file) or "")
    if not name and "togglebuttonSelector" in (file.attributes.get("body") or ""):
        name = "togglebutton"
    return all(re.search(need, body) for part, need in NEEDED_FOR.items() if part in name)


def deferred(file):
    """The same script, deferred; a new object, since all pages share the old one."""
    name = str(getattr(file, "filename", None) or "")
    if not name.partition("?")[0].endswith(".js") or FIRST in name or {"defer", "async"} & set(file.attributes):
        return file
    return type(file)(file.filename, priority=file.priority, **file.attributes, defer="defer")


def build_finished(app, error):
    if error or app.builder.format != "html":
        return
    out, keep = Path(app.outdir), Kept(Path(app.srcdir) / "_build" / ".light")
    texts = [f.read_text(encoding="utf8") for f in out.rglob("*.html")]
    scripts = {f.name: f.read_text(encoding="utf8") for f in (out / "_static").rglob("*.js")}
    quiet(out / "_static" / THEME)
    report = [styles.join(out / "_static", styles.words(texts, scripts), keep)]
    css = (out / "_static" / styles.NAME).read_text(encoding="utf8")
    report += [trim_fonts(out / ICONS, icons(css), 20_000, keep)]
    report += [trim_fonts(out / "_static/vendor/katex/fonts", letters(texts), 60_000, keep)]
    keep.drop_others()
    log.info("light: %s", "; ".join(report))


def quiet(path):
    """Leave out the theme's search for what scrolls."""
    text = path.read_text(encoding="utf8")
    if text.count(AT_ONCE) != 1:
        raise ExtensionError(f"{path.name} looks for what scrolls in another way: read it, then AT_ONCE and site.js")
    path.write_text(text.replace(AT_ONCE, "0"), encoding="utf8")


class Kept:
    """What a trimming made of a file, by what it was made from: most builds change no font and no style sheet."""

    def __init__(self, folder):
        self.folder, self.used = folder, set()
        self.seed = Path(__file__).read_bytes() + Path(styles.__file__).read_bytes()

    def __call__(self, path, asked, trim):
        """Put the trimmed file in the place of ``path``; ``asked`` is what the pages ask of it."""
        key = hashlib.sha256(self.seed + path.read_bytes() + repr(sorted(asked)).encode()).hexdigest()
        self.used.add(key)
        store = self.folder / key
        if store.exists():
            path.write_bytes(store.read_bytes())
            return
        trim()
        self.folder.mkdir(parents=True, exist_ok=True)
        store.write_bytes(path.read_bytes())

    def drop_others(self):
        for store in self.folder.glob("*"):
            if store.name not in self.used:
                store.unlink()


def icons(css):
    """Code points of icons that the trimmed style sheets still name, escaped or as themselves."""
    return {int(x, 16) for x in re.findall(r"\\(f[0-9a-f]{3})\b", css)} | {ord(c) for c in css if ord(c) >= 0xE000}


def letters(texts):
    """Every character within typeset formulas."""
    found = set()
    for text in texts:
        for formula in re.findall(
            r'class="katex-html".*?(?=<span class="katex"|</p>|</div>|</t[dh]>|</li>|</dd>)', text, re.S
        ):
            found |= set(re.sub(r"<[^>]*>", "", formula))
    return {ord(c) for c in found} | {ord(c) for c in "\u2062\u200b\u2026\u00a0&<>'\""} | set(range(0x20, 0x7F))


def trim_fonts(folder, points, least, keep):
    """Subset every font of a folder to the code points in use; returns a line of report."""
    before = after = 0
    for path in sorted(folder.glob("*.woff2")):
        before += path.stat().st_size
        keep(path, points, lambda path=path: subset_font(path, points))
        after += path.stat().st_size
    if before - after < least:
        raise ExtensionError(f"fonts of {folder}: {before:,} to {after:,} bytes; {least:,} bytes less were expected")
    return f"{folder.parent.name} fonts {before:,} to {after:,} bytes"


def subset_font(path, points):
    from fontTools import subset

    options = subset.Options(
        flavor="woff2",
        layout_features=["*"],
        hinting=False,
        desubroutinize=True,
        notdef_outline=True,
        recalc_timestamp=False,
    )
    font = subset.load_font(str(path), options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=points)
    subsetter.subset(font)
    subset.save_font(font, str(path), options)


def config_inited(app, config):
    config.tl_site = keys.site(app.srcdir)  # what a page's style sheet is asked for by: a new page, a new name


def setup(app):
    app.add_config_value("tl_site", "", "")
    app.connect("config-inited", config_inited)
    app.connect("html-page-context", page_context, priority=950)
    app.connect("build-finished", build_finished, priority=950)
    return {"version": "1", "parallel_read_safe": True}
