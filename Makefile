# Needs Python 3.11 or newer, make, and a network to PyPI. Another Python: make PYTHON=/path/to/python3.12 demo
PYTHON ?= $(shell for candidate in python3 python3.13 python3.12 python3.11 python; do \
	"$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$candidate"; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
INSTALLED := $(VENV)/installed
INSTALLED_DEV := $(VENV)/installed-dev
PORT ?= 8000
# Most tests wait for a browser, a server or a database, so there is one test process more than cores. Quick tests only compute.
TEST_PROCESSES ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
QUICK_TEST_PROCESSES ?= auto
QUICK_TESTS = db formats llm metrics platforms rendering schemas services text test_settings.py test_structure.py

.PHONY: demo serve quick test coverage lint bench screenshots lock messages browser help

help:
	@echo 'make demo         load the demo, show the agreement, serve it on http://127.0.0.1:$(PORT)'
	@echo 'make serve        serve ./spanplat-data (or SPANPLAT_HOME)'
	@echo 'make quick        check style, types and layers, then run the tests that need a minute and nothing but Python'
	@echo 'make test         check style, types and layers, then run all tests'
	@echo 'make coverage     run all tests and tell which lines and branches they reach'
	@echo 'make lint         check style, types and layers'
	@echo 'make bench        measure imports, saves, recovery after a crash, and the measures'
	@echo 'make screenshots  make the images of the README anew'
	@echo 'make lock         bring the lock files up to date'
	@echo 'make messages     collect what annotators read, and compile the translations'

demo: $(INSTALLED)
	$(BIN)/spanplat demo --port $(PORT)

serve: $(INSTALLED)
	$(BIN)/spanplat init
	$(BIN)/spanplat serve --port $(PORT)

lint: $(INSTALLED_DEV)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# Tests start many processes. Each would compile all modules anew where Python is told to write no bytecode.
quick test coverage: export PYTHONDONTWRITEBYTECODE =

# Without pages, commands and processes; without a browser, PostgreSQL, Redis and the research data.
quick: lint
	$(BIN)/pytest --quick --numprocesses $(QUICK_TEST_PROCESSES) --dist worksteal --quiet $(addprefix tests/,$(QUICK_TESTS))

test: lint browser
	$(BIN)/pytest --numprocesses $(TEST_PROCESSES) --dist worksteal

# Apart from the tests' daily run, because tracing each line doubles its time.
coverage: lint browser
	$(BIN)/pytest --numprocesses $(TEST_PROCESSES) --dist worksteal --cov --cov-report term

bench: $(INSTALLED_DEV)
	@for measurement in import_d2t launching save_load kill crowd model_run model_kill metric_growth explorer; do \
		echo "== $$measurement"; $(BIN)/python -m bench.$$measurement || exit 1; done
	@echo '== studio_pages'; $(BIN)/python -m bench.studio_pages --short

screenshots: $(INSTALLED_DEV) browser
	$(BIN)/python docs/screenshots.py

lock: $(INSTALLED_DEV)
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --upgrade pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --upgrade --group dev \
		-c requirements.lock pyproject.toml -o requirements-dev.lock

messages: $(INSTALLED_DEV)
	$(BIN)/pybabel -q extract --mapping-file spanplat/translations/babel.cfg --keyword user_message --omit-header --no-location --output $(VENV)/messages.pot .
	$(BIN)/pybabel -q update --input-file $(VENV)/messages.pot --output-dir spanplat/translations \
		--no-fuzzy-matching --ignore-obsolete --width 120
	$(BIN)/pybabel -q compile --directory spanplat/translations --statistics

# Browser tests need a Chromium: the system's, or one that Playwright downloads.
browser: $(INSTALLED_DEV)
	@command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
		$(BIN)/playwright install chromium || \
		echo 'There is no Chromium, so browser tests will be skipped; install one (Debian: apt-get install chromium).' >&2

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo 'spanplat needs Python 3.11 or newer; name it with: make PYTHON=/path/to/python3.12 …' >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo 'Could not make $(VENV); Debian and Ubuntu need: apt-get install python3-venv' >&2; exit 1; }

$(INSTALLED): requirements.lock pyproject.toml | $(BIN)/python
	$(PIP) install --require-hashes --requirement requirements.lock
	$(PIP) install --no-deps --editable .
	@touch $@

$(INSTALLED_DEV): requirements-dev.lock pyproject.toml | $(BIN)/python
	$(PIP) install --require-hashes --requirement requirements-dev.lock
	$(PIP) install --no-deps --editable .
	@touch $@ $(INSTALLED)
