"""MyST text of a page as the Markdown that JupyterLab, Colab, VS Code and GitHub all show.

Directives and roles are rewritten with this very build's numbers, labels and citations; every other line stays as its author
wrote it. What cannot be rewritten is a warning that names the page and the line, so a build with ``-W`` stops.
"""

import base64
import mimetypes
import re
from pathlib import Path

from myst_parser.config.main import MdParserConfig
from myst_parser.mdit_to_docutils.base import DocutilsRenderer
from myst_parser.parsers.mdit import create_md_parser
from pybtex.backends.markdown import Backend
from sphinx.util import logging

from _ext import address, quantities
from threeledgers.exercises import UnknownExercise, find
from threeledgers.witness import UnknownClaim, claim

log = logging.getLogger(__name__)
SPAN = re.compile(
    r"\{(?P<role>[a-z][\w:.+-]*)\}(?P<tick>`+)(?P<text>.+?)(?P=tick)"
    r"|(?P<code>`+)(?!`).+?(?<!`)(?P=code)(?!`)"
    r"|(?P<image>!?)\[(?P<label>[^\]\[]*)\]\((?!https?:|mailto:|data:|#)(?P<to>[^)\s]+)\)",
    re.S,
)
TITLED = re.compile(r"^(.*?)\s*<([^<>]+)>$", re.S)
OPTION = re.compile(r"^:([\w-]+):\s*(.*)$")
ADMONITIONS = ("note", "tip", "hint", "important", "warning", "caution", "attention", "danger", "seealso")
WRAPPED = {
    "math": "${}$",
    "code": "`{}`",
    "kbd": "<kbd>{}</kbd>",
    "sub": "<sub>{}</sub>",
    "sup": "<sup>{}</sup>",
    "literal": "{}",
}
LARGEST_IMAGE = 150_000  # bytes that travel inside the notebook; a larger one is linked


def folded(title, body):
    return f"<details>\n<summary><b>{title}</b></summary>\n\n{body}\n\n</details>"


def quoted(title, body):
    return "\n".join(f"> {line}".rstrip() for line in f"**{title}**\n\n{body}".splitlines())


class Unknown(ValueError):
    """A directive or role that has no plain form; the message names it."""


