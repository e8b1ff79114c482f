# make demo   sets everything up and runs the main job on a simulated NPU
# make test   sets everything up and runs the tests, as continuous integration does
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

PYTHON311 ?= python3.11
MINDSPORE ?= 2.10.0
RECORD    := tests/data/conformance/mindspore_$(MINDSPORE)_cpu.json
OPERATORS := tests/data/conformance/operators_$(MINDSPORE)_cpu.json
FLOWS     := tests/data/conformance/flows_$(MINDSPORE)_cpu.json
NAMES     := tests/data/conformance/names_$(MINDSPORE)_cpu.json
MARKS     := tests/data/conformance/marks_$(MINDSPORE)_cpu.json
STEPS     := tests/data/conformance/steps_$(MINDSPORE)_cpu.json
MSPROBE   ?= 26.2.0
TORCH     ?= 2.14.1

# tests/conftest.py says how many processes; a file's tests stay together, the longest file comes first: tests/durations.json
PARALLEL := -n auto --dist loadfile

.PHONY: demo test test-all floors durations check quick lint types lab conformance conformance-operators conformance-steps conformance-flows conformance-names conformance-marks conformance-msprobe conformance-msaccucmp conformance-offline conformance-torch conformance-layouts conformance-golden mutations grid clean

demo: $(VENV)/installed
	rm -rf demo_out
	$(BIN)/workbench demo --out demo_out

test: $(VENV)/developed
	$(BIN)/python -m pytest $(PARALLEL) $(PYTEST_ARGS)

# with those marked exhaustive, which continuous integration leaves to the night; some forty minutes
test-all: $(VENV)/developed
	$(BIN)/python -m pytest $(PARALLEL) --exhaustive $(PYTEST_ARGS)

# the lowest declared version of every dependency in an environment of its own: import, help, demo; for the night, minutes
floors:
	.ci/floors

# the tests, and in tests/durations.json how long each file took; on a machine with a Chromium and nothing else to do
durations: $(VENV)/developed
	REQUIRE_BROWSER=1 $(BIN)/python -m pytest $(PARALLEL) --record-durations $(PYTEST_ARGS)

# a minute: lint and types beside the tests of all files that took half a second at most when recorded
check: $(VENV)/developed
	+$(MAKE) --no-print-directory --jobs 3 --output-sync=target lint types quick

quick: $(VENV)/developed
	$(BIN)/python -m pytest $(PARALLEL) --at-most 0.5 -m "not slow and not browser" --quiet tests

lint: $(VENV)/developed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/developed
	$(BIN)/mypy

lab: $(VENV)/installed
	$(BIN)/workbench lab .

# what real MindSpore makes of over a thousand configurations; see docs/evidence/conformance.md
conformance: .venv-mindspore/$(MINDSPORE) $(VENV)/developed
	.venv-mindspore/bin/python conformance/run_mindspore.py $(RECORD) --fresh 24
	$(BIN)/python -m pytest tests/config/test_conformance.py

# what real MindSpore computes on a CPU with the operators of our table; see docs/evidence/conformance.md
conformance-operators: .venv-mindspore/$(MINDSPORE) $(VENV)/developed
	mkdir -p build
	$(BIN)/python conformance/operator_cases.py build/operator_cases.json
	.venv-mindspore/bin/python conformance/run_mindspore_operators.py build/operator_cases.json $(OPERATORS)
	$(BIN)/python -m pytest tests/ops/test_mindspore_operators.py

.venv-mindspore/$(MINDSPORE):
	$(PYTHON311) -m venv --clear .venv-mindspore
	.venv-mindspore/bin/python -m pip install --quiet --disable-pip-version-check 'mindspore==$(MINDSPORE)' 'numpy<2' ml_dtypes
	touch $@

# what real MindSpore makes of a few steps of training; see docs/evidence/conformance.md
conformance-steps: .venv-mindspore/$(MINDSPORE) $(VENV)/developed
	.venv-mindspore/bin/python conformance/run_mindspore_steps.py $(STEPS)
	$(BIN)/python -m pytest tests/network/nn/test_mindspore_steps.py

# what real MindSpore dumps of loops, choices and several networks; see docs/evidence/conformance.md
conformance-flows: .venv-mindspore/$(MINDSPORE) $(VENV)/developed
	.venv-mindspore/bin/python conformance/run_mindspore_flows.py $(FLOWS)
	$(BIN)/python -m pytest tests/run/test_control_flow.py tests/simulation/test_process.py tests/scenarios/test_flows.py

# what real MindSpore calls the files of its dumps; see docs/evidence/conformance.md
conformance-names: .venv-mindspore/$(MINDSPORE) $(VENV)/developed
	.venv-mindspore/bin/python conformance/run_mindspore_names.py $(NAMES)
	$(BIN)/python -m pytest tests/forecast/test_real_names.py

# which operators real MindSpore marks for a dump; see docs/evidence/conformance.md
conformance-marks: .venv-mindspore/$(MINDSPORE) $(VENV)/developed
	.venv-mindspore/bin/python conformance/run_mindspore_marks.py $(MARKS)
	$(BIN)/python -m pytest tests/network/test_set_dump.py

# what PyTorch computes on a CPU with operators that NPU dumps name; see docs/evidence/conformance.md
conformance-torch: .venv-torch/$(TORCH) $(VENV)/developed
	.venv-torch/bin/python conformance/run_torch_operators.py tests/data/conformance/aclnn_torch_$(TORCH)_cpu.json
	$(BIN)/python -m pytest tests/ops/test_torch_operators.py

