"""Where a copy of the book lives: a fork's buttons open the fork, no token is ever printed, a wrong address is refused."""

import subprocess

import pytest
from sphinx.errors import ExtensionError

from _ext.address import Address, find

REMOTES = {
    "https://github.com/someone/three-ledgers.git": "someone/three-ledgers",
    "https://github.com/someone/three.ledgers": "someone/three.ledgers",
    "git@github.com:someone/book.git": "someone/book",
    "ssh://git@github.com/someone/book.git": "someone/book",
    "ssh://git@github.com:22/someone/book": "someone/book",
    "https://ghp_s3cret@github.com/someone/book.git": "someone/book",
    "https://user:ghp_s3cret@github.com/someone/book": "someone/book",
    "https://gitlab.com/someone/book.git": "",
    "https://github.com.example.org/someone/book": "",
    "https://example.org/github.com/someone/book": "",
    "/srv/git/book.git": "",
}


@pytest.fixture
def clone(tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


def remote(folder, url):
    subprocess.run(["git", "-C", str(folder), "remote", "add", "origin", url], check=True)


@pytest.mark.parametrize("url, repository", REMOTES.items())
def test_the_remote_names_the_repository_and_keeps_its_token(clone, url, repository):
    remote(clone, url)
    here = find(clone, {})
    assert here.repository == repository
    assert "s3cret" not in repr(here) + here.colab("lectures/stride") + here.github + here.site
    assert here.site == (f"https://someone.github.io/{repository.partition('/')[2]}/" if repository else "")


def test_without_a_branch_of_notebooks_there_is_no_colab_address(clone):
    remote(clone, "https://github.com/someone/book")
    assert find(clone, {}).colab("lectures/stride") == ""
    told = find(clone, {"THREELEDGERS_NOTEBOOKS_BRANCH": "notebooks"})
    assert told.colab("lectures/stride") == (
        "https://colab.research.google.com/github/someone/book/blob/notebooks/lectures/stride.ipynb"
    )
    git = ["git", "-C", str(clone), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    subprocess.run([*git, "update-ref", "refs/remotes/origin/notebooks", "HEAD"], check=True)
    assert find(clone, {}).branch == "notebooks"


def test_ci_says_the_repository_and_a_subfolder_is_nobodys_clone(clone):
    remote(clone, "https://github.com/someone/book")
    assert find(clone, {"GITHUB_REPOSITORY": "fork/book"}).repository == "fork/book"
    assert find(clone, {"GITHUB_REPOSITORY": "no slash"}).repository == "someone/book"
    (clone / "unpacked").mkdir()
    assert find(clone / "unpacked", {}) == Address()


def test_the_owners_own_site_has_no_folder(clone):
    assert find(clone, {"GITHUB_REPOSITORY": "Someone/someone.github.io"}).site == "https://someone.github.io/"


def test_a_given_address_counts_and_a_wrong_one_is_refused(clone):
    assert find(clone, {"THREELEDGERS_SITE_URL": "https://book.example.org/v1"}).site == "https://book.example.org/v1/"
    for wrong in ("book.example.org", "ftp://x.org", "https://user:s3cret@x.org", "https://x.org/?a=1", "javascript:x"):
        with pytest.raises(ExtensionError, match="must be a plain http or https address") as caught:
            find(clone, {"THREELEDGERS_SITE_URL": wrong})
        assert "s3cret" not in str(caught.value)
    with pytest.raises(ExtensionError, match="name of a git branch"):
        find(clone, {"THREELEDGERS_NOTEBOOKS_BRANCH": "a b"})
