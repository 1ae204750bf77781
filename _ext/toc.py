"""Sphinx reads the pages of ``_toc.yml`` and looks for no others: a walk through ``node_modules`` costs more than a page."""

from pathlib import Path

from sphinx_external_toc.parsing import parse_toc_yaml


def config_inited(app, config):
    config.include_patterns = [f"{page}.*" for page in parse_toc_yaml(Path(app.srcdir, config.external_toc_path))]


def setup(app):
    app.connect("config-inited", config_inited, priority=10)
    return {"version": "1", "parallel_read_safe": True}
