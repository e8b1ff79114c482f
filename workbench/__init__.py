"""NPU accuracy workbench: find the operator that makes a network's numbers differ on an NPU.

::

    import workbench as wb
    wb.compare("dump_npu", "dump_trusted")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench._doors import make_door
from workbench._faces import FACES
from workbench.core.errors import (
    AlignError,
    ConfigError,
    FormatError,
    GraphError,
    OutputError,
    WorkbenchError,
)

if TYPE_CHECKING:
    from workbench import config
    from workbench.ascendcl.api import AscendCL
    from workbench.dump.convert import convert
    from workbench.dump.reader import load
    from workbench.forecast.preview import preview
    from workbench.golden_data import Golden, golden
    from workbench.graph_files.formats import read_graph as read_ir
    from workbench.network import models, nn
    from workbench.network.cell import set_dump
    from workbench.network.onnx import read_onnx
    from workbench.network.tracer import trace
    from workbench.npu.orders.probe import probe_order
    from workbench.scale.compare_job import compare_job, read_job
    from workbench.session.compare import compare
    from workbench.session.comparison import Comparison
    from workbench.session.envelope import envelope
    from workbench.session.foreign import read_result
    from workbench.simulation.simulate import simulate
    from workbench.ui.bench.app import Workbench
    from workbench.ui.bench.trees import Trees
    from workbench.views.dump import inspect_dump as inspect

__all__ = [
    "AlignError",
    "AscendCL",
    "Comparison",
    "ConfigError",
    "FormatError",
    "Golden",
    "GraphError",
    "OutputError",
    "Trees",
    "Workbench",
    "WorkbenchError",
    "compare",
    "compare_job",
    "config",
    "convert",
    "envelope",
    "golden",
    "inspect",
    "load",
    "models",
    "nn",
    "preview",
    "probe_order",
    "read_ir",
    "read_job",
    "read_onnx",
    "read_result",
    "set_dump",
    "simulate",
    "trace",
]

__version__ = "0.1.0"

PLACES = {
    "AscendCL": "workbench.ascendcl.api:AscendCL",
    "Trees": "workbench.ui.bench.trees:Trees",
    "Workbench": "workbench.ui.bench.app:Workbench",
    "Comparison": "workbench.session.comparison:Comparison",
    "compare": "workbench.session.compare:compare",
    "compare_job": "workbench.scale.compare_job:compare_job",
    "config": "workbench.config",
    "convert": "workbench.dump.convert:convert",
    "envelope": "workbench.session.envelope:envelope",
    "Golden": "workbench.golden_data:Golden",
    "golden": "workbench.golden_data:golden",
    "inspect": "workbench.views.dump:inspect_dump",
    "load": "workbench.dump.reader:load",
    "models": "workbench.network.models",
    "nn": "workbench.network.nn",
    "preview": "workbench.forecast.preview:preview",
    "probe_order": "workbench.npu.orders.probe:probe_order",
    "read_job": "workbench.scale.compare_job:read_job",
    "read_ir": "workbench.graph_files.formats:read_graph",
    "read_onnx": "workbench.network.onnx:read_onnx",
    "read_result": "workbench.session.foreign:read_result",
    "set_dump": "workbench.network.cell:set_dump",
    "simulate": "workbench.simulation.simulate:simulate",
    "trace": "workbench.network.tracer:trace",
}
"""What users import from here, by name; each is loaded when it is first used, so that importing costs nothing."""

__getattr__, __dir__ = make_door(__name__, PLACES)


def _config_form(config: Any, **options: Any) -> Any:
    from workbench.ui.form import ConfigForm

    return ConfigForm(config, **options)


def _panel(bench: Any, **options: Any) -> Any:
    from workbench.ui.shell import make_panel

    return make_panel(bench, **options)


def _explorer(comparison: Any, **options: Any) -> Any:
    from workbench.ui.widgets.native import make_explorer

    return make_explorer(comparison, **options)


def _job(job: Any) -> Any:
    from workbench.ui.job import JobExplorer

    return JobExplorer(job)


FACES.update(config=_config_form, explorer=_explorer, job=_job, workbench=_panel)