.venv-torch/$(TORCH):
	$(PYTHON311) -m venv --clear .venv-torch
	.venv-torch/bin/python -m pip install --quiet --disable-pip-version-check 'torch==$(TORCH)' 'numpy<2'
	touch $@

# how PyTorch lays tensors out on the ranks of a job; see docs/evidence/conformance.md
conformance-layouts: .venv-torch/$(TORCH) $(VENV)/developed
	.venv-torch/bin/python conformance/run_torch_layouts.py tests/data/conformance/layouts_torch_$(TORCH)_cpu.json
	$(BIN)/python -m pytest tests/scale/layouts/test_torch_layouts.py

# what hooks see of modules of PyTorch and Keras; see docs/guide/golden.md
conformance-golden: .venv-golden/$(TORCH)
	.venv-golden/bin/python conformance/run_golden_modules.py tests/data/conformance/golden_modules.json
	KERAS_BACKEND=torch .venv-golden/bin/python -m pytest tests/golden_data

.venv-golden/$(TORCH):
	$(PYTHON311) -m venv --clear .venv-golden
	.venv-golden/bin/python -m pip install --quiet --disable-pip-version-check 'torch==$(TORCH)' keras --editable '.[dev]'
	touch $@

# what msprobe makes of over twenty pairs of dump trees; see docs/evidence/conformance.md
conformance-msprobe: .venv-msprobe/$(MSPROBE) $(VENV)/developed
	$(BIN)/python conformance/run_msprobe.py .venv-msprobe/bin/msprobe tests/data/conformance/msprobe_$(MSPROBE).json
	$(BIN)/python -m pytest tests/comparison/measure/test_msprobe_conformance.py

# which forms of its config.json msprobe takes; see docs/evidence/conformance.md
conformance-msprobe-config: .venv-msprobe-config/$(MSPROBE) $(VENV)/developed
	$(BIN)/python conformance/run_msprobe_config.py .venv-msprobe-config/bin/python tests/data/conformance/msprobe_config_$(MSPROBE).json
	$(BIN)/python -m pytest tests/config/msprobe/test_msprobe_conformance.py

.venv-msprobe-config/$(MSPROBE):
	$(PYTHON311) -m venv --clear .venv-msprobe-config
	.venv-msprobe-config/bin/python -m pip install --quiet --disable-pip-version-check 'mindstudio-probe==$(MSPROBE)' 'mindspore==$(MINDSPORE)' 'torch==$(TORCH)' 'numpy<2'
	touch $@

# which rows and figures msaccucmp, in the same package, gives for dumps of offline models; see docs/evidence/conformance.md
conformance-msaccucmp: .venv-msprobe/$(MSPROBE) $(VENV)/developed
	$(BIN)/python conformance/run_msaccucmp.py .venv-msprobe/bin/python tests/data/conformance/msaccucmp_$(MSPROBE).json
	$(BIN)/python -m pytest tests/comparison/measure/test_msaccucmp_conformance.py

# networks that packages on PyPI ship, against onnxruntime: clean and with faults; hours; see docs/evidence/offline-models.md
conformance-offline: $(VENV)/developed
	$(BIN)/python conformance/run_offline_models.py build/models build/offline.json clean
	$(BIN)/python conformance/run_offline_models.py build/models build/offline.json faults
	$(BIN)/python conformance/run_offline_models.py build/models build/offline.json table

# its package for MindSpore imports MindSpore; msaccucmp reads bfloat16 with ml_dtypes
.venv-msprobe/$(MSPROBE):
	$(PYTHON311) -m venv --clear .venv-msprobe
	.venv-msprobe/bin/python -m pip install --quiet --disable-pip-version-check 'mindstudio-probe==$(MSPROBE)' 'mindspore==$(MINDSPORE)' 'numpy<2' ml_dtypes
	touch $@

# ten thousand damaged files for every reader, fifty kills for every writer; about an hour
mutations: $(VENV)/developed
	MUTATIONS=10000 KILLS=50 $(BIN)/python -m pytest -rP tests/scenarios/test_damaged_files.py tests/scenarios/test_killed_runs.py

# every network on every surface and device, clean in thirty variants and with every fault; hours, not minutes
grid: $(VENV)/developed
	GRID=all SEEDS=30 $(BIN)/python -m pytest --exhaustive tests/scenarios/test_grid.py tests/scenarios/test_every_fault.py tests/scenarios/test_steady.py

clean:
	rm -rf $(VENV) .venv-mindspore .venv-msprobe .venv-msprobe-config demo_out

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "error: Python 3.11 or newer is needed, got " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)

# an editable installation leaves out the files of JupyterLab's launcher card
CARD := $(VENV)/share/jupyter/labextensions/npu-accuracy-workbench
SOURCES := pyproject.toml setup.py $(wildcard workbench/comparison/measure/kernel*.[ch]) $(wildcard labextension/*.json labextension/static/*.js) notebooks/dashboard.ipynb
INSTALL ?= $(BIN)/python -m pip install --quiet --disable-pip-version-check
define install
	$(INSTALL) --editable $(1)
	mkdir -p $(CARD)/static
	cp labextension/*.json $(CARD)
	cp labextension/static/*.js notebooks/dashboard.ipynb $(CARD)/static
endef

$(VENV)/installed: $(SOURCES) | $(BIN)/python
	$(call install,.)
	touch $@

# with all that `installed` has, in one go
$(VENV)/developed: $(SOURCES) | $(BIN)/python
	$(call install,'.[dev]')
	touch $(VENV)/installed $@
