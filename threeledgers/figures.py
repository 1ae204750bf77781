"""One style for every figure: ledger colours, alt text, legible on light and dark pages and in print.

A figure goes onto the page as inline SVG whose text and axes take the page's own text colour, so the same picture serves
both colour schemes; its words stay text, for search and for screen readers.
"""

import hashlib
import html
import io
import re

import matplotlib
from matplotlib.figure import Figure

# Okabe & Ito's palette: told apart with any colour vision. The page may override each through its CSS variable.
COLOURS = {"flops": "#d55e00", "memory": "#0072b2", "communication": "#009e73", "muted": "#808080"}

XLINK = "http://www.w3.org/1999/xlink"
INK = "#010203"  # drawn in this colour, shown in the page's text colour
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "threeledgers",
    "font.family": "sans-serif",
    "font.size": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "lines.linewidth": 2,
    "hatch.linewidth": 0.8,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
}


def new(width=6.4, height=2.6, rows=1, columns=1, **keywords):
    """A figure and its axes, and the book's style switched on for what follows; sizes in inches, 100 pixels each."""
    matplotlib.rcParams.update(STYLE)
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, **keywords)


class Drawing:
    """A finished figure: SVG on a page, its ``alt`` text wherever only text is shown."""

    def __init__(self, figure, alt):
        if not alt.strip():
            raise ValueError("a figure needs alt text: what a reader who cannot see it should learn from it")
        for axes in figure.axes:
            if axes.axison and not (axes.get_xlabel() and axes.get_ylabel()):
                raise ValueError("every axis needs a label with its unit (or axes.set_axis_off())")
        self.alt = " ".join(alt.split())
        self.svg = _svg(figure, self.alt)

    def _repr_html_(self):
        return f'<figure class="tl-figure" tabindex="0">{self.svg}</figure>'

    def __repr__(self):
        return f"Figure: {self.alt}"


def _svg(figure, alt):
    buffer = io.StringIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.S)
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>\s*", "", svg, flags=re.S)  # its "*" would reach the whole page
    width, box = re.search(r'<svg [^>]*?width="([\d.]+)pt"[^>]*?viewBox="([^"]*)"', svg).groups()
    head = f'<svg role="img" aria-label="{html.escape(alt)}" class="tl-svg" viewBox="{box}"'
    head += f' style="max-width: {float(width) / 0.72:.0f}px; stroke-linejoin: round" xmlns:xlink="{XLINK}">'
    svg = re.sub(r"<svg [^>]*>", lambda _: head, svg, count=1)
    prefix = "f" + hashlib.sha256(alt.encode()).hexdigest()[:8]  # ids of several figures must not collide on one page
    svg = re.sub(r'(id="|url\(#|href="#)', lambda m: f"{m[1]}{prefix}-", svg)
    svg = svg.replace(INK, "currentColor")
    for name, colour in COLOURS.items():
        svg = svg.replace(colour, f"var(--tl-{name}, {colour})")
    return re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", svg)


def draw(figure, alt):
    """Finish a figure. Raises ValueError without alt text or where an axis has no label."""
    return Drawing(figure, alt)


def cells(axes, values, y=0, colours=None, texts=None, height=0.8):
    """A strip of storage cells at height ``y``: one box per value; ``colours`` are names of COLOURS or None."""
    from matplotlib.patches import Rectangle

    for x, value in enumerate(values):
        name = colours[x] if colours else None
        face = COLOURS[name] if name else "none"
        axes.add_patch(Rectangle((x, y), 1, height, facecolor=face, alpha=0.35 if name else 1, edgecolor="none"))
        axes.add_patch(Rectangle((x, y), 1, height, facecolor="none", edgecolor=INK, linewidth=0.8))
        axes.text(
            x + 0.5, y + height / 2, str(texts[x] if texts else value), ha="center", va="center", color=INK, fontsize=10
        )
