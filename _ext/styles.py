"""One style sheet for the whole book, ``_static/book.css``: a page asks once, and every rule is one that a page can match.

Sphinx, the themes and the extensions bring a dozen sheets, three quarters of which are for pages that are not here. Their
order stays; what they name beside themselves (fonts, pictures) is named from the new place.
"""

import re

from sphinx.errors import ExtensionError

NAME = "book.css"
SHEETS = {  # in the order of the pages: bytes of the file, where a package brings it; an update has to be read first
    "basic.css": 15_094,
    "styles/pydata-sphinx-theme.css": 396_738,
    "pygments.css": None,
    "styles/sphinx-book-theme.css": 16_723,
    "togglebutton.css": 3_865,
    "copybutton.css": 2_060,
    "mystnb.*.css": 43_269,
    "exercise.css": 978,
    "sphinx-design.min.css": 54_807,
    "vendor/katex/katex.min.css": None,
    "site.css": None,
}
IMPORTS = "styles/theme.css"  # says nothing but: import basic.css
LEAST = 380_000  # bytes that no page of this book can use
BUILT = (
    "bs-",
    "tooltip",
    "show",
    "fade",
    "collaps",
    "pst-",
    "active",
    "hover",
    "focus",
)  # names made by scripts


def known(file):
    """Whether a sheet that a page asks for is part of the book's."""
    name = str(file).partition("?")[0].removeprefix("_static/")
    return any(re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), name) for pattern in SHEETS)


def words(pages, scripts):
    """Every class of the pages, every word that a script may make a class of.

    Bootstrap's own script names the classes of all that Bootstrap can draw; what it adds by itself begins like ``BUILT``.
    """
    classes = [value for text in pages for value in re.findall(r'\bclass="([^"]*)"', text)]
    inline = [code for text in pages for code in re.findall(r"<script[^>]*>(.*?)</script>", text, re.S)]
    ours = [text for name, text in scripts.items() if name != "bootstrap.js"]
    return set(re.findall(r"[\w-]+", "\n".join([*classes, *inline, *ours])))


def join(static, asked, keep):
    """Make the one sheet of all the others in ``static``; returns a line of report."""
    texts, before = [], 0
    for pattern, whole in SHEETS.items():
        found = sorted(static.glob(pattern))
        if len(found) != 1:
            raise ExtensionError(f"{len(found)} files are called {pattern} in _static, not one: read SHEETS again")
        data = found[0].read_text(encoding="utf8")
        before += len(data)
        size = found[0].stat().st_size
        if whole and size != whole:
            raise ExtensionError(f"{found[0].name} has {size:,} bytes, not {whole:,}: it changed; read it, then SHEETS")
        folder = found[0].parent.relative_to(static).parts
        texts.append(rebased(data, folder))
        found[0].unlink()
    _imports(static / IMPORTS)
    if left := sorted(p.relative_to(static).as_posix() for p in static.rglob("*.css") if p.name != NAME):
        raise ExtensionError(f"a style sheet that no page would ask for: {', '.join(left)}; name it in SHEETS")
    sheet = static / NAME
    sheet.write_text("\n".join(texts), encoding="utf8")
    keep(sheet, asked & set(re.findall(r"\.(-?[A-Za-z_][\w-]*)", "".join(texts))), lambda: trim(sheet, asked))
    after = sheet.stat().st_size
    if before - after < LEAST:
        raise ExtensionError(f"{NAME}: only {before - after:,} bytes are of no use, {LEAST:,} were expected")
    return f"{NAME} {before:,} to {after:,} bytes"


def _imports(path):
    said = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf8"), flags=re.S).split()
    if said != ["@import", '"../basic.css";']:
        raise ExtensionError(f"{path.name} of the theme says more than to import basic.css: name it in SHEETS")
    path.unlink()


def rebased(css, folder):
    """The text of a sheet in ``folder`` (parts below ``_static``), as it reads in ``_static`` itself."""

    def place(match):
        quote, url = match[1], match[2]
        if re.match(r"data:|#|/|[a-z]+://", url):
            return match[0]
        parts = [*folder, *url.split("/")]
        while ".." in parts:
            at = parts.index("..")
            del parts[at - 1 : at + 1]
        return f"url({quote}{'/'.join(p for p in parts if p != '.')}{quote})"

    return re.sub(r"url\((['\"]?)([^'\")]+)\1\)", place, css)


def trim(sheet, asked):
    """Drop the rules of a style sheet that no page can match."""
    import tinycss2

    rules = tinycss2.parse_stylesheet(sheet.read_text(encoding="utf8"), skip_comments=True, skip_whitespace=True)
    text = re.sub(r',\s*url\([^)]*\.ttf\)\s*format\("truetype"\)', "", trimmed(rules, asked))  # all read woff2
    sheet.write_text(text, encoding="utf8")


def trimmed(rules, asked):
    """Text of the rules that may match: a selector is dropped when it asks for a class that no page and no script names."""
    import tinycss2

    out = []
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = [s for s in split(tinycss2.serialize(rule.prelude)) if possible(s, asked)]
            if selectors:
                out.append(",".join(selectors) + "{" + tinycss2.serialize(rule.content).strip() + "}")
        elif rule.type == "at-rule" and rule.lower_at_keyword in ("media", "supports") and rule.content is not None:
            inner = trimmed(tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True), asked)
            if inner:
                out.append(f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inner}}}")
        elif rule.type == "at-rule" and rule.lower_at_keyword == "charset":
            continue  # all are UTF-8, and it holds at the start of a file only
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


def possible(selector, asked):
    names = re.findall(r"\.(-?[A-Za-z_][\w-]*)", re.sub(r":(?:not|is|where|has)\(.*?\)+", "", selector))
    return all(name in asked or name.startswith(BUILT) for name in names)
