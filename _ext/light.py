"""Pages send what they show: the scripts and styles they use, the icons and rules that occur, the letters that are set.

Scripts and styles are chosen on Sphinx's own page context. Fonts and style sheets are trimmed after the pages are written;
the pages themselves are only read. Each trimming says how much it took and stops the build when that is not what a theme of
this version gives up, so that an update cannot pass unseen.
"""

import hashlib
import logging as standard_logging
import re
from pathlib import Path

from sphinx.errors import ExtensionError
from sphinx.util import logging

log = logging.getLogger(__name__)
standard_logging.getLogger("fontTools").setLevel(standard_logging.WARNING)

# Part of a file's name: what the article must hold for the file to be of use.
NEEDED_FOR = {
    "togglebutton": r'class="[^"]*\b(?:dropdown|toggle)\b',
    "design-tabs": r"sd-tab-set",
    "sphinx-design": r'class="[^"]*\bsd-',
    "exercise.css": r'class="[^"]*\b(?:exercise|solution)\b',
    "copybutton": r'class="highlight',
    "clipboard": r'class="highlight',
    "mystnb": r'class="[^"]*\bcell\b',
    "katex": r'class="katex',
}
WHOLE = {"search"}  # the search page runs scripts that look for one another
FIRST = "documentation_options"  # inline scripts write into what this one makes
SHEETS = {"styles/pydata-sphinx-theme.css": (200_000, 396_738), "sphinx-design.min.css": (35_000, 54_807)}
BUILT = (
    "bs-",
    "tooltip",
    "show",
    "fade",
    "modal",
    "collaps",
    "pst-",
    "active",
    "hover",
    "focus",
    "was-",
)  # names made by scripts
ICONS = "_static/vendor/fontawesome/webfonts"


def page_context(app, pagename, templatename, context, doctree):
    """Keep the scripts and styles that this page uses; scripts run after the page is read."""
    body = context.get("body") or ""
    for kind in ("css_files", "script_files"):
        if kind in context and pagename not in WHOLE:
            context[kind] = [deferred(f) for f in context[kind] if used(f, body)]


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
    scripts = [f.read_text(encoding="utf8") for f in (out / "_static").rglob("*.js")]
    words = set(re.findall(r"[\w-]+", "\n".join(texts + scripts)))
    report = [trim_sheet(out / "_static" / name, words, *sizes, keep) for name, sizes in SHEETS.items()]
    css = "".join(f.read_text(encoding="utf8") for f in (out / "_static").rglob("*.css"))
    report += [trim_fonts(out / ICONS, icons(css), 20_000, keep)]
    report += [trim_fonts(out / "_static/vendor/katex/fonts", letters(texts), 60_000, keep)]
    keep.drop_others()
    log.info("light: %s", "; ".join(report))


class Kept:
    """What a trimming made of a file, by what it was made from: most builds change no font and no style sheet."""

    def __init__(self, folder):
        self.folder, self.used = folder, set()
        self.seed = Path(__file__).read_bytes()

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


def trim_sheet(path, words, least, whole, keep):
    """Drop the rules of a style sheet that no page can match; returns a line of report."""
    before = path.stat().st_size
    if before != whole:
        raise ExtensionError(
            f"{path.name} has {before:,} bytes, not {whole:,}: the theme changed; read it, then SHEETS"
        )

    def trim():
        import tinycss2

        rules = tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True)
        left = re.sub(r',\s*url\([^)]*\.ttf\)\s*format\("truetype"\)', "", trimmed(rules, words))  # all read woff2
        path.write_text(left, encoding="utf8")

    text = path.read_text(encoding="utf8")
    keep(path, words & set(re.findall(r"\.(-?[A-Za-z_][\w-]*)", text)), trim)
    after = path.stat().st_size
    if before - after < least:
        raise ExtensionError(f"{path.name}: only {before - after:,} bytes are of no use, {least:,} were expected")
    return f"{path.name} {before:,} to {after:,} bytes"


def trimmed(rules, words):
    """Text of the rules that may match: a selector is dropped when it asks for a class that no page and no script names."""
    import tinycss2

    out = []
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = [s for s in split(tinycss2.serialize(rule.prelude)) if possible(s, words)]
            if selectors:
                out.append(",".join(selectors) + "{" + tinycss2.serialize(rule.content).strip() + "}")
        elif rule.type == "at-rule" and rule.lower_at_keyword in ("media", "supports") and rule.content is not None:
            inner = trimmed(tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True), words)
            if inner:
                out.append(f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inner}}}")
        elif rule.type != "error":
            out.append(rule.serialize())
    return "".join(out)


def split(prelude):
    """Selectors of a list; commas within brackets do not part them."""
    parts, depth, now = [], 0, ""
    for character in prelude:
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            parts.append(now.strip())
            now = ""
        else:
            now += character
    return [*parts, now.strip()]


def possible(selector, words):
    asked = re.findall(r"\.(-?[A-Za-z_][\w-]*)", re.sub(r":(?:not|is|where|has)\(.*?\)+", "", selector))
    return all(name in words or name.startswith(BUILT) for name in asked)


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


def setup(app):
    app.connect("html-page-context", page_context, priority=950)
    app.connect("build-finished", build_finished, priority=950)
    return {"version": "1", "parallel_read_safe": True}
