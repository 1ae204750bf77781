"""The one style sheet: what may match stays, what cannot goes, and a package that changed stops the build."""

import re
from pathlib import Path

import pytest
import sphinx_togglebutton
import tinycss2
from sphinx.errors import ExtensionError

from _ext import light, styles

CSS = """@media print{.gone{color:red}.kept:not(.gone) a{color:red}}@font-face{font-family:x}
.kept,.gone{margin:0}h1{margin:1px}.a:is(.gone,.kept){margin:2px}.fa-rocket:before{content:"\\f135"}.tooltip-inner{margin:3px}
@supports (display:grid){.gone{margin:4px}}:root{--x:1}[data-x=".gone"]{margin:5px}@charset "utf-8";"""


def test_a_rule_stays_when_a_page_can_match_it():
    rules = tinycss2.parse_stylesheet(CSS, skip_whitespace=True)
    text = styles.trimmed(rules, {"kept", "a"})
    assert "@font-face" in text and "h1{margin:1px}" in text and ".kept{margin:0}" in text
    assert ".a:is(.gone,.kept){margin:2px}" in text, "an alternative within :is is not judged"
    assert "@media print{.kept:not(.gone) a{color:red}}" in text and ".tooltip-inner" in text and "--x:1" in text
    assert "fa-rocket" not in text and "@supports" not in text and ".gone{" not in text and "@charset" not in text
    assert "fa-rocket" in styles.trimmed(rules, {"fa-rocket"})


def test_classes_come_from_pages_and_scripts_but_not_from_prose_or_from_all_that_bootstrap_could_draw():
    page = '<p class="kept other">prose</p><script>el.className = "made";</script>'
    found = styles.words([page], {"site.js": 'add("by-site")', "bootstrap.js": 'add("carousel")'})
    assert {"kept", "other", "made", "by-site"} <= found and not {"prose", "carousel"} & found


@pytest.mark.parametrize(
    "folder, url, there",
    [
        ((), "file.png", "file.png"),
        (("styles",), "../vendor/x.woff2", "vendor/x.woff2"),
        (("vendor", "katex"), "fonts/k.woff2", "vendor/katex/fonts/k.woff2"),
        (("styles",), "'../a b.svg'", "'a b.svg'"),
        (("styles",), "data:image/svg+xml,<svg/>", "data:image/svg+xml,<svg/>"),
        (("styles",), "#mark", "#mark"),
    ],
)
def test_what_a_sheet_names_beside_itself_is_found_from_the_new_place(folder, url, there):
    assert styles.rebased(f"a{{background:url({url})}}", folder) == f"a{{background:url({there})}}"


@pytest.fixture
def static(tmp_path, monkeypatch):
    """A folder of small sheets, as a build leaves them; the number of bytes that must go is small, too."""
    monkeypatch.setattr(styles, "SHEETS", {"basic.css": 16, "styles/theme-x.css": None, "my.*.css": None})
    monkeypatch.setattr(styles, "LEAST", 10)
    folder = tmp_path / "_static"
    (folder / "styles").mkdir(parents=True)
    (folder / "basic.css").write_text(".gone{color:red}")
    (folder / "styles/theme-x.css").write_text(".a{background:url(../x.png)}")
    (folder / "my.0ab.css").write_text(".b{color:red}")
    (folder / styles.IMPORTS).write_text('/* words */\n@import "../basic.css";\n')
    return folder


def join(static, asked=frozenset("ab")):
    return styles.join(static, set(asked), light.Kept(static.parent / "kept"))


def test_one_sheet_is_left_in_the_order_of_the_pages(static):
    assert join(static) == "book.css 57 to 38 bytes"
    assert (static / "book.css").read_text() == ".a{background:url(x.png)}.b{color:red}"
    assert [p.name for p in static.rglob("*.css")] == ["book.css"]


@pytest.mark.parametrize(
    "plant, said",
    [
        (("basic.css", ".gone{color:blue}"), r"basic.css has 17 bytes, not 16: it changed"),
        (("my.1ab.css", ""), r"2 files are called my.\*.css in _static, not one"),
        (("new.css", ""), r"a style sheet that no page would ask for: new.css"),
        (("styles/theme.css", '@import "../basic.css"; a{}'), r"theme.css of the theme says more than to import"),
    ],
)
def test_a_package_that_changed_stops_the_build(static, plant, said):
    (static / plant[0]).write_text(plant[1])
    with pytest.raises(ExtensionError, match=said):
        join(static)


def test_a_sheet_that_gives_up_less_than_expected_stops_the_build(static):
    with pytest.raises(ExtensionError, match=r"book.css: only \d bytes are of no use, 10 were expected"):
        join(static, {"a", "b", "gone"})


def test_a_new_class_trims_again_and_new_words_of_prose_do_not(static, tmp_path):
    kept, seen = tmp_path / "kept", []
    for asked in ({"a", "b"}, {"a", "b", "word"}, {"a"}):
        (static / "basic.css").write_text(".gone{color:red}")
        (static / "styles/theme-x.css").write_text(".a{background:url(../x.png)}")
        (static / "my.0ab.css").write_text(".b{color:red}")
        (static / styles.IMPORTS).write_text('@import "../basic.css";')
        join(static, asked)
        seen.append((len(list(kept.glob("*"))), ".b{" in (static / "book.css").read_text()))
    assert seen == [(1, True), (1, True), (2, False)]


@pytest.mark.site
def test_no_class_of_a_page_lost_its_rules():
    """Against the packages' own sheets: a selector of classes that all occur on one page is still there."""
    from tests.html_page import PAGES
    from tests.pages import ROOT, SITE

    book = (SITE / "_static/book.css").read_text(encoding="utf8")
    toggle = Path(sphinx_togglebutton.__file__).parent / "_static/togglebutton.css"
    whole = "".join(p.read_text(encoding="utf8") for p in (toggle, ROOT / "assets/site.css"))
    pages = "".join(p.read_text(encoding="utf8") for p in PAGES)
    present = {name for value in re.findall(r'\bclass="([^"]*)"', pages) for name in value.split()}
    rules = tinycss2.parse_stylesheet(whole, skip_comments=True, skip_whitespace=True)
    selectors = [s for r in rules if r.type == "qualified-rule" for s in styles.split(tinycss2.serialize(r.prelude))]
    due = [s for s in selectors if (names := set(re.findall(r"\.(-?[A-Za-z_][\w-]*)", s))) and names <= present]
    assert len(due) > 20 and not [s for s in due if s not in book]
