"""Pages that are found: a description of whole sentences, short addresses, a page for wrong addresses.

The description is the page's first paragraph, as far as whole sentences fit; sphinxext-opengraph cuts within a word. Tags
that need an absolute address are left out while the book's own address is not known. ``/stride.html`` leads to
``/lectures/stride.html``: an address that fits on a slide.
"""

import html
import re
from pathlib import Path

from docutils import nodes

from _ext import address

REDIRECT = Path(__file__).parent / "templates" / "redirect.html"
LONGEST = 220  # characters; search engines show about as many
GENERAL = "Predict FLOPs, memory and communication of AI systems; count them; measure them; explain the difference."
WRONG = """<h1>No page at this address</h1>
<p>It may have moved, or the address was cut short. <a href="{0}index.html">Start at the front page</a>, or
<a href="{0}search.html">search the book</a>.</p>"""


def config_inited(app, config):
    slugs = sorted(p.stem for p in Path(app.srcdir, "lectures").glob("*.md") if p.stem != "index")
    config.redirects = {slug: f"lectures/{slug}.html" for slug in slugs}
    config.redirect_html_template_file = str(REDIRECT)
    config.notfound_context = {"title": "No page at this address", "body": WRONG.format(config.notfound_urls_prefix)}


def describe(doctree):
    """The first sentences of a page, up to LONGEST characters; a longer first sentence is cut between words."""
    for paragraph in doctree.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        sentences = re.split(r"(?<=[.?!:])\s+(?=[A-Z])", text)
        kept = ""
        for sentence in sentences:
            if kept and len(kept) + 1 + len(sentence) > LONGEST:
                break
            kept = f"{kept} {sentence}".strip()
        if len(kept) > LONGEST:
            kept = kept[:LONGEST].rsplit(" ", 1)[0].rstrip(",;:") + " …"
        if len(kept) > 40:
            return kept.rstrip(":") + ("." if kept.endswith(":") else "")
    return GENERAL


def before_opengraph(app, pagename, templatename, context, doctree):
    text = describe(doctree) if doctree is not None else GENERAL
    context["metatags"] = context.get("metatags", "") + f'<meta name="description" content="{html.escape(text)}" />\n'
    if doctree is not None:
        context["meta"] = {**(context.get("meta") or {}), "og:description": html.escape(text)}


def after_notfound(app, pagename, templatename, context, doctree):
    """In a book of one page sphinx-notfound-page has no table of contents, and the theme cannot do without one."""
    if pagename == app.config.notfound_pagename:
        toctree = context["toctree"]
        context["toctree"] = lambda *words, **options: toctree(*words, **options) or ""


def after_opengraph(app, pagename, templatename, context, doctree):
    here = address.of(app)
    if not here.site:  # a preview needs absolute addresses
        context["metatags"] = re.sub(r'<meta property="og:(?:url|image|image:alt)"[^>]*>\s*', "", context["metatags"])


def setup(app):
    app.connect("config-inited", config_inited, priority=30)  # after the address is known
    app.connect("html-page-context", before_opengraph, priority=300)
    app.connect("html-page-context", after_notfound, priority=450)
    app.connect("html-page-context", after_opengraph, priority=900)
    return {"version": "1", "parallel_read_safe": True}
