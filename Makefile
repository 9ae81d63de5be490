# Every target sets itself up: a virtual environment in .venv, the install, then the job.
PYTHON ?= python3
PEER_PYTHON ?= python3.12
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PEER := .venv-peer
PEER_STAMP := $(PEER)/.installed
OTHERS := .venv-others
OTHERS_STAMP := $(OTHERS)/.installed
BESIDE := upwind,diffusion,laplacians,tridiagonal,nabla2,vertical_advection,advection
NATIVE := $(wildcard runtime/native/* runtime/native/*/* runtime/native/rows/code/*)

# What is measured is compiled code, from the first call on.
export FIELDFORGE_TIERS ?= compiled

.DEFAULT_GOAL := help
.PHONY: sources help demo dist sphere test test-browser test-all check fuzz model bench ulps format clean count \
	stress tsan bench-calls bench-first bench-adjoint bench-runs bench-gtscript bench-others faults test-gpu sanitize-gpu bench-gpu docs pictures

help:  ## say what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## */  make \1|/' | column -t -s '|'

dist: BASE ?=
dist: $(STAMP)  ## build sdist and wheel of HEAD into dist/, check them, try the wheel: make dist [BASE=address of README's links]
	cd docs && ../$(BIN)/python -m generate.distribution --base '$(BASE)'

test-browser: $(STAMP)  ## look at reports and notebook views in a browser at 1280 and 400 pixels (needs chromium)
	@command -v chromium chromium-browser google-chrome chrome >/dev/null || { echo "No browser is installed: chromium."; exit 1; }
	$(BIN)/pytest -q tests/workflows/reports/test_browser.py

demo: $(STAMP)  ## smooth real terrain, print the figures of the run, write demo.png
	$(BIN)/fieldforge demo --output demo.png

sphere: LEVEL ?= 5
sphere: DAYS ?= 1
sphere: $(STAMP)  ## flow over a mountain on the sphere for a day: norms, sphere.json and sphere.png: make sphere [LEVEL=4]
	$(BIN)/python -m fieldforge.examples.shallow_water --case 5 --level $(LEVEL) --days $(DAYS) \
		--json sphere.json --draw sphere.png

test: $(STAMP)  ## run the tests in five minutes on two idle cores: a part of those that repeat others
	$(BIN)/pytest -q -n 2 --dist worksteal

test-all: JOBS ?= 2
test-all: TESTS ?=
test-all: $(STAMP)  ## run every test in whole, compiled as users do: make test-all [TESTS="tests/language -k dace"] [JOBS=16]
	$(BIN)/pytest -q -n $(JOBS) --dist worksteal --all $(TESTS)

test-gpu: PLATFORM ?= cuda
test-gpu: JOBS ?= 2
test-gpu: $(STAMP)  ## test runtime, language, programs and examples on this machine's GPU: make test-gpu [PLATFORM=hip] [JOBS=12]
	FIELDFORGE_GPU=$(PLATFORM) $(BIN)/pytest -q tests/runtime/gpu tests/runtime/compat
	FIELDFORGE_GPU=$(PLATFORM) $(BIN)/pytest -q -n $(JOBS) -m needs_gpu tests/language tests/end_to_end tests/examples tests/stages tests/cartesian
	FIELDFORGE_GPU=$(PLATFORM) $(BIN)/fieldforge demo --backend gpu --output demo.png

sanitize-gpu: TOOL ?= memcheck
sanitize-gpu: CASES ?=
sanitize-gpu: $(STAMP)  ## run the examples under compute-sanitizer: make sanitize-gpu [TOOL=racecheck] [CASES=diffusion]
	compute-sanitizer --tool $(TOOL) --error-exitcode 3 $(BIN)/python -m tests.examples.on_gpu $(CASES)

check: $(STAMP)  ## formatting, lint, types, floors, counts, docs, tests: what must pass before a commit
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) count
	$(MAKE) docs
	$(MAKE) test

docs: $(STAMP)  ## build the documentation site into build/site; broken links and missing docstrings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

pictures: $(STAMP)  ## run the examples of the gallery and draw docs/pictures/
	cd docs && ../$(BIN)/python -m generate.pictures

