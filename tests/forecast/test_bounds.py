"""What a dump of reported operators comes to at most: never less than a run writes."""

import numpy as np
import pytest

from kit.cases import changed
from kit.trees import foretold, sizes
from workbench.config import new
from workbench.config.context import Context
from workbench.core.plan import DumpPlan
from workbench.core.words import Message
from workbench.forecast.preview import preview
from workbench.network.models import load_graph
from workbench.network.nn import functional as F
from workbench.network.tracer import trace
from workbench.npu.target import Target
from workbench.simulation.simulate import simulate

HOT = trace(lambda x: F.relu(x * x) + x, np.full((2, 3), 1000, np.float32))
"""Every operator overflows in float16 or hands Inf on."""

COMMON = "common_dump_settings"


def asked(surface, mode, *changes):
    settings = {f"{COMMON}.op_debug_mode": mode, f"{COMMON}.iteration": "all"} | dict(changes)
    return changed(new(surface), settings)


FORMS = {
    "o0o1 overflow": asked("mindspore-o0o1", 3),
    "o2 overflow npy": asked("mindspore-o2", 3, (f"{COMMON}.file_format", "npy")),
    "o2 overflow bin": asked("mindspore-o2", 3, (f"{COMMON}.file_format", "bin")),
    "acl overflow": new("acl").set("dump", {"dump_path": "./", "dump_debug": "on"}),
    "o0o1 exception": asked("mindspore-o0o1", 4),
    "o2 exception": asked("mindspore-o2", 4),
    "cpu exception": asked("mindspore-cpu", 4),
    "acl exception": new("acl").set("dump", {"dump_scene": "aic_err_norm_dump"}),
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("device", ["910a", "a2"])
def test_a_run_writes_what_is_certain_and_no_more_than_the_bound(tmp_path, name, device):
    config = FORMS[name]
    told = preview(config, HOT, iterations=2, seed=4, device=device, precision_mode="force_fp16")
    faults = ["aicore-exception:Add"] if "exception" in name else []
    simulate(
        HOT, None, config, tmp_path / "out", device=device, surface=config.surface.name, seed=4,
        iterations=2, precision_mode="force_fp16", faults=faults,
    )  # fmt: skip
    found = sizes(tmp_path / "out")
    certain = foretold(told.forecast)
    if not (name == "cpu exception" and faults):  # the run ends before its parameters are dumped
        assert certain.items() <= found.items()
    assert told.bound.files >= len(found)
    if told.bound.nbytes is not None:
        assert told.bound.nbytes >= sum(found.values())
    assert not told.exact
    if "exception" in name and not name.startswith("cpu"):
        assert told.bound.files == len(found)


def test_a_cpu_that_does_not_fail_writes_what_is_foretold(tmp_path):
    config = FORMS["cpu exception"]
    told = preview(config, HOT, iterations=2)
    simulate(HOT, None, config, tmp_path / "out", surface="mindspore-cpu", iterations=2)
    found = sizes(tmp_path / "out")
    assert foretold(told.forecast) == found
    assert told.bound == (len(found), sum(found.values()))
    names = [path for path in found if path.endswith(".npy")]
    assert len(names) == 2
    assert all("Parameter." in name for name in names)


@pytest.mark.parametrize("name", FORMS)
def test_the_sentence_and_the_json_tell_the_bound(name):
    told = preview(FORMS[name], load_graph("mlp"))
    kind = "exception" if "exception" in name else "overflow"
    first = str(told).splitlines()[0]
    assert f"At most {told.bound.files} file" in first
    assert told.inexact_because[0] == Message(f"forecast/late-{kind}")
    assert str(told.inexact_because[0]) in first
    assert told.overhead.name == "unknown"
    assert told.to_dict()["at_most"] == {"files": told.bound.files, "bytes": told.bound.nbytes}
    assert f"At most {told.bound.files} file" in told._repr_html_()


def test_a_run_without_such_a_dump_has_no_bound():
    told = preview(new("acl"), load_graph("mlp"))
    assert told.bound is None
    assert told.to_dict()["at_most"] is None


def test_a_device_that_does_not_dump_writes_what_is_certain_alone():
    config = asked("mindspore-o0o1", 3, (f"{COMMON}.support_device", [1]))
    told = preview(config, HOT, context=Context())
    assert told.bound.files == told.files == 3
    assert "simulation/device-left-out" in {note.code for note in told.notes}


def test_the_notes_say_what_the_bound_leaves_out():
    limited = asked("mindspore-o0o1", 3, (f"{COMMON}.overflow_number", 1))
    notes = preview(limited, HOT).notes
    assert Message("forecast/overflow-limit", limit=1) in notes
    assert Message("forecast/ms-overflow") in notes
    assert Message("forecast/no-failures") in preview(FORMS["cpu exception"], HOT).notes


@pytest.mark.parametrize("kind", ["overflow", "exception"])
def test_a_plan_needs_no_form(kind):
    from workbench.dump.write.targets import Target as TreeTarget
    from workbench.forecast.preview import preview_plan
    from workbench.forecast.sources import load_workload

    plan = DumpPlan("/d", kind=kind, files="bin")
    told = preview_plan(
        plan, load_workload(HOT, "acl"), Target("acl"), TreeTarget(), context=Context()
    )
    kernels = 5  # its three operators, and Casts at both ends
    assert told.bound.files == 1 + (2 * kernels if kind == "overflow" else 1)  # one is the graph
