"""No typed number with a unit outside ``{quantity}``, ``{literal}``, ``{given}``, code, and sentences that carry a ``{cite}``.

``lint(text)`` takes a page's Markdown and returns what it found; the build turns each finding into a warning.
"""

import re
from dataclasses import dataclass

from markdown_it import MarkdownIt
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.front_matter import front_matter_plugin
from mdit_py_plugins.myst_role import myst_role_plugin
from sphinx.util import logging

log = logging.getLogger(__name__)

_NUMBER = r"(?<![\w.])\d[\d.,\u00a0\u202f_]*(?:e[+-]?\d+|\s*[×x]\s*10\S*)?(?:\s*(?:to|[–-])\s*\d[\d.,]*)?"
_BYTES = r"(?:[kKMGTPE]i?)?B(?![\w-])(?:/s)?"
_SPACED = (
    r"(?:[kMGTPE]?FLOPs?(?:/s)?|[kKMGTPE]i?(?:B|bit)(?:/s)?|B/s|bytes?|TOPS|PF"
    r"|[kM]?W|[kMGT]?Hz|[mnµμu]?s|seconds?|minutes?|hours?)(?![\w-])"
)
TYPED = re.compile(rf"{_NUMBER}(?:[ \u00a0\u202f-]?{_SPACED}|[ \u00a0\u202f-]{_BYTES})")
PERCENT = re.compile(rf"{_NUMBER}[ \u00a0\u202f]?(?:%|per ?cent)")
UTILISED = re.compile(r"\b(?:peak|MFU|HFU|utili[sz]ation)\b", re.I)
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\x00(])")
CODE = {"code-cell", "code", "code-block", "literalinclude", "mermaid", "raw", "bibliography", "toctree", "include"}
HIDDEN, CITE = "\x00", "\x01"


@dataclass(frozen=True)
class Finding:
    line: int
    text: str

    def __str__(self):
        ways = "{quantity} (a spec or a formula), {literal} (a worked example) or a {cite} in its sentence"
        return f"typed number {self.text!r}: use {ways}"


def _parser():
    return (
        MarkdownIt("commonmark")
        .enable(["table", "strikethrough"])
        .use(front_matter_plugin)
        .use(dollarmath_plugin)
        .use(amsmath_plugin)
        .use(colon_fence_plugin)
        .use(myst_role_plugin)
    )


def lint(text, first=1):
    """All findings in a page's Markdown, in order; ``first`` is the number of its first line."""
    found = []
    for token in _parser().parse(text):
        line = first + (token.map[0] if token.map else 0)
        if token.type == "inline":
            found += _prose(token, line)
        elif token.type in ("math_block", "math_block_label", "amsmath"):
            found += _sentences(_untex(token.content), line)
        elif token.type in ("fence", "colon_fence"):
            found += _fence(token, line)
    return found


def _fence(token, line):
    name = re.match(r"\{([\w:-]+)\}\s*(.*)", token.info.strip())
    if not name or name[1] in CODE:
        return []
    if name[1] == "math":
        return _sentences(_untex(token.content), line)
    body, skipped = re.subn(r"\A(?:\s*:[\w-]+:[^\n]*\n)+", lambda m: "\n" * m[0].count("\n"), token.content)
    return lint(name[2], line) + lint(body, line + 1)


def _prose(token, line):
    text = ""
    for child in token.children or []:
        if child.type == "myst_role":
            name = child.meta["name"]
            if name.startswith("cite"):
                text += CITE
            elif name in (
                "quantity",
                "literal",
                "given",
                "code",
                "ref",
                "numref",
                "doc",
                "download",
                "claim",
                "eq",
                "term",
            ):
                text += HIDDEN
            elif name == "math":
                text += _untex(child.content)
            else:
                text += child.content
        elif child.type == "code_inline":
            text += HIDDEN
        elif child.type == "math_inline":
            text += _untex(child.content)
        elif child.type == "image":
            text += child.content
        elif child.type in ("softbreak", "hardbreak"):
            text += "\n"
        elif child.type == "text":
            text += child.content
    return _sentences(text, line)


def _sentences(text, line):
    found, at = [], 0
    for sentence in SENTENCE.split(text):
        start = text.index(sentence, at)
        at = start + len(sentence)
        if CITE in sentence:
            continue
        hits = list(TYPED.finditer(sentence)) + (list(PERCENT.finditer(sentence)) if UTILISED.search(sentence) else [])
        found += [Finding(line + text.count("\n", 0, start + hit.start()), hit[0].strip()) for hit in hits]
    return found


def _untex(tex):
    """A formula as a reader sees it: units in \\mathrm or \\text beside numbers count as typed numbers."""
    parts = re.split(r"\\(?:mathrm|text|textrm|operatorname|unit)\s*\{([^{}]*)\}", tex)
    parts[::2] = [
        re.sub(r"(?<![A-Za-z\\])[sBWJ](?![A-Za-z])", "·", part) for part in parts[::2]
    ]  # letters of the notation
    tex = "".join(parts)
    tex = tex.replace(r"\%", "%").replace("{,}", ",")
    return re.sub(r"\\[,;:! ]|~|\\quad", " ", tex)


def prose(script):
    """The Markdown of a percent script, line by line; code lines are left empty."""
    lines, inside = [], False
    for line in script.splitlines():
        if line.startswith("# %%"):
            inside, line = "[markdown]" in line, ""
        lines.append(line.removeprefix("#").removeprefix(" ") if inside else "")
    return "\n".join(lines)


def source_read(app, docname, source):
    script = app.env.doc2path(docname).endswith(".py")
    for finding in lint(prose(source[0]) if script else source[0]):
        log.warning("%s", finding, location=(docname, finding.line), type="numbers")


def setup(app):
    app.connect("source-read", source_read)
    return {"version": "1", "parallel_read_safe": True}