sources: $(STAMP)  ## generate code of many programs, compare with bench/sources.json: make sources [DO=--write]
	$(BIN)/python -W ignore -m bench.sources $(DO)

count: $(STAMP)  ## count the instructions of calls and compare with bench/call_counts.json (needs valgrind)
	$(BIN)/python bench/count.py

stress: SECONDS ?= 60
stress: THREADS ?= 8
stress: PART ?= all
stress: $(STAMP)  ## use programs and a GPU (null, or FIELDFORGE_GPU=cuda) from many threads at once, check every result: make stress SECONDS=60 [PART=gpu]
	$(BIN)/python -m tests.stress.threads --seconds $(SECONDS) --threads $(THREADS) --part $(PART)

tsan: SECONDS ?= 60
tsan: THREADS ?= 4
tsan: PART ?= all
tsan: $(STAMP)  ## the same on a build of the native core with ThreadSanitizer (needs GCC)
	$(BIN)/python -m tests.stress.sanitizer --seconds $(SECONDS) --threads $(THREADS) --part $(PART)

fuzz: N ?= 10000
fuzz: SEED ?= 0
fuzz: JOBS ?= 2
fuzz: BACKEND ?= cpu
fuzz: LANGUAGE ?= gt4py
fuzz: $(STAMP)  ## run N generated programs in three ways and compare: make fuzz N=10000 SEED=0 [LANGUAGE=gtscript ORACLE=python-with-gt4py]; FILES=1: read N changed files of each kind; DERIVATIVES=1: compare derivatives with a tape, and tangents with adjoints
ifdef FILES
	$(BIN)/python -m tests.generated.files $(N) --seed $(SEED)
else ifdef DERIVATIVES
	$(BIN)/python -m tests.generated.derivatives $(N) --seed $(SEED) --second
else
	$(BIN)/python -m tests.generated.fuzz $(N) --seed $(SEED) --jobs $(JOBS) --backend $(BACKEND) \
		--language $(LANGUAGE) $(if $(ORACLE),--oracle $(ORACLE))
endif

faults: KILLS ?= 10000
faults: ROUNDS ?= 20000
faults: JOBS ?= 2
faults: $(STAMP)  ## the long tier of the fault tests, in one piece: make faults JOBS=16 [KILLS=1000]
	$(BIN)/python -m tests.faults.everything --jobs $(JOBS) --kills $(KILLS) --rounds $(ROUNDS)

# The model is not ours: it has an environment of its own, without the toolchain it was written for.
MODEL_PYTHON ?= $(PYTHON)
MODEL_VENV := .venv-model
MODEL_STAMP := $(MODEL_VENV)/.installed
MODEL_VERSION := 0.4.1
MODEL := $(addsuffix ==$(MODEL_VERSION),icon4py-common icon4py-testing $(addprefix \
	icon4py-atmosphere-,diffusion dycore microphysics muphys tracer-advection))
MODEL_NEEDS := array-api-compat cattrs netCDF4 packaging pytest pyyaml serialbox4py xarray

model: PRECISION ?= double
model: SEEDS ?= 2
model: JOBS ?= 2
model: BACKEND ?= cpu
model: $(MODEL_STAMP)  ## run every stencil of ICON4Py in four ways and compare; Python >= 3.12
	$(MODEL_VENV)/bin/python -m tests.model.stencils --precision $(PRECISION) --seeds $(SEEDS) \
		--jobs $(JOBS) --backend $(BACKEND)

bench: $(STAMP) $(PEER_STAMP)  ## measure start, calls and programs: make bench [CASES=diffusion,nabla2] [SCALE=0.2] [QUICK=1]
	$(BIN)/python bench/run.py $(PARTS) $(if $(CASES),--cases $(CASES)) $(if $(SCALE),--scale $(SCALE)) $(if $(QUICK),--quick)
	$(if $(PARTS)$(CASES)$(SCALE)$(QUICK),,$(MAKE) bench-others)

ulps: EVERY ?= 1
ulps: $(STAMP)  ## errors and times of the functions in generated code, all of float32: make ulps [EVERY=61]
	$(BIN)/python bench/mathematics.py --every $(EVERY) --count 1000000

