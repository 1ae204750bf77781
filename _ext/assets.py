"""Everything a page asks for comes from the site itself, and no page throws.

The theme's Font Awesome script (half a megabyte on every page; the icon fonts draw the same icons) is left out by our
templates; each template is checked against the theme it was written for, so that an update cannot pass unseen.
"""

import hashlib
from pathlib import Path

import pydata_sphinx_theme
import sphinx_book_theme

TEMPLATES = Path(__file__).parent / "templates"
WRITTEN_FOR = {  # sha256 of the theme files that our templates stand in for
    Path(pydata_sphinx_theme.__file__).parent
    / "theme/pydata_sphinx_theme/static/webpack-macros.html": "b1f893e4416c7cc7",
    Path(pydata_sphinx_theme.__file__).parent
    / "theme/pydata_sphinx_theme/components/search-button-field.html": "518dda81dd8cd06a",
    Path(pydata_sphinx_theme.__file__).parent
    / "theme/pydata_sphinx_theme/components/navbar-logo.html": "4eeb463826bddfe4",
    Path(sphinx_book_theme.__file__).parent / "theme/sphinx_book_theme/layout.html": "2cd2fbbe2caedf3a",
}


class ThemeChanged(RuntimeError):
    """A theme file changed since our template was written for it."""


def config_inited(app, config):
    for path, expected in WRITTEN_FOR.items():
        found = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        if found != expected:
            raise ThemeChanged(
                f"{path.name} of the theme is {found}, {TEMPLATES.name}/ was written for {expected}: compare and update"
            )
    config.templates_path.insert(0, str(TEMPLATES))
    config.nb_ipywidgets_js = {
        "widget-host.js": {"defer": "defer"}
    }  # html-manager and require.js would come from a CDN


def build_finished(app, error):
    if error or app.builder.format != "html":
        return
    for pattern in (
        "scripts/fontawesome.js*",
        "**/*.map",
        "**/*.ttf",
        "locales/**/*.?o",
        "sbt-webpack-macros.html",
        "webpack-macros.html",
    ):
        for path in Path(app.outdir, "_static").glob(pattern):
            path.unlink()


def setup(app):
    app.connect("config-inited", config_inited, priority=10)
    app.connect("build-finished", build_finished, priority=900)
    return {"version": "1", "parallel_read_safe": True}
