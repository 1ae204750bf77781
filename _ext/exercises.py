"""``{given}`stride-3.shape` ``: a number of an exercise's statement, or its ``answer``, from the exercise's own definition."""

from docutils import nodes
from sphinx.util.docutils import SphinxRole

from _ext.quantities import Number
from threeledgers.exercises import UnknownExercise, find


class Given(SphinxRole):
    def run(self):
        id, _, name = self.text.rpartition(".")
        try:
            shown = find(id).draw().shown
            if name not in shown:
                raise UnknownExercise(f"exercise {id!r} has no given {name!r}; it has {', '.join(shown)}")
        except UnknownExercise as error:
            message = self.inliner.reporter.error(f"given {self.text!r}: {error.args[0]}", line=self.lineno)
            return [self.inliner.problematic(self.rawtext, self.rawtext, message)], [message]
        text = shown[name].replace(" ", "\u00a0") if len(shown[name]) < 30 else shown[name]
        return [Number("", text, classes=["tl-given"], title=f"exercise {id}: {name}")], []


def doctree_read(app, doctree):
    """sphinx-exercise 1.2.1 gives the contents of every exercise of a page one and the same id; number them."""
    for number, section in enumerate(doctree.findall(nodes.section)):
        section["ids"] = [
            f"{i}-{number}" if i in ("exercise-content", "solution-content") else i for i in section["ids"]
        ]


def setup(app):
    app.add_role("given", Given())
    app.connect("doctree-read", doctree_read)
    return {"version": "1", "parallel_read_safe": True}
