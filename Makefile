# modhub: `make help` lists the targets. Nothing outside this folder is changed, except that as root missing Debian packages
# (python3-venv, chromium, nginx-light, curl, openssl, pgbouncer, faketime, systemd, debootstrap, systemd-container, buildah; of prometheus only promtool, in var/) are installed; otherwise
# a message names them.

PYTHON ?= python3
INI ?= development.ini
UV ?= uv
PYTEST_ARGS ?=
QUICK := --databases sqlite -m 'not process and not slow'
# Percent of lines and branches that the tests reach, at least. Those marked long are bounded in processor time, which tracing multiplies.
MEASURED := --databases sqlite -m 'not process and not long'
REST := --databases rest
COVERAGE_FLOOR := 83

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
APT := DEBIAN_FRONTEND=noninteractive apt-get --quiet --yes --no-install-recommends
# The files that an installation of the suite depends on. Modules do not count: it is installed editable.
MANIFESTS := setup.py pyproject.toml $(wildcard modhub*/pyproject.toml clients/pyproject.toml)

.DEFAULT_GOAL := help
.PHONY: help install run test test-quick lint messages lock test-all test-api test-browser test-deploy test-debian test-machines \
	mutants bench judge-pages pictures audit release venv test-tools browser-tools api-tools release-tools chromium nginx promtool \
	pgbouncer clamav debian swift judges

# The stamp is a copy of the installed lock file, compared by content: unchanged files cost nothing, clocks do not matter.
define install-lock
	@cmp -s requirements/$(1).txt $(VENV)/installed-$(1).txt || { \
		echo "modhub: installing requirements/$(1).txt into $(VENV)"; \
		$(PIP) install --require-hashes --requirement requirements/$(1).txt && \
		cp requirements/$(1).txt $(VENV)/installed-$(1).txt; }
endef

# In an environment of its own: dozens of packages that nothing else needs.
define install-apart
	@cmp -s requirements/$(1).txt $(VENV)/$(1)/installed.txt || { \
		echo 'modhub: installing requirements/$(1).txt into $(VENV)/$(1)'; \
		$(PYTHON) -m venv --clear $(VENV)/$(1) && \
		$(VENV)/$(1)/bin/python -m pip --quiet --disable-pip-version-check install --require-hashes --requirement requirements/$(1).txt && \
		cp requirements/$(1).txt $(VENV)/$(1)/installed.txt; }
endef

# Modules for Node.js, outside .venv, which pip looks after.
define install-modules
	@cmp -s $(1)/package-lock.json $(2)/installed.json || { \
		echo 'modhub: installing $(1)/package-lock.json into $(2)' && mkdir -p $(2) && \
		cp $(1)/package.json $(1)/package-lock.json $(2) && \
		(cd $(2) && PUPPETEER_SKIP_DOWNLOAD=1 npm ci --silent --no-fund --no-audit) && \
		cp $(1)/package-lock.json $(2)/installed.json; }
endef

# $(1): programs; $(2): the Debian packages that have them, installed when root; $(3): what needs them.
define install-packages
	@PATH="$$PATH:/usr/sbin"; (for program in $(1); do command -v $$program >/dev/null || exit 1; done) || \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo 'modhub: installing the Debian packages $(2)'; \
			$(APT) update >/dev/null && $(APT) install $(2) >/dev/null; \
		else \
			echo 'modhub: $(3) needs programs of the Debian packages $(2): install them first.' >&2; \
			exit 1; \
		fi
endef

# Rebuilt if the folder was moved (scripts contain its path) or its Python is missing.
venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo 'modhub: Python 3.11 or newer is needed; name one, as in "make PYTHON=python3.12".' >&2; exit 1; }
	@grep -qsF ' $(CURDIR)/$(VENV)' $(VENV)/pyvenv.cfg && $(BIN)/python -c 'import pip' 2>/dev/null || { \
		$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
			package=$$($(PYTHON) -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'); \
			if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
				echo "modhub: installing the Debian package $$package"; \
				$(APT) update >/dev/null && $(APT) install "$$package" >/dev/null; \
			else \
				echo "modhub: this Python cannot make a virtual environment: install the package $$package first." >&2; \
				exit 1; \
			fi; } && \
		echo 'modhub: making $(VENV)' && \
		$(PYTHON) -m venv --clear $(VENV); }

