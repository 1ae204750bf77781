"""What stands around a page: a line under its title (time, needs, notebook), the reader's GPU in the sidebar, two ways to print.

Which lectures a page needs is the field ``needs`` of its front matter; the times come from its words and its exercises.
"""

import html
import json
import math
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError

from _ext import address
from _ext.notebooks import published
from threeledgers import exercises, specs

WORDS_A_MINUTE = 200  # prose with formulas; a plain novel is read at 240 and more


def facts(app, page, doctree):
    """The facts of the line, as HTML."""
    room, _, slug = page.rpartition("/")
    found = []
    if slug in exercises.slugs() and room == "lectures":
        found += [f"{minutes(doctree)} min to read"]
        asked = [exercise for id, exercise in exercises.exercises(slug).items() if not id.endswith("-guess")]
        found += [f"{len(asked)} exercises, {sum(e.minutes for e in asked)} min"]
        found += [needs(app, page)]
        found += ["no GPU needed"]
    elif room == "labs":
        found += ["a GPU if you have one, else the CPU"]
    return [f for f in found if f]


def minutes(doctree):
    """Minutes that the prose takes; code and tables of numbers are not read word by word."""
    words = 0
    for node in doctree.findall(nodes.Text):
        if not any(isinstance(up, nodes.literal_block | nodes.raw | nodes.table) for up in ancestors(node)):
            words += len(node.astext().split())
    return math.ceil(words / WORDS_A_MINUTE)


def ancestors(node):
    while node := node.parent:
        yield node


def needs(app, page):
    """ "needs stride and autograd", with links where the lectures are written."""
    wanted = str(app.env.metadata.get(page, {}).get("needs", "")).replace(",", " ").split()
    links = []
    for slug in wanted:
        known = f"lectures/{slug}" in app.env.found_docs
        uri = app.builder.get_relative_uri(page, f"lectures/{slug}") if known else ""
        links.append(f'<a href="{uri}">{html.escape(slug)}</a>' if known else html.escape(slug))
    return "needs " + " and ".join(links) if links else ""


def card_script(root):
    """The script that reads a card of the reader's own, after what it holds one to: the specs' own schema."""
    schema = {"fields": specs.FIELDS["gpu"], "texts": specs.TEXTS["gpu"], "largest": specs.LARGEST}
    schema |= {
        "largest_text": f"{specs.LARGEST:g}",
        "optional": {key: kind.__name__ for key, kind in specs.OPTIONAL.items()},
    }
    return f"const SCHEMA = {json.dumps(schema)};\n" + (Path(root) / "assets/card.js").read_text(encoding="utf8")


def build_finished(app, error):
    if not error and app.builder.format == "html":
        Path(app.outdir, "_static/card.js").write_text(card_script(app.srcdir), encoding="utf8")


def page_context(app, pagename, templatename, context, doctree):
    context["tl_site"] = app.config.tl_site
    context["tl_gpus"] = [(id, specs.gpu(id).name) for id in specs.ids("gpu")]
    for group in context.get("header_buttons") or []:
        for button in group.get("buttons", []):
            if button.get("label") == "download-pdf-button":
                button |= {"javascript": "tlPrint(false)", "tooltip": "Print, or save as PDF, without solutions"}
                answers = {"text": ".pdf with solutions", "label": "download-pdf-solutions-button"}
                answers |= {"javascript": "tlPrint(true)", "tooltip": "Print, or save as PDF, with solutions"}
                group["buttons"].append(button | answers)
                break
    if doctree is None or published(app, pagename) is None:
        return
    line = facts(app, pagename, doctree)
    line.append(f'<a href="{context["pathto"](f"notebooks/{pagename}.ipynb", 1)}" download>notebook</a>')
    if colab := address.of(app).colab(pagename):
        line.append(f'<a href="{colab}">open in Colab</a>')
    head, mark, rest = context["body"].partition("</h1>")
    if not mark:
        raise ExtensionError(f"{pagename}: a page with code needs a title")
    items = "".join(f"<li>{item}</li>" for item in line)
    context["body"] = f'{head}{mark}\n<ul class="tl-facts" aria-label="About this page">{items}</ul>{rest}'


def setup(app):
    app.connect("build-finished", build_finished)
    app.connect("html-page-context", page_context, priority=910)  # after launch.py has put in its buttons
    return {"version": "1", "parallel_read_safe": True}
