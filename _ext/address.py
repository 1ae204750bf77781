"""Where this copy of the book lives: its GitHub repository, its branch of notebooks, the address it is read at.

All of it comes from the clone, so that a fork's buttons open the fork: the repository from ``GITHUB_REPOSITORY`` or the git
remote, the address from ``THREELEDGERS_SITE_URL`` or GitHub Pages' rule. Without a GitHub remote there is none of it: pages
then offer downloads only, and no map of the site is written. A remote's address is never printed: it may carry a token.
"""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from sphinx.errors import ExtensionError

NAME = r"([A-Za-z0-9][\w.-]*)/([\w.-]+?)"
REMOTE = re.compile(rf"(?:https?://(?:[^@/\s]+@)?|(?:ssh://)?git@)github\.com(?::443|:22)?[:/]{NAME}(?:\.git)?/?")
BRANCH = "notebooks"


@dataclass(frozen=True)
class Address:
    """``repository`` is owner/name or ""; ``branch`` is "" where none is published; ``site`` ends with / or is ""."""

    repository: str = ""
    branch: str = ""
    site: str = ""

    @property
    def github(self):
        return f"https://github.com/{self.repository}" if self.repository else ""

    def colab(self, page):
        """Address that opens a page's notebook in Colab, or "" while no branch holds it."""
        if not (self.repository and self.branch):
            return ""
        return f"https://colab.research.google.com/github/{self.repository}/blob/{self.branch}/{page}.ipynb"


def find(root, environment=os.environ):
    """The address of the checkout in ``root``. Raises ExtensionError for a THREELEDGERS_SITE_URL that is no http address."""
    repository = _repository(root, environment)
    branch = environment.get("THREELEDGERS_NOTEBOOKS_BRANCH", "")
    if branch and not re.fullmatch(r"[\w][\w./-]*", branch):
        raise ExtensionError("THREELEDGERS_NOTEBOOKS_BRANCH must be the name of a git branch, for example notebooks")
    if not branch and repository and _git(root, "rev-parse", "--verify", "--quiet", f"refs/remotes/origin/{BRANCH}"):
        branch = BRANCH
    return Address(repository, branch if repository else "", _site(repository, environment))


def _repository(root, environment):
    name = environment.get("GITHUB_REPOSITORY", "")
    if re.fullmatch(NAME, name):
        return name
    top = _git(root, "rev-parse", "--show-toplevel")
    if not top or Path(top).resolve() != Path(root).resolve():  # an unpacked copy inside somebody else's repository
        return ""
    match = REMOTE.fullmatch(_git(root, "remote", "get-url", "origin"))
    return f"{match[1]}/{match[2]}" if match else ""


def _site(repository, environment):
    if given := environment.get("THREELEDGERS_SITE_URL", ""):
        parts = urlsplit(given)
        if (
            parts.scheme not in ("http", "https")
            or not parts.hostname
            or parts.username
            or parts.query
            or parts.fragment
        ):
            raise ExtensionError(
                "THREELEDGERS_SITE_URL must be a plain http or https address, for example https://someone.github.io/threeledgers/"
            )
        return given.rstrip("/") + "/"
    owner, _, name = repository.partition("/")
    if not name:
        return ""
    host = f"https://{owner.lower()}.github.io/"
    return host if name.lower() == f"{owner.lower()}.github.io" else f"{host}{name}/"


def _git(root, *words):
    try:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def config_inited(app, config):
    here = find(app.srcdir)
    config.tl_address = "\n".join([here.repository, here.branch, here.site])
    config.html_baseurl = config.ogp_site_url = here.site
    config.notfound_urls_prefix = urlsplit(here.site).path or "/"


def of(app):
    """The address of the book that is being built."""
    return Address(*app.config.tl_address.split("\n"))


def setup(app):
    app.add_config_value("tl_address", "", "html")  # a changed remote rewrites the pages and runs nothing
    app.connect("config-inited", config_inited, priority=20)
    return {"version": "1", "parallel_read_safe": True}
