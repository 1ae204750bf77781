"""Runs functions of a widget's module in node, many inputs at once."""

import json
import subprocess
from importlib import import_module

from _ext import node
from threeledgers.widgets import module


def run(module, name, inputs, folder):
    """Results of ``module.default[name](*arguments)`` for each list of arguments; undefined becomes None."""
    path = folder / "module.mjs"
    path.write_text(module, encoding="utf8")
    program = (
        f"const m = (await import({json.dumps(path.as_uri())})).default;"
        "const inputs = JSON.parse(require('fs').readFileSync(0, 'utf8'));"
        f"console.log(JSON.stringify(inputs.map(a => m.{name}(...a) ?? null)));"
    )
    program = f"(async () => {{{program}}})().catch(e => {{ console.error(e); process.exit(1); }});"
    done = subprocess.run(
        [node.find(), "-e", program], input=json.dumps(inputs), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def script(name):
    """A widget's module as the page carries it."""
    constants = getattr(import_module(f"threeledgers.widgets.{name}"), "constants", dict)()
    return module(name, **{key: json.dumps(value) for key, value in constants.items()})


def traces(name, cases, folder):
    """``[(settings, trace), …]``: what a widget's script makes of settings."""
    return list(zip(cases, run(script(name), "trace", [[s] for s in cases], folder), strict=True))
