"""Trimming: what may match stays, what cannot goes, and a theme that changed stops the build instead of passing unseen."""

import re
from types import SimpleNamespace

import pytest
import tinycss2
from sphinx.builders.html._assets import _CascadingStyleSheet, _JavaScript
from sphinx.errors import ExtensionError

from _ext import light

CSS = """@media print{.gone{color:red}.kept:not(.gone) a{color:red}}@font-face{font-family:x}
.kept,.gone{margin:0}h1{margin:1px}.a:is(.gone,.kept){margin:2px}.fa-rocket:before{content:"\\f135"}.tooltip-inner{margin:3px}
@supports (display:grid){.gone{margin:4px}}:root{--x:1}[data-x=".gone"]{margin:5px}"""


def test_a_rule_stays_when_a_page_can_match_it():
    rules = tinycss2.parse_stylesheet(CSS, skip_whitespace=True)
    text = light.trimmed(rules, {"kept", "a"})
    assert "@font-face" in text and "h1{margin:1px}" in text and ".kept{margin:0}" in text
    assert ".a:is(.gone,.kept){margin:2px}" in text, "an alternative within :is is not judged"
    assert "@media print{.kept:not(.gone) a{color:red}}" in text and ".tooltip-inner" in text and "--x:1" in text
    assert "fa-rocket" not in text and "@supports" not in text and ".gone{" not in text
    assert "fa-rocket" in light.trimmed(rules, {"fa-rocket"})


def test_a_theme_that_changed_stops_the_build(tmp_path):
    keep = light.Kept(tmp_path / "kept")
    sheet = tmp_path / "theme.css"
    sheet.write_text(".gone{color:red}")
    with pytest.raises(ExtensionError, match=r"theme.css has 16 bytes, not 17"):
        light.trim_sheet(sheet, set(), 1, 17, keep)
    with pytest.raises(ExtensionError, match="only 0 bytes are of no use, 1 were expected"):
        light.trim_sheet(sheet, {"gone"}, 1, 16, keep)
    with pytest.raises(ExtensionError, match="fonts of .*: 0 to 0 bytes"):
        light.trim_fonts(tmp_path, {65}, 1, keep)


def test_scripts_and_styles_follow_the_page():
    def context(body):
        scripts = [
            _JavaScript(f"_static/{n}.js", priority=1) for n in ("documentation_options", "copybutton", "doctools")
        ]
        scripts.append(_JavaScript(None, priority=1, body="var togglebuttonSelector = '.toggle';"))
        styles = [_CascadingStyleSheet(f"_static/{n}.css", priority=1) for n in ("exercise", "site")]
        found = {"body": body, "script_files": scripts, "css_files": styles}
        light.page_context(None, "lectures/x", "page.html", found, None)
        return found

    plain = context("<p>no code, no exercise</p>")
    assert [str(f.filename) for f in plain["script_files"]] == [
        "_static/documentation_options.js",
        "_static/doctools.js",
    ]
    assert [f.attributes.get("defer") for f in plain["script_files"]] == [None, "defer"]
    assert [str(f.filename) for f in plain["css_files"]] == ["_static/site.css"]
    rich = context('<div class="highlight-python"></div><div class="exercise admonition dropdown">')
    assert len(rich["script_files"]) == 4 and len(rich["css_files"]) == 2


def test_deferring_leaves_the_shared_object_alone():
    shared = _JavaScript("_static/x.js", priority=1)
    assert light.deferred(shared).attributes == {"defer": "defer"} and shared.attributes == {}
    late = SimpleNamespace(filename="_static/y.js", attributes={"async": "async"}, priority=1)
    assert light.deferred(late) is late


def test_letters_are_those_of_formulas():
    text = '<p>Q</p><span class="katex"><span class="katex-html"><i>∑</i>Ω</span></span></p><p>Ж</p>'
    found = light.letters([text])
    assert {ord("∑"), ord("Ω")} <= found and ord("Ж") not in found


def test_icons_are_read_from_the_styles():
    assert light.icons('.a:before{content:"\\f135"} .b{content:"\uf0c7"}') == {0xF135, 0xF0C7}


@pytest.mark.site
def test_every_icon_and_letter_of_the_site_has_a_glyph():
    from fontTools.ttLib import TTFont

    from tests.pages import SITE

    css = "".join(p.read_text(encoding="utf8") for p in (SITE / "_static").rglob("*.css"))
    fonts = [TTFont(p).getBestCmap() for p in (SITE / light.ICONS).glob("*.woff2")]
    missing = [hex(p) for p in light.icons(css) if not any(p in cmap for cmap in fonts)]
    assert len(fonts) == 3 and not missing
    math = [TTFont(p).getBestCmap() for p in (SITE / "_static/vendor/katex/fonts").glob("*.woff2")]
    pages = [p.read_text(encoding="utf8") for p in SITE.rglob("lectures/*.html")]
    used = light.letters(pages)
    assert len(math) == 20 and len(used) > 100
    shown = {c for c in used if chr(c).isalpha() and c < 0x3000}
    assert not {chr(c) for c in shown if not any(c in cmap for cmap in math)} - set("µ")
    assert re.search(r"KaTeX_Main-Regular\.woff2", css)


def test_what_is_kept_is_used_only_for_the_same_question(tmp_path):
    css, whole, times = ".a{color:red}.b{color:red}", len(".a{color:red}.b{color:red}"), []
    sheet, keep = tmp_path / "theme.css", light.Kept(tmp_path / "kept")
    for words, left in (({"a"}, ".a{color:red}"), ({"a", "prose"}, ".a{color:red}"), ({"b"}, ".b{color:red}")):
        sheet.write_text(css)
        light.trim_sheet(sheet, words, 1, whole, keep)
        assert sheet.read_text() == left
        times.append(len(list((tmp_path / "kept").glob("*"))))
    assert times == [1, 1, 2], "new words of prose change nothing, a new class does"
    again = light.Kept(tmp_path / "kept")
    again.drop_others()
    assert not list((tmp_path / "kept").glob("*"))
