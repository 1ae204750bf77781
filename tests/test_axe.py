"""Every page under axe, light and dark, wide and narrow: no violation of WCAG 2.1 A and AA, none of best practice."""

import pytest

from tests.pages import ROOT, SITE

pytestmark = pytest.mark.site
AXE = ROOT / "node_modules/axe-core/axe.min.js"
NAMES = sorted(p.relative_to(SITE).as_posix() for p in SITE.rglob("*.html") if "_static" not in p.parts)
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]


def violations(page):
    """``["rule: first element that breaks it", …]``."""
    page.evaluate(AXE.read_text(encoding="utf8"))
    found = page.evaluate("rules => axe.run(document, {runOnly: rules})", RULES)
    assert len(found["passes"]) > 15, "axe looked at the page"
    return [f"{v['id']}: {v['nodes'][0]['html'][:150]}" for v in found["violations"]]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width, scheme", [(1280, "light"), (1280, "dark"), (390, "dark")])
def test_page(visit, base, name, width, scheme):
    page = visit(base + name, base, viewport={"width": width, "height": 900}, color_scheme=scheme).page
    page.evaluate(
        "document.querySelectorAll('article details').forEach(d => d.open = true)"
    )  # folded text must be readable
    assert not violations(page)


def test_a_fault_is_found(visit, base):
    page = visit(base + "lectures/index.html", base).page
    page.evaluate("document.querySelector('article p').innerHTML += '<img src=\"data:,\"><a href=\"#\"></a>'")
    assert {v.split(":")[0] for v in violations(page)} >= {"image-alt", "link-name"}
