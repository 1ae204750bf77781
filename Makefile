# make site: build the book · make test: build it and check it · make test-all: and count models of 7B to 405B, and run the
# notebooks where Colab's packages are · make serve: read it at http://localhost:8000 · make zip: one archive that needs no network
PYTHON ?= python3
PORT ?= 8000
PY := .venv/bin/python
export PYTHONDONTWRITEBYTECODE := 1
# A recipe line ends with $(call fail,<step>): when it fails, the step's name is the last thing on the screen.
comma := ,
fail = || { echo "make $@: the step '$(1)' failed; see above" >&2; exit 1; }

.PHONY: site zip test test-all colab torches serve environment node node-dev browser clean
.DEFAULT_GOAL := site

site: environment node
	@$(PY) -m _ext.build $(call fail,build the site)

zip: site
	@$(PY) -m _ext.bundle $(call fail,write the archive)

# Fastest failure first: what needs no site, then the site, then what readers get.
test: environment node-dev
	@echo "test: 1/5 style"
	@$(PY) -m ruff check --quiet $(call fail,ruff)
	@echo "test: 2/5 formulas, specs, simulators, counters, pages"
	@$(PY) -m pytest -q -n 2 -m "not site and not full" $(call fail,library tests)
	@echo "test: 3/5 the site"
	@$(PY) -m _ext.build $(call fail,build the site)
	@$(PY) -m tests.browser $(call fail,find or install a browser)
	@echo "test: 4/5 notebooks as published, run again and compared"
	@$(PY) -m pytest -q -n 2 --dist loadfile -p tests.nbval_site --nbval --nbval-current-env _build/html/notebooks $(call fail,published notebooks)
	@echo "test: 5/5 the built pages"
	@$(PY) -m pytest -q -n 2 -m site $(call fail,site tests)

test-all: test colab
	@echo "test-all: the ledgers of 7B to 405B, counted"
	@$(PY) -m pytest -q -n 2 -m full --durations 3 $(call fail,full ledgers)

# The notebooks once more, where Colab's packages are preinstalled and nothing is added but what their first cell installs.
colab: site
	@$(PY) -m tests.colab $(call fail,notebooks in the second environment)

# The library's tests with the oldest torch that is allowed and with the newest that pip finds, each in its own environment.
torches: environment
	@$(PY) -m tests.torches $(call fail,library tests with other versions of torch)

serve: site
	@echo "serve: http://localhost:$(PORT)/ (Ctrl-C stops)"
	@$(PY) -m http.server $(PORT) --bind 127.0.0.1 --directory _build/html

environment: .venv/.ready

.venv/.ready: requirements.txt pyproject.toml
	@echo "environment: Python packages into .venv (torch is the large one)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and f"Python 3.11 or newer is needed, $(PYTHON) is {sys.version.split()[0]}; try make PYTHON=python3.12")' $(call fail,check Python)
	@test -x $(PY) || $(PYTHON) -m venv .venv $(call fail,create .venv; on Debian: apt install python3-venv)
	@$(PY) -m pip install --quiet --disable-pip-version-check -r requirements.txt $(call fail,install requirements.txt)
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . $(call fail,install the package)
	@touch $@

node: environment
	@$(PY) -m _ext.node $(call fail,bring KaTeX)

node-dev: environment
	@$(PY) -m _ext.node --dev $(call fail,bring KaTeX$(comma) axe and Lighthouse)

browser: environment
	@$(PY) -m tests.browser $(call fail,find or install a browser)

clean:
	rm -rf _build
