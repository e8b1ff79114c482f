"""The examples of MindSpore's tutorial: out as they came in, and judged as its code judges them."""

import json

import pytest

import workbench as wb
from workbench.config import Context

COMMON = (
    '"op_debug_mode": 0, "dump_mode": 0, "path": "/absolute_path", "net_name": "ResNet50", '
    '"iteration": "0|5-8|100-120", "saved_data": "tensor", "input_output": 0, '
    '"kernels": ["Default/Conv-op12"], "support_device": [0,1,2,3,4,5,6,7], '
    '"statistic_category": ["max", "min", "l2norm"]'
)
ENABLED = '"e2e_dump_settings": {"enable": true, "trans_flag": true'
TUTORIAL = {
    "O0/O1": (
        f'{{"common_dump_settings": {{{COMMON}}}, {ENABLED}, "stat_calc_mode": "host"}}}}',
        "mindspore-o0o1", {"kernels-unread", "timeout"},
    ),
    "O2": (
        f'{{"common_dump_settings": {{{COMMON}, "file_format": "npy"}}}}', "mindspore-o2",
        {"kernels-unread", "timeout", "sink-size", "deprecated"},
    ),
    "CPU": (f'{{"common_dump_settings": {{{COMMON}}}, {ENABLED}}}}}', "mindspore-cpu", {"kernels-unread"}),
    "GPU": (f'{{"common_dump_settings": {{{COMMON}}}, {ENABLED}}}}}', "mindspore-gpu", {"kernels-unread", "sink-mode"}),
}  # fmt: skip
"""Text, surface, and the hints it gets: ``kernels`` is not read with dump_mode 0."""


@pytest.mark.parametrize("name", TUTORIAL)
def test_an_example_goes_out_as_it_came_in_and_is_accepted_with_these_hints(name):
    text, surface, hints = TUTORIAL[name]
    config = wb.config.read(text, surface)
    assert json.dumps(json.loads(config.to_text())) == json.dumps(json.loads(text))
    problems = config.check()
    assert ({p.severity for p in problems}, {p.id for p in problems}) == ({"hint"}, hints)
    if name in ("O0/O1", "O2"):
        assert wb.config.read(text).surface.name == surface


def test_the_example_means_what_the_tutorial_says():
    text, surface, _ = TUTORIAL["O0/O1"]
    plan = wb.config.read(text, surface).plan()
    dumped = {0, *range(5, 9), *range(100, 121)}
    assert {i for i in range(200) if i in plan.iterations} == dumped
    assert plan.io == {"input", "output"}
    assert (plan.path, plan.net_name, plan.select) == ("/absolute_path", "ResNet50", ())


@pytest.mark.parametrize(("surface", "change", "accepted"), [
    ("cpu", {"saved_data": "statistic"}, False),  # "will result in exception"
    ("cpu", {"saved_data": "full"}, False),
    ("gpu", {"saved_data": "full"}, True),
    ("o2", {"saved_data": "statistic", "file_format": "bin"}, False),
    ("o2", {"saved_data": "statistic", "file_format": "npy"}, True),
    ("o0o1", {"iteration": "0 | 5-8 | 100-120"}, False),  # as the text writes it
    ("o0o1", {"dump_mode": 1, "kernels": ["name-regex(Default/.+)", "conv"]}, True),
    ("o0o1", {"dump_mode": 2}, True),
    ("cpu", {"dump_mode": 2}, False),  # the text allows it, the code does not
    ("o0o1", {"op_debug_mode": 3, "overflow_number": 5}, True),
    ("o0o1", {"overflow_number": 5}, False),
])  # fmt: skip
def test_what_the_text_says_of_a_setting(surface, change, accepted):
    text = next(t for t, name, _ in TUTORIAL.values() if name == f"mindspore-{surface}")
    config = wb.config.read(text, f"mindspore-{surface}")
    for key, value in change.items():
        config = config.set(f"common_dump_settings.{key}", value)
    assert config.accepted(Context()) == accepted
