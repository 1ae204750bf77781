"""Sphinx extensions of the book, one concern a file, and the driver that builds it (``python -m _ext.build``)."""
