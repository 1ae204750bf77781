"""The buttons of a page with code: download its notebook always, open it in Colab where the branch of notebooks is published."""

from _ext import address
from _ext.notebooks import published


def page_context(app, pagename, templatename, context, doctree):
    buttons = context.get("header_buttons")
    if buttons is None:
        return
    here = address.of(app)
    if doctree is not None and published(app, pagename) is not None:
        link = {
            "type": "link",
            "url": context["pathto"](f"notebooks/{pagename}.ipynb", 1),
            "text": ".ipynb",
            "tooltip": "Download the notebook with its outputs",
            "icon": "fas fa-code",
            "label": "download-notebook-button",
        }
        for group in buttons:
            if group.get("label") == "download-buttons":
                group["buttons"].insert(0, link)
        if colab := here.colab(pagename):
            buttons.insert(
                0,
                {
                    "type": "link",
                    "url": colab,
                    "text": "",
                    "tooltip": "Open in Colab",
                    "icon": "fas fa-rocket",
                    "label": "launch-colab-button",
                },
            )
    if here.github:
        buttons.insert(
            0,
            {
                "type": "link",
                "url": here.github,
                "text": "",
                "tooltip": "Source repository",
                "icon": "fab fa-github",
                "label": "source-repository-button",
            },
        )


def setup(app):
    app.connect("html-page-context", page_context, priority=900)
    return {"version": "1", "parallel_read_safe": True}
