"""For what a graph is compiled: surfaces, devices, modes, and the fusions that a switch turns off."""

import json

import pytest

from kit.words import refused
from workbench.core.errors import FormatError, GraphError
from workbench.npu.compile.fusions import SWITCHES
from workbench.npu.compile.quantize import Quantization
from workbench.npu.precision import Precision
from workbench.npu.target import Target, fusions_off, read_switch

GRAPH = frozenset(name for name, level in SWITCHES.items() if level == "graph")
BUFFER = frozenset(name for name, level in SWITCHES.items() if level == "buffer")
ONE, OTHER = sorted(GRAPH)[:2]

OFF = [
    ({}, frozenset()),
    ({"GraphFusion": {"ALL": "on"}}, frozenset()),
    ({"GraphFusion": {"ALL": "off"}}, GRAPH),
    ({"UBFusion": {"ALL": "off"}}, BUFFER),
    ({"GraphFusion": {"ALL": "off"}, "UBFusion": {"ALL": "off"}}, GRAPH | BUFFER),
    ({"GraphFusion": {"ALL": "off", ONE: "on"}}, GRAPH - {ONE}),
    ({"GraphFusion": {ONE: "off", "Unheard": "off"}}, frozenset((ONE,))),
    ({"UBFusion": {ONE: "off"}}, frozenset()),
    ({"GraphFusion": {ONE: "off"}, "UBFusion": {"ALL": "on"}}, frozenset((ONE,))),
]


def test_fusions_are_of_the_graph_or_of_buffers():
    assert len(GRAPH) > 1 < len(BUFFER)
    assert not GRAPH & BUFFER


@pytest.mark.parametrize(("switch", "off"), OFF, ids=range(len(OFF)))
def test_a_switch_file_turns_fusions_off_part_by_part(tmp_path, switch, off):
    text = json.dumps({"Switch": switch})
    assert read_switch(text, "f") == off
    path = tmp_path / "switch.cfg"
    path.write_text(text)
    assert fusions_off(path) == off


def test_a_switch_is_a_word_or_a_file(tmp_path):
    assert fusions_off("on") == frozenset()
    assert fusions_off("off") == GRAPH | BUFFER
    with refused("run/fusion", FormatError, got="maybe"):
        fusions_off("maybe")


BROKEN = [
    ("{", "json", {}),
    ("[" * 100_000, "json", {}),
    ("[]", "object", {"got": []}),
    ("{}", "object", {"name": "Switch", "got": None}),
    ('{"Switch": {"GraphFusion": 3}}', "object", {"name": "GraphFusion", "got": 3}),
    ('{"Switch": {"UBFusion": {"ALL": "of"}}}', "state", {"name": "ALL", "got": "of"}),
]


@pytest.mark.parametrize(("text", "code", "values"), BROKEN, ids=range(len(BROKEN)))
def test_a_broken_switch_file_is_refused_with_its_place(text, code, values):
    with refused(f"run/switch-{code}", FormatError, place="f", **values):
        read_switch(text, "f")


PLACES = [
    ("mindspore-o0o1", "a2", True, False, True),
    ("mindspore-ge", "a2", True, True, True),
    ("acl", "a2", True, True, False),
    ("acl", "reference", False, False, False),
    ("torchair", "910a", True, True, True),
]


@pytest.mark.parametrize(("surface", "device", "simulated", "compiled", "training"), PLACES)
def test_a_target_is_simulated_and_compiled_and_has_its_own_mode(
    surface, device, simulated, compiled, training
):
    target = Target(surface, device)
    assert (target.is_simulated, target.is_compiled) == (simulated, compiled)
    if simulated:
        mode = Precision(training=training)
        assert target.model == Target(surface, device, mode).model


@pytest.mark.parametrize(
    ("surface", "weights"), [("acl", "Const"), ("tensorflow", "Variable"), ("torchair", "Data")]
)
def test_a_surface_says_how_weights_are_held(surface, weights):
    assert Target(surface).weights == weights


def test_only_compiled_graphs_are_quantized_and_only_known_fusions_switched():
    Target("acl", quantization=Quantization("w8a8"))
    for surface, device in (("mindspore-o0o1", "a2"), ("acl", "reference")):
        with refused("run/quantize-surface", GraphError, got=surface, device=device):
            Target(surface, device, quantization=Quantization("w8a8"))
    with refused("core/choice", GraphError, subject="fusion", got="Nothing", known=[*SWITCHES]):
        Target("acl", fusions_off=frozenset(("Nothing", ONE)))