##@ to use

help: ## list the targets
	@awk -F ':.*## ' '/^##@ / { printf "\n%s:\n", substr($$0, 5) } /^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

install: venv ## install everything into .venv
	$(call install-lock,run)
	@cat $(MANIFESTS) | cmp -s - $(VENV)/installed-suite || { \
		echo 'modhub: installing the suite into $(VENV)'; \
		$(PIP) install --no-deps --no-build-isolation --editable . && cat $(MANIFESTS) > $(VENV)/installed-suite; }
	@$(BIN)/python -m compileall -q $(wildcard modhub*) # as pip does for a wheel: half a second of each start

run: export MALLOC_TRIM_THRESHOLD_ = 8388608
run: export MALLOC_MMAP_THRESHOLD_ = 8388608
run: install ## set up, migrate the database, and serve http://127.0.0.1:6543
	@mkdir -p var
	@$(BIN)/modhub-admin -c $(INI) migrate
	@exec $(BIN)/pserve $(INI)

test-tools: install
	$(call install-lock,test)
	@cmp -s modhub_testing/pyproject.toml $(VENV)/installed-kit || { \
		$(PIP) install --no-deps --no-build-isolation --editable ./modhub_testing && \
		cp modhub_testing/pyproject.toml $(VENV)/installed-kit; }

browser-tools: test-tools
	$(call install-lock,browser)

##@ to change

# Keep compiled bytecode, whatever the environment says: tests start some programs many times.
test test-quick test-all test-api test-browser test-deploy test-debian test-machines: export PYTHONDONTWRITEBYTECODE =

# Three processes on two cores: tests spend much of their time waiting (for locks, starts, deadlines).
PYTEST := -m pytest -n 3 --dist loadfile --no-loadscope-reorder

test: test-tools ## run the tests on SQLite, and those marked postgres on PostgreSQL too; those marked long are left to CI
	@echo 'modhub: not run here: what takes long ("make test-all" has it), the tests in a browser ("make test-browser"), behind nginx ("make test-deploy") and on a bare Debian ("make test-debian").'
	@$(BIN)/python $(PYTEST) -m 'not long' $(PYTEST_ARGS)

test-quick: test-tools ## run the fast tests: only SQLite, no processes, nothing slow
	@$(BIN)/python $(PYTEST) $(QUICK) $(PYTEST_ARGS)

lint: test-tools ## run ruff and mypy, and check that the mutants apply, and the budgets of weight
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/python tools/mutant_table.py
	@$(BIN)/python tools/weigh.py >/dev/null

# Each part has its own catalogues. For a feature of your own: make messages PARTS=../modhub_bookmarks
PARTS ?= $(patsubst %/pyproject.toml,%,$(wildcard modhub*/pyproject.toml))
POT = $(VENV)/messages.pot
EXTRACT = $(BIN)/pybabel --quiet extract --no-default-keywords --keywords _ --mapping-file pyproject.toml --add-location file --sort-by-file \
	--width 120 --project modhub --version 1 --output-file $(POT)
ADD = $(BIN)/pybabel --quiet init --width 120 --input-file $(POT)
UPDATE = $(BIN)/pybabel --quiet update --no-fuzzy-matching --ignore-obsolete --ignore-pot-creation-date --width 120 --input-file $(POT)

# LANGUAGE counts on make's command line alone: gettext's variable of this name is in many environments.
NEW_LANGUAGE := $(if $(filter command,$(firstword $(origin LANGUAGE))),$(LANGUAGE))

