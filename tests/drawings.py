"""A pytest plugin beside nbval: a figure drawn by another matplotlib is the same where only its layout moved a little.

Words, colours, styles, order and number of everything drawn are compared as they are; coordinates may differ by MOVED points.
Load it with ``-p tests.drawings`` where matplotlib is not the one that made the references; elsewhere every byte counts.
"""

import re
from itertools import zip_longest

import pytest
from nbval import plugin

MOVED = 1.5  # points of 1/72 inch; from matplotlib 3.10 to 3.11 the room kept for words differs by up to 0.94
SVG = re.compile(r"<svg\b.*?</svg>", re.S)
GEOMETRY = re.compile(r'(?<=\s)(?:d|x|y|width|height|transform|points)="[^"]*"')
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
NAMED = re.compile(r"(?<=-[pm])[0-9a-f]{10}\b")  # clip paths and markers are named by a hash of their coordinates
_compare = plugin.IPyNbCell.compare_outputs


def apart(html):
    """HTML without the coordinates of its drawings, and those coordinates."""
    numbers = []

    def taken(number):
        numbers.append(float(number[0]))
        return "#"

    def emptied(drawing):
        return GEOMETRY.sub(lambda attribute: NUMBER.sub(taken, attribute[0]), NAMED.sub("#", drawing[0]))

    return SVG.sub(emptied, html), numbers


def moved(one, other):
    """By how many points two pieces of HTML with drawings differ; None where they differ in anything but coordinates."""
    (words, here), (others, there) = apart(one), apart(other)
    if words != others or len(here) != len(there):
        return None
    return max((abs(a - b) for a, b in zip(here, there, strict=True)), default=0.0)


def compare_outputs(self, test, ref, skip_compare=None):
    for seen, told in zip_longest(test, ref, fillvalue={}):
        html, reference = seen.get("data", {}).get("text/html"), told.get("data", {}).get("text/html")
        if isinstance(html, str) and isinstance(reference, str) and html != reference and "<svg" in reference:
            distance = moved(reference, html)
            if distance is not None and distance <= MOVED:
                self.user_properties.append(("moved", distance))
                seen["data"]["text/html"] = reference
    return _compare(self, test, ref, skip_compare)


plugin.IPyNbCell.compare_outputs = compare_outputs


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter):
    reports = [r for rs in terminalreporter.stats.values() for r in rs if getattr(r, "when", "") == "call"]
    if found := [d for r in reports for key, d in r.user_properties if key == "moved"]:
        text = f"figures: {len(found)} differ in coordinates, by at most {max(found):.2f} of {MOVED} points, and in nothing else"
        terminalreporter.write_line(text)
