"""Trimming: what may match stays, what cannot goes, and a theme that changed stops the build instead of passing unseen."""

import json
import re
from types import SimpleNamespace

import pytest
from sphinx.builders.html._assets import _CascadingStyleSheet, _JavaScript
from sphinx.errors import ExtensionError

from _ext import light


def test_fonts_that_give_up_less_than_expected_stop_the_build(tmp_path):
    with pytest.raises(ExtensionError, match="fonts of .*: 0 to 0 bytes"):
        light.trim_fonts(tmp_path, {65}, 1, light.Kept(tmp_path / "kept"))


def test_a_theme_that_looks_for_what_scrolls_in_another_way_stops_the_build(tmp_path):
    script = tmp_path / "theme.js"
    script.write_text(f"a(),{light.AT_ONCE};")
    light.quiet(script)
    assert script.read_text() == "a(),0;"
    with pytest.raises(ExtensionError, match="theme.js looks for what scrolls in another way"):
        light.quiet(script)


def context(body, styles=("_static/site.css",), **more):
    scripts = [_JavaScript(f"_static/{n}.js", priority=1) for n in ("documentation_options", "copybutton", "doctools")]
    scripts.append(_JavaScript(None, priority=1, body="var togglebuttonSelector = '.toggle';"))
    scripts += more.get("scripts", [])
    sheets = [_CascadingStyleSheet(name, priority=1) for name in styles]
    found = {"body": body, "script_files": scripts, "css_files": sheets}
    app = SimpleNamespace(config=SimpleNamespace(tl_site="0123456789"))
    light.page_context(app, "lectures/x", "page.html", found, None)
    return found


def test_scripts_follow_the_page():
    plain = context("<p>no code, no exercise</p>")
    assert [str(f.filename) for f in plain["script_files"]] == [
        "_static/documentation_options.js",
        "_static/doctools.js",
    ]
    assert [f.attributes.get("defer") for f in plain["script_files"]] == [None, "defer"]
    rich = context('<div class="highlight-python"></div><div class="exercise admonition dropdown">')
    assert len(rich["script_files"]) == 4


def test_a_page_asks_for_one_style_sheet_and_a_strange_one_is_named():
    found = context("")
    assert found["css_files"] == [] and found["tl_styles"] == "book.css?v=01234567"
    context("", styles=["_static/mystnb.0a1b.css", "_static/vendor/katex/katex.min.css", "_static/pygments.css?v=1"])
    with pytest.raises(ExtensionError, match=r"no style sheet of the book: _static/new.css; name it in .*SHEETS"):
        context("", styles=["_static/new.css"])


def test_words_of_code_without_a_colour_of_their_own_are_plain_text():
    code = '<div class="highlight"><span class="n">x</span><span class="p">(</span><span class="mi">1</span></div>'
    assert context(code)["body"] == '<div class="highlight">x(<span class="mi">1</span></div>'


@pytest.mark.site
def test_those_words_are_set_like_all_code():
    from tests.pages import SITE

    css = (SITE / "_static/book.css").read_text(encoding="utf8")
    for scheme in ("light", "dark"):
        rules = dict(re.findall(rf'html\[data-theme="{scheme}"\] \.highlight( \.\w+)?{{([^}}]*)}}', css))
        colour = re.search(r"(?<!-)color: ?(#\w+)", rules[""])[1]
        for name in ("n", "nn", "p", "w"):
            assert rules.get(f" .{name}", f"color: {colour}") == f"color: {colour}"
        assert rules[" .mi"] != f"color: {colour}"


def test_the_state_of_widgets_comes_after_the_words_and_holds_each_code_once():
    told = {
        "state": {n: {"state": {"_esm": code, "n": n}} for n, code in (("a", "x </b>"), ("b", "y"), ("c", "x </b>"))}
    }
    told["state"]["d"] = {"state": {"layout": 1}}
    state = _JavaScript(None, priority=1, type=light.STATE, body=json.dumps(told))
    found = context("<p>words</p>", scripts=[state])
    words, script = found["body"].split(f'<script type="{light.STATE}">')
    assert words == "<p>words</p>" and script.endswith("</script>\n") and script.count("</") == 1
    kept = json.loads(script.removesuffix("</script>\n"))
    assert kept["modules"] == ["x </b>", "y"]
    assert [m["state"].get("_esm") for m in kept["state"].values()] == [0, 1, 0, None]
    assert kept["state"]["a"]["state"]["n"] == "a"
    assert state not in found["script_files"] and len(found["script_files"]) == 2


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
    made = tmp_path / "made.css"
    for asked, text in (({"a"}, "1"), ({"a"}, "2"), ({"b"}, "3")):
        made.write_text("before")
        light.Kept(tmp_path / "kept")(made, asked, lambda text=text: made.write_text(text))
        assert made.read_text() == {"1": "1", "2": "1", "3": "3"}[text]
    assert len(list((tmp_path / "kept").glob("*"))) == 2
    light.Kept(tmp_path / "kept").drop_others()
    assert not list((tmp_path / "kept").glob("*"))
