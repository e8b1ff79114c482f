"""Replay of small dumps: the steps of a comparison up to it, and no further."""

from __future__ import annotations

from dataclasses import replace

from kit.build.small_dumps import file_name
from workbench.comparison.bind.binding import is_npu
from workbench.comparison.bind.borrow import bind_both
from workbench.comparison.pair.pair import pair_tensors
from workbench.comparison.replay.replay import replay
from workbench.dump.read.turns import number_turns
from workbench.dump.tree import Dump
from workbench.run.npu import run_npu
from workbench.run.reference import run_reference


def paired(target, golden):
    """The pairing of two dumps."""
    return pair_tensors(*bind_both(target, golden))


def replayed(target, golden=None):
    """Replay of a target, on the device that its metadata name."""
    golden = target if golden is None else golden
    return replay(paired(target, golden), npu=is_npu(target))


def by_name(found):
    """Own errors by operator name and iteration."""
    graphs = found.target_inputs.binding.graphs
    return {
        (graphs[block.rank, block.graph_id].ops[number].name, block.iteration): own
        for (block, number), own in found.own.items()
    }


def reasons(found):
    """Reasons by operator name and iteration."""
    graphs = found.target_inputs.binding.graphs
    return {
        (graphs[block.rank, block.graph_id].ops[number].name, block.iteration): reason
        for (block, number), reason in found.reasons.items()
    }


def on_device(graph, profile, mode, **more):
    """Dump of a run of a simulated NPU, in memory."""
    run = run_npu(graph, profile=profile, precision_mode=mode, **more)
    return dumped(run, graph, {"device_target": "Ascend"})


def on_reference(graph, **more):
    """Dump of the reference, in memory."""
    return dumped(run_reference(graph, **more), graph, {"device_target": "CPU"})


def dumped(run, graph, info):
    """Dump of records, in memory."""
    named = [
        replace(record, key=record.key._replace(op_name=file_name(record.key.op_name)))
        for record in run
    ]
    table = {(0, graph.graph_id): graph}
    return Dump("memory", "mindspore", tuple(number_turns(named)), table, info=info)
