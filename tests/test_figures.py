"""Figures: text stays text, ink follows the page, and what a reader cannot see is said."""

import re

import pytest

from threeledgers import figures


def drawing(alt="Two bars: one is 1, the other 2."):
    figure, axes = figures.new()
    axes.bar([0, 1], [1, 2], color=figures.COLOURS["memory"])
    axes.set(xlabel="which", ylabel="bytes (B)")
    return figures.draw(figure, alt)


def test_ink_and_colours_follow_the_page():
    svg = drawing().svg
    assert "currentColor" in svg and figures.INK not in svg and "var(--tl-memory, #0072b2)" in svg
    assert ">bytes (B)</text>" in svg and "<style" not in svg and "<script" not in svg
    assert not re.search(r'id="(?!f[0-9a-f]{8}-)', svg), "ids carry the figure's prefix"


def test_the_same_figure_is_the_same_text():
    assert drawing().svg == drawing().svg != drawing("Another text.").svg


def test_alt_text():
    shown = drawing('Less than <2> and "more"')
    assert repr(shown) == 'Figure: Less than <2> and "more"'
    assert 'role="img" aria-label="Less than &lt;2&gt; and &quot;more&quot;"' in shown.svg
    with pytest.raises(ValueError, match="alt text"):
        drawing("  ")


def test_axes_need_labels():
    figure, axes = figures.new()
    axes.set_xlabel("only one")
    with pytest.raises(ValueError, match="label with its unit"):
        figures.draw(figure, "text")
    axes.set_axis_off()
    figures.draw(figure, "text")


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_ledger_colours_are_legible_in_both_schemes():
    from tests.pages import ROOT

    css = (ROOT / "assets/site.css").read_text()
    light, dark = css.split('html[data-theme="dark"] {', 1)
    for name, colour in figures.COLOURS.items():
        on_light = re.search(rf"--tl-{name}: (#\w+)", light)[1]
        on_dark = re.search(rf"--tl-{name}: (#\w+)", dark)[1]
        assert (
            contrast(on_light, "#ffffff") >= 3
            and contrast(on_dark, "#121212") >= 3
            and contrast(colour, "#ffffff") >= 3
        )
