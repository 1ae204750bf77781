"""A built page as a file: its ids, links, loads, headings; which files the site has."""

import gzip
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from _ext import address
from tests.pages import ROOT, SITE

FILES = sorted(p for p in SITE.rglob("*.html") if "_static" not in p.parts)


class Parsed(HTMLParser):
    """Ids, links and loaded files of a page."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loads, self.headings, self.images, self.meta = [], [], [], 0, [], {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids += [given["id"]] if given.get("id") else []
        self.headings += tag == "h1"
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in ("script", "img", "iframe", "source", "audio", "video") and given.get("src"):
            self.loads.append(given["src"])
        if tag == "link" and given.get("href") and given.get("rel") != "canonical":
            self.loads.append(given["href"])
        if tag == "img":
            self.images.append(given.get("alt"))
        if tag == "meta":
            self.meta[given.get("name") or given.get("property") or given.get("http-equiv")] = given.get("content")


@cache
def parsed(path):
    return Parsed(path.read_text(encoding="utf8"))


def redirects(path):
    """Where a page that only leads elsewhere leads, or an empty string."""
    return (parsed(path).meta.get("refresh") or parsed(path).meta.get("Refresh") or "").partition("url=")[2]


PAGES = [p for p in FILES if not redirects(p)]
REDIRECTS = [p for p in FILES if redirects(p)]


def name(path):
    return path.relative_to(SITE).as_posix()


def target_of(source, link):
    """The file a local link names; one that starts with / (the page for wrong addresses) counts from the site's root."""
    path = unquote(urlsplit(link).path)
    if not path:
        return source
    if path.startswith("/"):
        return (SITE / path.removeprefix(urlsplit(address.find(ROOT).site).path or "/").lstrip("/")).resolve()
    return (source.parent / path).resolve()


def leads_nowhere(source, link):
    """Why a link of a page is broken, or an empty string."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return ""
    target = target_of(source, link)
    if not target.is_file():
        return f"{link}: no such file"
    if parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in parsed(target).ids:
        return f"{link}: no such anchor"
    return ""


def weight(path):
    """Bytes of a page and the scripts, styles and pictures it names, each gzipped; fonts come on top."""
    files = {path} | {target_of(path, link) for link in parsed(path).loads if not urlsplit(link).netloc}
    return sum(len(gzip.compress(Path(f).read_bytes(), 6)) for f in files if f.is_file())