bench-others: THREADS ?= 1,2
bench-others: $(STAMP) $(OTHERS_STAMP)  ## measure programs beside kernels by hand, Numba, JAX and pystencils: make bench-others [THREADS=1,2,16]
	$(BIN)/python bench/brief.py --others --seconds 3600 --threads $(THREADS) --cases $(BESIDE)
	$(BIN)/python bench/page.py --pictures

bench-adjoint: THREADS ?= 1,2
bench-adjoint: $(STAMP) $(OTHERS_STAMP)  ## measure adjoints over their forward calls and beside JAX's adjoints: make bench-adjoint [THREADS=1,2,16]
	$(BIN)/python bench/adjoint.py --others --threads $(THREADS)

bench-runs: $(STAMP) $(OTHERS_STAMP)  ## measure the gradient of a run of shallow water, beside JAX: make bench-runs [LEVEL=6] [STEPS=1000]
	$(BIN)/python bench/runs.py --others --level $(or $(LEVEL),6) --steps $(or $(STEPS),1000)

bench-first: $(STAMP)  ## measure the first result from the start of a process, beside JAX and Numba where they can be installed
	-$(MAKE) $(OTHERS_STAMP)
	$(BIN)/python bench/first.py --page

bench-gtscript: $(STAMP) $(PEER_STAMP)  ## measure builds, calls and kernels of GTScript beside gt4py: make bench-gtscript [PARTS=calls,kernels]
	$(BIN)/python bench/gtscript.py --peer $(abspath $(PEER)/bin/python) $(if $(PARTS),--parts $(PARTS))

bench-calls: $(STAMP)  ## measure what calls cost; beside gt4py where `make bench` has made its environment
	$(BIN)/python bench/run.py calls

bench-gpu: PARTS ?= runtime
bench-gpu: $(STAMP)  ## measure the GPU runtime, or programs: make bench-gpu PARTS=runtime [STUB=1], PARTS=programs [BESIDE=gt4py]
	$(foreach part,$(PARTS),$(BIN)/python bench/gpu_$(part).py $(if $(STUB),--stub) $(if $(BESIDE),--beside $(BESIDE));)

format: $(STAMP)  ## format and mend what ruff can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:  ## remove the environments and what was built
	rm -rf $(VENV) $(PEER) $(OTHERS) $(MODEL_VENV) build dist .mypy_cache .ruff_cache .pytest_cache

$(STAMP): pyproject.toml CMakeLists.txt $(NATIVE)
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $(STAMP)

# The peer that programs are measured against does not run on every Python; it has an environment of its own.
$(PEER_STAMP): bench/peer/requirements.txt
	@command -v $(PEER_PYTHON) >/dev/null || \
	  { echo "The peer needs Python 3.12: say where it is with PEER_PYTHON=..., 'make bench PEER_STAMP=' does without."; exit 1; }
	test -d $(PEER) || $(PEER_PYTHON) -m venv $(PEER)
	$(PEER)/bin/python -m pip install --quiet --upgrade pip
	$(PEER)/bin/python -m pip install --quiet --requirement bench/peer/requirements.txt
	touch $(PEER_STAMP)

# Numba, JAX and pystencils want versions of NumPy of their own.
$(OTHERS_STAMP): bench/others/requirements.txt
	test -d $(OTHERS) || $(PYTHON) -m venv $(OTHERS)
	$(OTHERS)/bin/python -m pip install --quiet --upgrade pip
	$(OTHERS)/bin/python -m pip install --quiet --requirement bench/others/requirements.txt
	touch $(OTHERS_STAMP)

$(MODEL_STAMP): pyproject.toml CMakeLists.txt $(NATIVE)
	$(MODEL_PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 12) and "ICON4Py needs Python >= 3.12: make model MODEL_PYTHON=...")'
	test -d $(MODEL_VENV) || $(MODEL_PYTHON) -m venv $(MODEL_VENV)
	$(MODEL_VENV)/bin/python -m pip install --quiet --upgrade pip
	$(MODEL_VENV)/bin/python -m pip install --quiet --editable '.[dace]' $(MODEL_NEEDS)
	$(MODEL_VENV)/bin/python -m pip install --quiet --no-deps $(MODEL)
	touch $(MODEL_STAMP)
