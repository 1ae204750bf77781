"""Formulas are typeset at build time by KaTeX: no script on the page, and a bad formula is a warning that names it.

One node process per build, spoken to over stdin and stdout; results are kept in ``_build/.katex``.
"""

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

from docutils import nodes
from sphinx.locale import _
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

from _ext import node as nodejs

log = logging.getLogger(__name__)
PROGRAM = """
const katex = require(process.argv[1]);
require('readline').createInterface({input: process.stdin}).on('line', line => {
  const {tex, displayMode} = JSON.parse(line);
  let reply;
  try { reply = {html: katex.renderToString(tex, {displayMode, throwOnError: true, strict: 'error', output: 'htmlAndMathml'})}; }
  catch (e) { reply = {error: String(e.message)}; }
  process.stdout.write(JSON.stringify(reply) + '\\n');
});
"""


class Typesetter:
    """TeX in, HTML with MathML out; raises ValueError with KaTeX's own words."""

    def __init__(self, package, cache):
        self.package, self.cache, self.process = Path(package), Path(cache), None
        self.version = json.loads((self.package / "package.json").read_text())["version"]
        self.cache.mkdir(parents=True, exist_ok=True)

    def __call__(self, tex, display):
        key = hashlib.sha256(f"{self.version}\0{PROGRAM}\0{display}\0{tex}".encode()).hexdigest()
        kept = self.cache / f"{key}.html"
        if kept.exists():
            return kept.read_text(encoding="utf8")
        if self.process is None:
            command = [nodejs.find(), "-e", PROGRAM, str(self.package.resolve())]
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf8"
            )
        self.process.stdin.write(json.dumps({"tex": tex, "displayMode": display}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("KaTeX: the node process ended early")
        reply = json.loads(line)
        if "error" in reply:
            raise ValueError(reply["error"])
        kept.write_text(reply["html"], encoding="utf8")
        return reply["html"]

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait(10)
            self.process = None


def _render(translator, tex, display, node):
    try:
        return translator.builder.app.tl_katex(tex, display)
    except ValueError as error:
        log.warning("KaTeX cannot typeset %r: %s", tex, error, location=node, type="katex")
        return f"<code>{translator.encode(tex)}</code>"


def visit_inline(self, node):
    self.body.append(
        self.starttag(node, "span", "", CLASS="math") + _render(self, node.astext(), False, node) + "</span>"
    )
    raise nodes.SkipNode


def visit_block(self, node):
    self.body.append(
        self.starttag(node, "div", CLASS="math", tabindex="0")
    )  # scrolls sideways on a phone: reachable by key
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, _("Link to this equation"))
        self.body.append("</span>")
    tex = node.astext()
    if not node["nowrap"] and r"\\" in tex and r"\begin{" not in tex:
        tex = r"\begin{gathered}" + tex + r"\end{gathered}"
    self.body.append(_render(self, tex, True, node) + "</div>\n")
    raise nodes.SkipNode


def builder_inited(app):
    package = nodejs.ROOT / "node_modules" / "katex"
    app.tl_katex = Typesetter(package, Path(app.srcdir) / "_build" / ".katex")
    app.add_css_file("vendor/katex/katex.min.css")


def build_finished(app, error):
    app.tl_katex.close()
    if error or app.builder.format != "html":
        return
    source, target = app.tl_katex.package / "dist", Path(app.outdir) / "_static" / "vendor" / "katex"
    (target / "fonts").mkdir(parents=True, exist_ok=True)
    for font in (source / "fonts").glob("*.woff2"):
        shutil.copyfile(font, target / "fonts" / font.name)
    css = (source / "katex.min.css").read_text(encoding="utf8")
    css, dropped = re.subn(r',url\(fonts/[^)]*\.(?:woff|ttf)\) format\("[a-z]+"\)', "", css)
    if not dropped:
        raise RuntimeError("katex.min.css no longer lists woff and ttf fonts: read it again and mend _ext/katex.py")
    (target / "katex.min.css").write_text(css, encoding="utf8")
    shutil.copyfile(app.tl_katex.package / "LICENSE", target / "LICENSE")


def setup(app):
    app.add_html_math_renderer("tl_katex", (visit_inline, None), (visit_block, None))
    app.connect("config-inited", lambda app, config: setattr(config, "html_math_renderer", "tl_katex"), priority=10)
    app.connect("builder-inited", builder_inited)
    app.connect("build-finished", build_finished, priority=100)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
