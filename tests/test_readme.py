"""What the README shows is what the command prints."""

import re

import pytest

from tests.pages import ROOT
from threeledgers import cli

SHOWN = re.findall(
    r"```console\n\$ threeledgers (.*?) \| tail -(\d+)\n(.*?)```", (ROOT / "README.md").read_text(), re.S
)


def test_three_commands_are_shown():
    assert len(SHOWN) == 3


@pytest.mark.parametrize("command, lines, output", SHOWN, ids=["8 or 64", "which batch", "what it waits for"])
def test_readme_shows_what_is_printed(capsys, command, lines, output):
    assert cli.main(command.split()) == 0
    assert output.splitlines() == capsys.readouterr().out.splitlines()[-int(lines) :]
