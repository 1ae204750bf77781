"""The second environment's own rules: what its list and the install cell may say, and when two figures are the same."""

import subprocess

import pytest

from tests import colab, colab_environment
from tests.colab_rules import CUT, MOVED, WIDGET, excused, moved

CELL = 'import importlib.util\n\nif importlib.util.find_spec("threeledgers") is None:\n    %pip install {}'
SVG = '<p>1</p><svg viewBox="0 0 9 9"><path d="M {x} 2.5e-1 L 3 4" clip-path="url(#f0-p{id})"/><text x="1">{t}</text></svg>'
DRAWN = {"x": 1, "t": "0.5", "id": "0123456789"}


@pytest.mark.parametrize(
    "asked",
    [
        "--quiet ../../wheel/threeledgers-0.1.0-py3-none-any.whl",
        '-q "threeledgers @ git+https://x.org/a@c0ffee"',
        "threeledgers",
    ],
)
def test_the_install_cell_gets_our_wheel(asked):
    made = colab.with_wheel(CELL.format(asked), "/a b/our.whl")
    flags = [word for word in asked.split() if word.startswith("-")]
    assert made == CELL.format(" ".join([*flags, "'/a b/our.whl'"]))


@pytest.mark.parametrize(
    "cell",
    [
        CELL.format("threeledgers torch"),
        CELL.format("--quiet"),
        CELL.format("threeledgers-extra"),
        CELL.format("-U ipywidgets"),
        CELL.format("threeledgers") + "\n    %pip install rich",
        CELL.format("threeledgers").replace("%pip", "!pip"),
        CELL.format("threeledgers").replace("%pip install", "%pip download"),
        "import threeledgers",
    ],
)
def test_an_install_cell_that_brings_anything_else_is_refused(cell):
    with pytest.raises(colab.Failed, match="install cell must"):
        colab.with_wheel(cell, "our.whl")


def test_the_list_pins_the_old_front_end():
    pins = colab_environment.listed()
    assert pins["ipywidgets"].startswith("7.7.") and pins["ipython"].startswith("7.34.")
    assert {"anywidget", "numpy", "matplotlib", "torch", "ipykernel", "jedi"} < set(pins) and "threeledgers" not in pins
    assert not {"pytest", "nbval"} & set(pins), (
        "the second environment holds what Colab's kernel meets, and no test tool"
    )


def test_a_loose_line_of_the_list_is_named(tmp_path, monkeypatch):
    path = tmp_path / "list.txt"
    path.write_text("# told\nrich==13.9.4\nnumpy>=2\n")
    monkeypatch.setattr(colab_environment, "LIST", path)
    with pytest.raises(colab.Failed, match=r"list.txt: numpy>=2: each line must be name==version"):
        colab_environment.listed()


def test_what_differs_from_the_list_is_named(monkeypatch):
    monkeypatch.setattr(colab_environment, "listed", lambda: {"a": "1", "b": "2"})
    assert colab_environment.wrong({"a": "1", "b": "2", "nvidia-cublas": "13"}) == []
    assert colab_environment.wrong({"a": "3", "c": "4"}) == ["a 1 → 3", "b 2 → missing", "c 4 is not listed"]


def test_nothing_of_this_environment_reaches_the_other(monkeypatch):
    for name in ("PYTHONPATH", "JUPYTER_CONFIG_PATH", "MPLBACKEND", "VIRTUAL_ENV", "PYTEST_ADDOPTS"):
        monkeypatch.setenv(name, "/somewhere")
    assert "/somewhere" not in colab_environment.environment().values()


def test_a_command_that_fails_says_which_step_and_why(monkeypatch, tmp_path):
    said = subprocess.CompletedProcess([], 1, "", "WARNING: old\nERROR: no route\n")
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: said)
    with pytest.raises(colab.Failed, match=r"^the step\n  ERROR: no route$"):
        colab_environment.call("pip", failing="the step")


@pytest.mark.parametrize("change", [{"x": 1 + MOVED / 2}, {"x": -0.25}, {"id": "ffffffffff"}])
def test_a_figure_that_only_moved_is_the_same(change):
    assert moved(SVG.format(**DRAWN), SVG.format(**DRAWN | change)) <= MOVED


def test_a_curve_that_went_elsewhere_has_moved():
    assert moved(SVG.format(**DRAWN), SVG.format(**DRAWN | {"x": 1 + 2 * MOVED})) == 2 * MOVED


@pytest.mark.parametrize(
    "new",
    [
        SVG.format(**DRAWN | {"t": "0.6"}),
        SVG.format(**DRAWN | {"x": "1 2"}),
        SVG.format(**DRAWN).replace("<p>1", "<p>2"),
        SVG.format(**DRAWN).replace("0 0 9 9", "0 0 9 8"),
        SVG.format(**DRAWN).replace("</svg>", "<g/></svg>"),
    ],
)
def test_a_figure_with_other_words_or_parts_is_another(new):
    assert moved(SVG.format(**DRAWN), new) is None


def test_figures_and_cut_texts_are_excused_and_no_more():
    html = {"text/html": SVG.format(**DRAWN)}
    near, far = ({"text/html": SVG.format(**DRAWN | {"x": x})} for x in (1.25, 9))
    assert excused(html, near) == {"text/html": ("moved", 0.25)}
    assert excused(html, html) == excused(html, far) == excused(html, {}) == {}
    text, widget = "a" * CUT + "bc", {WIDGET: {}}
    told = widget | {"text/plain": text}
    assert excused(told, widget | {"text/plain": text[:CUT] + "…"}) == {"text/plain": ("cut", 2)}
    for other in ("b" * CUT + "…", text[: CUT - 1] + "…", text[:CUT], ""):
        assert excused(told, widget | {"text/plain": other}) == {}
    assert excused({"text/plain": text}, {"text/plain": text[:CUT] + "…"}) == {}
