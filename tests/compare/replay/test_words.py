"""What replay found, in words."""

from __future__ import annotations

import numpy as np

from kit.build import small_dumps as small
from kit.build.replays import on_device, on_reference, replayed
from kit.build.small_dumps import Net, Shot, chain, in_memory, shoot
from workbench.compare.replay.floors import Floor
from workbench.compare.replay.replay import Own
from workbench.compare.replay.words import own_words, replay_facts
from workbench.graph.networks import load_graph


def test_an_explained_error_says_by_what():
    (text,) = own_words(Own(1, 3e-4, Floor(5e-4, 1e-4), 0.5))
    assert text == (
        "computed again from its own inputs, output.1 is what it has to be: 0.0003 off, "
        "which one rounding of the result explains"
    )


def test_a_suspect_says_how_many_times_too_large_it_is_and_what_was_assumed():
    own = Own(0, 0.02, Floor(1e-7, 1e-5), 0.25, assumed=("w began with zeros",), suspect=2000.0)
    text, assumed = own_words(own)
    assert "output.0 is 0.02 off: 2e+03 times what rounding inside the kernel explains" in text
    assert "25% of its elements" in text
    assert assumed == "w began with zeros"


def test_what_should_be_exact_says_so():
    (text,) = own_words(Own(0, 0.5, Floor(0.0, 0.0), 1.0, suspect=float("inf")))
    assert text.endswith("0.5 off, and it should be exact")


def test_an_updated_input_is_called_one():
    (text,) = own_words(Own(-3, 0.0, Floor(1e-7, 0.0), 0.0))
    assert "input.2, which it updates, is what it has to be" in text


def test_coverage_is_told_with_reasons():
    graph = chain("Tanh", "ReLU")
    assert replay_facts(replayed(in_memory(shoot(graph, small.given(graph)), graph))) == {
        "computed again": "2 of 2 dumped operators (100.0%)"
    }
    net = Net()
    net.op("Quux", net.op("Tanh", net.feed("x")))
    graph = net.graph()
    x = np.zeros((4, 4), np.float32)
    shots = [Shot("Tanh", "Default_Tanh-op0", io, 0, x) for io in ("input", "output")] + [
        Shot("Quux", "Default_Quux-op0", "output", 0, x)
    ]
    assert replay_facts(replayed(in_memory(shots, graph))) == {
        "computed again": "1 of 2 dumped operators (50.0%); not: 1 × Quux has no reference kernel"
    }


def test_nothing_is_said_where_nothing_was_dumped():
    graph = chain("Tanh")
    assert replay_facts(replayed(in_memory([], graph))) == {}


def test_the_believed_device_is_told():
    graph = load_graph("mlp")
    found = replayed(on_device(graph, "a2", "allow_fp32_to_bf16"), on_reference(graph))
    assert replay_facts(found)["computed as"] == "Atlas A2 (910B), allow_fp32_to_bf16"


def test_an_outlier_is_told_beside_its_like():
    (text,) = own_words(Own(0, 2e-5, Floor(5e-4, 5e-4), 0.5, suspect=3.0))
    assert "2e-05 off, and 50% of its elements are other numbers" in text
    assert "of all other operators of its type" in text