messages: test-tools ## update the translations from templates and code, and report missing ones (LANGUAGE=pl adds a language)
	@for part in $(PARTS); do \
		$(EXTRACT) $$part || exit 1; \
		[ -z '$(NEW_LANGUAGE)' ] || [ -e $$part/locale/$(NEW_LANGUAGE)/LC_MESSAGES/messages.po ] || \
			$(ADD) --output-dir $$part/locale --locale '$(NEW_LANGUAGE)' || exit 1; \
		for po in $$part/locale/*/LC_MESSAGES/messages.po; do \
			[ -e $$po ] || continue; \
			language=$$(basename $${po%/LC_MESSAGES/messages.po}); \
			$(UPDATE) --locale $$language --output-file $$po && \
			$(BIN)/pybabel compile --statistics --locale $$language --input-file $$po --output-file /dev/null || exit 1; \
		done; \
	done

COMPILE := pip compile --quiet --universal --python-version 3.11.2 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock' setup.py

lock: ## update requirements/*.txt (needs uv; UPGRADE=--upgrade for the newest versions)
	@command -v $(UV) >/dev/null || { echo 'modhub: "make lock" needs uv; name one, as in "make lock UV=path/to/uv".' >&2; exit 1; }
	@$(UV) $(COMPILE) $(UPGRADE) requirements/run.in --extra postgres --extra s3 --output-file requirements/run.txt
	@$(UV) $(COMPILE) $(UPGRADE) requirements/test.in --extra postgres --extra s3 --extra test --output-file requirements/test.txt
	@for name in browser swift release api; do \
		$(UV) $(subst setup.py,,$(COMPILE)) $(UPGRADE) requirements/$$name.in --output-file requirements/$$name.txt || exit 1; done

##@ before a release

# Coverage is of the tests without processes alone: tracing doubles their time, and the floor is to notice code that no quick test
# reaches. .ci/run has run `make test` by then.
test-all: $(if $(CI),test-tools,test) ## run all tests on both databases, and fail below the floor of coverage
	@$(BIN)/coverage erase
	@$(BIN)/coverage run $(PYTEST) $(MEASURED) $(PYTEST_ARGS)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report --fail-under=$(COVERAGE_FLOOR)
	@$(BIN)/python $(PYTEST) $(REST) $(PYTEST_ARGS)

# schemathesis is a plugin of pytest: beside the suite it would be loaded by every run.
api-tools: venv
	@command -v npm >/dev/null || { \
		echo 'modhub: the generated client in TypeScript needs Node.js 20 or newer with npm: install them first.' >&2; exit 1; }
	$(call install-apart,api)
	$(call install-modules,tests/api/typescript,var/typescript)

test-api: test-tools api-tools ## drive the API by its description (schemathesis), by clients made of it, and by the JavaScript library (needs Node.js 20)
	@$(BIN)/pytest -n 2 --dist loadgroup --databases all --timeout=900 tests/api $(PYTEST_ARGS)

chromium:
	$(call install-packages,chromium,chromium libatomic1,what drives a browser)

test-browser: browser-tools chromium ## run the tests in a real browser (installs Debian's chromium when root)
	@$(BIN)/pytest -n 2 --dist loadfile tests/browser $(PYTEST_ARGS)

nginx:
	$(call install-packages,nginx curl openssl systemd-analyze,nginx-light curl openssl systemd,what tests deploy/)

# Only unpacked, because installing Debian's prometheus would start it.
promtool:
	@command -v promtool >/dev/null || test -x var/prometheus/usr/bin/promtool || \
		if command -v apt-get >/dev/null && mkdir -p var/prometheus && cd var/prometheus && \
			{ apt-get --quiet --quiet download prometheus || { $(APT) update >/dev/null && apt-get --quiet --quiet download prometheus; }; }; then \
			echo "modhub: unpacking promtool of the Debian package prometheus into var/prometheus"; \
			dpkg-deb --extract prometheus_*.deb . && rm prometheus_*.deb; \
		else \
			echo 'modhub: the tests of deploy/ need promtool of the Debian package prometheus: install it first.' >&2; \
			exit 1; \
		fi

# Only unpacked, because installing it would start it, and freshclam with it: the tests have a signature of their own.
clamav:
	@PATH="$$PATH:/usr/sbin"; command -v clamd >/dev/null || test -x var/clamav/usr/sbin/clamd || \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && mkdir -p var/clamav && cd var/clamav && $(APT) update >/dev/null && \
			$(APT) install $$(apt-cache depends clamav-daemon | sed -n 's/^ *Depends: \(libclamav[^ ]*\)$$/\1/p') >/dev/null && \
			apt-get --quiet --quiet download clamav-daemon; then \
			echo "modhub: unpacking clamd of the Debian package clamav-daemon into var/clamav"; \
			dpkg-deb --extract clamav-daemon_*.deb . && rm clamav-daemon_*.deb; \
		else \
			echo 'modhub: the tests of deploy/ need clamd of the Debian package clamav-daemon: install it first.' >&2; \
			exit 1; \
		fi

# OpenStack Swift, a second object store.
swift: venv
	$(call install-apart,swift)

test-deploy: test-tools nginx promtool clamav swift release-tools ## test deploy/ with nginx and systemd's tools, and object stores (installs Debian's packages when root)
	@$(BIN)/pytest -n 2 --dist loadfile tests/deploy $(PYTEST_ARGS)

pgbouncer:
	$(call install-packages,pgbouncer faketime,pgbouncer faketime,"make test-machines")

# LONG=1, which is not part of CI: the tests of tests/functional again, where the files are elsewhere, with one process and with two; then
# those that take minutes each, and races repeated at length.
test-machines: test-tools pgbouncer $(if $(LONG),nginx) ## test that a pooler before PostgreSQL is refused, and two machines (LONG=1: also an object store, and the tests that take long)
	@$(BIN)/pytest -n 2 --dist load tests/machines $(PYTEST_ARGS)
ifneq ($(LONG),)
	@for processes in 1 2; do \
		MODHUB_TEST_OBJECT_STORE=1 MODHUB_TEST_PROCESSES=$$processes \
			$(BIN)/pytest -n 2 --dist loadfile --databases postgresql tests/functional $(PYTEST_ARGS) || exit 1; \
	done
	@MODHUB_LONG_RACES=1 $(BIN)/pytest --timeout=3600 tests/functional/test_sync_feed.py tests/functional/test_reads_after_commits.py \
		tests/deploy/test_rolls.py $(PYTEST_ARGS)
endif

debian:
	@[ "$$(id -u)" = 0 ] || { \
		echo 'modhub: "make test-debian" needs root: debootstrap and systemd-nspawn make a machine and start it.' >&2; exit 1; }
	$(call install-packages,debootstrap systemd-nspawn buildah,debootstrap systemd-container buildah,"make test-debian")

test-debian: test-tools debian ## follow docs/operations.md on a bare Debian with systemd, as root: the shipped units, nginx, a backup, an upgrade; build and start the image
	@$(BIN)/pytest --timeout=3600 -p no:randomly tests/debian $(PYTEST_ARGS)

# Not part of CI: it takes minutes, and lint knows of mutants that no longer apply.
mutants: test-tools ## try the broken variants of tests/mutants, each of which a test must notice (MUTANTS='NAME ...'; VERIFY=1: modhub-verify)
	@$(BIN)/python -W ignore tools/mutants.py $(if $(VERIFY),--verify) $(MUTANTS)

bench: test-tools nginx ## measure the floors of speed, in six minutes (BENCH_ARGS=--quick: in two; --million: a million mods)
	@$(BIN)/python -m bench $(BENCH_ARGS)

# Debian 12's Node.js is too old for Pa11y.
judges:
	@command -v npm >/dev/null && command -v java >/dev/null || { \
		echo 'modhub: "make judge-pages" needs Node.js 20 or newer with npm, and Java 11 or newer: install them first.' >&2; exit 1; }
	$(call install-modules,tools/judge_pages,var/judges)

# Not part of CI: the scores depend on the machine.
judge-pages: browser-tools chromium judges ## judge the pages with Lighthouse, the Nu HTML checker, Pa11y and axe, and weigh them
	@$(BIN)/python -W ignore tools/judge_pages --modules var/judges/node_modules --json var/judges/figures.json $(JUDGE_ARGS)

pictures: browser-tools chromium ## make README's pictures of the pages again
	@$(BIN)/python -W ignore tools/readme_pictures.py

release-tools: venv
	$(call install-apart,release)

audit: install release-tools ## look for known vulnerabilities and newer versions of all dependencies (needs the internet)
	@$(BIN)/python tools/audit_dependencies.py

# Where the internet cannot be reached (2), the audit says so.
release: install release-tools ## audit, then build the wheels of the commit, modhub-publish.pyz, digests and an SBOM into dist/ (publishes nothing)
	@$(BIN)/python tools/audit_dependencies.py || test $$? = 2
	@$(BIN)/python tools/build_release.py
