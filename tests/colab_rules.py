"""A pytest plugin beside nbval: what may differ between the published outputs and the same cells in Colab's environment.

Two things, and no more. matplotlib 3.10 and 3.11 leave a little more or less room for words, so coordinates in a figure may
differ by MOVED points: its words, colours, styles, order and number of parts may not. ipywidgets 7 cuts the text behind a
widget after CUT characters, so what it kept must be how the published text begins.
"""

import re

import pytest
from nbval import plugin

MOVED = 1.5  # of 72 to an inch; seen: up to 0.94
CUT = 110
WIDGET = "application/vnd.jupyter.widget-view+json"
SVG = re.compile(r"<svg\b.*?</svg>", re.S)
GEOMETRY = re.compile(r'(?<=\s)(?:d|x|y|width|height|transform|points)="[^"]*"')
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
NAMED = re.compile(r"(?<=-[pm])[0-9a-f]{10}\b")  # clip paths and markers are named by a hash of their coordinates


def apart(html):
    """HTML without the coordinates of its figures, and those coordinates."""
    numbers = []

    def taken(number):
        numbers.append(float(number[0]))
        return "#"

    def emptied(figure):
        return GEOMETRY.sub(lambda attribute: NUMBER.sub(taken, attribute[0]), NAMED.sub("#", figure[0]))

    return SVG.sub(emptied, html), numbers


def moved(one, other):
    """By how many points two pieces of HTML differ; None where they differ in anything but coordinates of figures."""
    (words, here), (others, there) = apart(one), apart(other)
    if words != others or len(here) != len(there):
        return None
    return max((abs(a - b) for a, b in zip(here, there, strict=True)), default=0.0)


def excused(told, seen):
    """What may differ between two outputs' data, as {mimetype: (rule, how much)}: ``told`` is published, ``seen`` was run."""
    found = {}
    if told.get("text/html") != seen.get("text/html") and told.get("text/html") and seen.get("text/html"):
        distance = moved(told["text/html"], seen["text/html"])
        if distance is not None and distance <= MOVED:
            found["text/html"] = ("moved", distance)
    text, kept = told.get("text/plain", ""), seen.get("text/plain", "")
    if WIDGET in told and WIDGET in seen and len(text) > CUT and kept == text[:CUT] + "…":
        found["text/plain"] = ("cut", len(text) - CUT)
    return found


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    compare = plugin.IPyNbCell.compare_outputs

    def compare_outputs(self, test, ref, skip_compare=None):
        for told, seen in zip(ref, test, strict=False):  # nbval complains about a missing or an extra output
            for kind, (rule, amount) in excused(told.get("data", {}), seen.get("data", {})).items():
                self.user_properties.append((rule, amount))  # travels through xdist
                seen["data"][kind] = told["data"][kind]
        return compare(self, test, ref, skip_compare)

    plugin.IPyNbCell.compare_outputs = compare_outputs


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter):
    reports = [r for rs in terminalreporter.stats.values() for r in rs if getattr(r, "when", "") == "call"]
    far, cut = ([n for r in reports for key, n in r.user_properties if key == rule] for rule in ("moved", "cut"))
    if far:
        text = (
            f"rules: {len(far)} figures have coordinates up to {max(far):.2f} points off (of {MOVED}), all else equal"
        )
        terminalreporter.write_line(text)
    if cut:
        terminalreporter.write_line(
            f"rules: ipywidgets 7 cut {len(cut)} of the texts behind widgets after {CUT} characters"
        )
