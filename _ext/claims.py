"""``{claim}`C05-03` `` links a sentence to the list of claims; ``{claims-list}`` prints that list with links back.

A claim counts as treated on a page where a cell calls ``witness(…, claim="C05-03")`` (proven or corrected by a count) or a
sentence carries the role (corrected or marked in words).
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective, SphinxRole

from threeledgers.witness import CLAIMS, UnknownClaim, claim, claims

PAGE = "lectures/claims"
IN_CELL = re.compile(r"""\bclaim\s*=\s*["']([\w-]+)["']""")
IN_PROSE = re.compile(r"\{claim\}`([\w-]+)`")


class Claim(SphinxRole):
    def run(self):
        try:
            row = claim(self.text)
        except UnknownClaim as error:
            message = self.inliner.reporter.error(str(error.args[0]), line=self.lineno)
            return [self.inliner.problematic(self.rawtext, self.rawtext, message)], [message]
        here = self.env.docname
        uri = self.env.app.builder.get_relative_uri(here, PAGE) + f"#claim-{self.text.lower()}"
        link = nodes.reference(
            "", "", nodes.Text(f"{self.text}: {row['verdict']}"), refuri=uri, internal=True, classes=["tl-claim"]
        )
        seen = self.env.temp_data.setdefault("tl_claims", set())
        if self.text not in seen:  # the first mention is where the list of claims points to
            seen.add(self.text)
            link["ids"] = [f"said-{self.text.lower()}"]
        return [link], []


class ClaimsList(SphinxDirective):
    def run(self):
        places = self._places()
        self.env.note_dependency(str(CLAIMS))
        result = []
        for lecture in dict.fromkeys(row["lecture"] for row in claims().values()):
            rows = [row for row in claims().values() if row["lecture"] == lecture]
            section = nodes.section("", nodes.title("", lecture), ids=[f"claims-{lecture.replace('_', '-')}"], names=[])
            section += [self._entry(row, places.get(row["id"], [])) for row in rows]
            result.append(section)
        return result

    def _places(self):
        """claim id -> [(docname, anchor, how)], from the text of every page."""
        found = {}
        for docname in sorted(self.env.found_docs):
            path = Path(self.env.doc2path(docname))
            if path.suffix != ".md" or docname == PAGE:
                continue
            text = path.read_text(encoding="utf8")
            marks = [(id, f"witness-{id.lower()}", "witnessed") for id in dict.fromkeys(IN_CELL.findall(text))]
            marks += [(id, f"said-{id.lower()}", "discussed") for id in dict.fromkeys(IN_PROSE.findall(text))]
            if marks:
                self.env.note_dependency(str(path))
            for id, anchor, how in marks:
                found.setdefault(id, []).append((docname, anchor, how))
        return found

    def _entry(self, row, places):
        entry = nodes.container("", classes=["tl-claim-entry"], ids=[f"claim-{row['id'].lower()}"])
        head = nodes.paragraph("", "", nodes.strong("", row["id"]), nodes.Text(" "))
        head += nodes.inline("", row["verdict"], classes=["tl-verdict", f"tl-{row['verdict'].replace(' ', '-')}"])
        head += nodes.Text(" “" + row["claim"] + "”")
        entry += head
        if row["note"]:
            entry += nodes.paragraph("", row["note"])
        last = nodes.paragraph("", f"Source: {row['source']}. " if row["source"] else "", classes=["tl-small"])
        for docname, anchor, how in places:
            uri = self.env.app.builder.get_relative_uri(self.env.docname, docname)
            name = f"{how} in {docname.rpartition('/')[2]}"
            last += [nodes.reference("", name, refuri=f"{uri}#{anchor}", internal=True), nodes.Text(" ")]
        if not places:
            last += nodes.Text("Not yet in a lecture.")
        entry += last
        return entry


def setup(app):
    app.add_role("claim", Claim())
    app.add_directive("claims-list", ClaimsList)
    return {"version": "1", "parallel_read_safe": True}
