"""Small corrections of the HTML that Sphinx and MyST-NB write, for readers who listen; the axe test finds what is left.

A folded cell's line keeps its own words as its name. A bibliography is a list of items.
"""

REPLACED = {
    '<summary aria-label="Toggle hidden content">': "<summary>",
    ' role="doc-biblioentry"': ' role="listitem"',
}


def html_page_context(app, page, template, context, doctree):
    if body := context.get("body"):
        for old, new in REPLACED.items():
            body = body.replace(old, new)
        context["body"] = body


def setup(app):
    app.connect("html-page-context", html_page_context, priority=900)
    return {"version": "1", "parallel_read_safe": True}
