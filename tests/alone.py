"""A page with one widget on it, and whether the texts of its pictures can be read."""

import json

from _ext import light
from tests.pages import ROOT
from threeledgers import widget


def alone(name, change, scheme, folder):
    """Address of a page that holds only this widget, as the site shows it; ``change`` overrides its first settings."""
    view = widget(name, **change).view
    state = {"m": {"model_module": "anywidget", "state": {"_esm": view._esm, "settings": view.settings}}}
    told = light.once(json.dumps({"state": state}))
    kind = "application/vnd.jupyter.widget"
    html = (
        f'<!doctype html><html lang="en" data-theme="{scheme}"><meta charset="utf-8"><title>alone</title>'
        '<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">'
        f'<link rel="stylesheet" href="{(ROOT / "assets/site.css").as_uri()}">'
        "<script>addEventListener('error', e => console.error(e.message))</script>"
        f'<body style="margin: 16px; font: 16px sans-serif"><script type="{kind}-view+json">{{"model_id": "m"}}</script>'
        f'<script type="{kind}-state+json">{told}</script>'
        f'<script src="{(ROOT / "assets/widget-host.js").as_uri()}"></script></html>'
    )
    path = folder / "alone.html"
    path.write_text(html, encoding="utf8")
    return path.as_uri()


# what is wrong with the texts of the pictures: cut off at a side, lying on another, or small
FAULTS = """(() => {
  const faults = [];
  for (const svg of document.querySelectorAll('.tlw svg')) {
    const frame = svg.getBoundingClientRect(), scale = frame.width / svg.viewBox.baseVal.width;
    const texts = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect(), t]);
    texts.forEach(([a, p, t], n) => {
      if (p.left < frame.left - 1 || p.right > frame.right + 1 || p.top < frame.top - 2) faults.push(`${a} is cut`);
      if (parseFloat(getComputedStyle(t).fontSize) * scale < 11) faults.push(`${a} is small`);
      for (const [b, q] of texts.slice(n + 1))
        if (p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 2 && q.top < p.bottom - 2)
          faults.push(`${a} on ${b}`);
    });
  }
  return faults;
})()"""


def readable(visit, name, changes, folder, width, scheme):
    """Assert that a widget's pictures can be read and its page does not scroll sideways, at each of these settings."""
    for change in changes:
        opened = visit(alone(name, change, scheme, folder), "file://", viewport={"width": width, "height": 900})
        opened.page.wait_for_timeout(50)  # a picture is drawn again for the width that it gets
        assert opened.page.evaluate(FAULTS) == [], change
        assert opened.page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        assert opened.clean(), opened.complaints()
        opened.context.close()