class Page:
    """Rewrites the cells of one page; ``cited`` collects the keys of the works it cites."""

    def __init__(self, app, docname):
        self.app, self.env, self.docname = app, app.env, docname
        self.source = Path(self.env.doc2path(docname))
        self.cited = {}
        config = MdParserConfig(enable_extensions=set(app.config.myst_enable_extensions))
        self.parser = create_md_parser(config, DocutilsRenderer)

    def markdown(self, cell):
        """A cell's text in plain Markdown; what is unknown is warned of and left as it stands."""
        return re.sub(r"\n{3,}", "\n\n", self._blocks(cell)).strip()

    def _warn(self, what, text):
        first = next((line for line in text.split("\n") if line.strip()), "")
        lines = self.source.read_text(encoding="utf8").split("\n")
        at = next((n for n, line in enumerate(lines, 1) if first and first in line), None)
        log.warning("notebook: %s", what, location=f"{self.docname}:{at}" if at else self.docname, type="notebook")

    # blocks

    def _blocks(self, text):
        lines, out, at = text.split("\n"), [], 0
        for token in self.parser.parse(text):
            if token.level or not token.map or token.map[0] < at:
                continue
            begin, end = token.map
            new = self._block(token, lines[begin:end])
            if new is not None:
                out += [self.inline("\n".join(lines[at:begin])), new]
                at = end
        return "\n".join([*out, self.inline("\n".join(lines[at:]))])

    def _block(self, token, lines):
        """What stands in a block's place, or None for ordinary text."""
        if token.type in ("fence", "colon_fence"):
            match = re.match(r"\{([\w:+.-]+)\}\s*(.*)", token.info or "")
            if not match:
                return "\n".join(lines)
            try:
                return self._directive(match[1], match[2].strip(), token.content.rstrip("\n").split("\n"))
            except Unknown as problem:
                self._warn(str(problem), "\n".join(lines))
                return "\n".join(lines)
        if token.type in ("code_block", "math_block", "amsmath"):
            return "\n".join(lines)
        if token.type == "math_block_label":
            return f"$$\n{token.content.strip()}\n$$"
        if token.type in ("myst_target", "myst_line_comment", "myst_block_break"):
            return ""
        if token.type == "dl_open":
            return self.inline(re.sub(r"(?m)^(\S.*)\n: +", r"**\1**: ", "\n".join(lines)))
        return None

    def _directive(self, name, argument, lines):
        options = {}
        while lines and (match := OPTION.match(lines[0])):
            options[match[1]] = match[2]
            lines = lines[1:]
        body = "\n".join(lines).strip("\n")
        if name == "exercise":
            return f"**Exercise {self.inline(argument)}**\n\n{self._blocks(body)}"
        if name == "solution":
            return folded(f"Solution to {argument}", self._blocks(body))
        if name == "dropdown":
            return folded(self.inline(argument), self._blocks(body))
        if name in (*ADMONITIONS, "admonition"):
            title = self.inline(argument) if name == "admonition" else name.capitalize()
            return (
                quoted(title, self._blocks(body))
                if "dropdown" not in options.get("class", "")
                else folded(title, self._blocks(body))
            )
        if name in ("grid", "grid-item"):
            return self._blocks(body)
        if name in ("grid-item-card", "card"):
            return f"**{self.inline(argument)}.** {self._blocks(body)}"
        if name in ("figure", "image"):
            return self._image(options.get("alt", ""), argument) + (f"\n\n*{self._blocks(body)}*" if body else "")
        if name == "math":
            return "$$\n" + "\n".join(filter(None, [argument, body])) + "\n$$"
        if name in ("code-block", "code"):
            return f"```{argument}\n{body}\n```"
        if name in ("toctree", "tableofcontents"):
            return ""
        raise Unknown(f"directive {{{name}}} has no plain form yet: add it to _ext/plain.py")

    # within a line

    def inline(self, text):
        def replace(match):
            try:
                if match["to"]:
                    return (self._image if match["image"] else self._local_link)(match["label"], match["to"])
                if match["role"]:
                    return self._role(match["role"], match["text"].strip().replace(r"\|", "|"))
            except (Unknown, quantities.QuantityError, UnknownExercise, UnknownClaim) as problem:
                self._warn(f"{match[0]}: {problem}", match[0])
            return match[0]  # a code span says what it says

        return SPAN.sub(replace, text)

    def _role(self, name, text):
        if name in WRAPPED:
            return WRAPPED[name].format(text)
        if name == "quantity":
            shown, _, verified = quantities.render(text)
            return shown if verified else shown + quantities.UNVERIFIED
        if name == "given":
            id, _, key = text.rpartition(".")
            shown = find(id).draw().shown
            if key not in shown:
                raise Unknown(f"exercise {id!r} has no given {key!r}")
            return shown[key]
        if name == "claim":
            return (
                "(" + self._href(f"{text}: {claim(text)['verdict']}", "lectures/claims", f"claim-{text.lower()}") + ")"
            )
        if name.startswith("cite"):
            return self._cite(name, text)
        title, target = (m[1], m[2]) if (m := TITLED.match(text)) else (None, text)
        if name == "doc":
            docname = target.lstrip("/").removesuffix(".md")
            if docname in self.env.titles:
                return self._href(title or self.env.titles[docname].astext(), docname)
        if name in ("ref", "numref"):
            known = self.env.get_domain("std").labels.get(target.lower()) or self.env.get_domain("std").anonlabels.get(
                target.lower()
            )
            if known and (title or len(known) > 2):
                return self._href(title or known[2], known[0], known[1])
        if name == "eq":
            return f"({target})"
        raise Unknown(f"nothing known by the name {target!r}")

    def _cite(self, name, keys):
        domain = self.env.get_domain("cite")
        parts = []
        for key in (k.strip() for k in keys.split(",")):
            found = next((c for c in domain.citations if c.key == key), None)
            if found is None:
                raise Unknown(f"no source {key!r} in the bibliography")
            text = " ".join(found.formatted_entry.text.render(Backend()).split())
            self.cited[key] = re.sub(r"\\([.,:;+#=()~-])", r"\1", text)  # pybtex escapes more than Markdown asks for
            people = found.entry.persons.get("author") or found.entry.persons.get("editor") or []
            last = [" ".join(p.prelast_names + p.last_names) for p in people]
            who = last[0] if len(last) == 1 else " and ".join(last) if len(last) == 2 else f"{last[0]} *et al.*"
            parts.append((who.replace("{", "").replace("}", ""), found.entry.fields.get("year", "")))
        if ":t" in name:
            return ", ".join(f"{who} [{year}]" for who, year in parts)
        return "[" + "; ".join(f"{who}, {year}" for who, year in parts) + "]"

    def works(self):
        """The works cited so far, as a list, or an empty string."""
        lines = [f"- {text}" for text in sorted(self.cited.values(), key=lambda t: re.sub(r"\W", "", t))]
        return "**Works cited**\n\n" + "\n".join(lines) if lines else ""

    def _href(self, text, docname, anchor=""):
        """A link to the site where its address is known, else to the neighbouring notebook, else the text alone."""
        site = address.of(self.app).site
        if site:
            return f"[{text}]({site}{docname}.html{'#' + anchor if anchor else ''})"
        if docname != self.docname and (self.app.outdir.parent / "jupyter_execute" / f"{docname}.ipynb").exists():
            return f"[{text}](../{docname}.ipynb)"
        return text

    def _local_link(self, text, target):
        docname = str((Path("/") / self.docname).parent.joinpath(target.partition("#")[0]).resolve()).lstrip("/")
        docname = docname.removesuffix(".md")
        if docname not in self.env.titles:
            raise Unknown("leads to no page")
        return self._href(text or self.env.titles[docname].astext(), docname)

    def _image(self, alt, source):
        path = Path(self.app.srcdir, source.lstrip("/")) if source.startswith("/") else self.source.parent / source
        if not path.is_file():
            raise Unknown(f"no image {source!r}")
        if path.stat().st_size > LARGEST_IMAGE:
            return f"![{alt}]({address.of(self.app).site}_images/{path.name})"
        kind = mimetypes.guess_type(path)[0]
        return f"![{alt}](data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()})"
