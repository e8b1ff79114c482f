"""What a simulated device does not write is refused before anything is written, and why."""

import pytest

from kit.words import check_said, misconfigured
from workbench.config import new
from workbench.core.plan import DumpPlan
from workbench.core.writers import WRITERS
from workbench.network.models import load_graph
from workbench.simulation.lowering import surface_of, unsupported
from workbench.simulation.simulate import simulate

DETAIL = DumpPlan("/d", kind="exception", detail="detail")
REFUSED = [
    # plan, surface, device, what the problem is of, code, values
    (DumpPlan("/d"), "msprobe", "a2", "surface", "not-simulated", {"surface": "msprobe"}),
    (DumpPlan("/d", kind="overflow"), "torchair", "a2", "kind", "plan-kind", {"got": "overflow"}),
    (DumpPlan("/d", kind="overflow"), "mindspore-cpu", "a2", "kind", "plan-kind", {"got": "overflow"}),
    (DumpPlan("/d", kind="watch"), "tensorflow", "a2", "kind", "plan-kind", {"got": "watch"}),
    (DumpPlan("/d", kind="overflow"), "acl", "reference", "device", "overflow-device", {"got": "reference"}),
    (DETAIL, "acl", "910a", "device", "exception-device", {"got": "910a"}),
    (DumpPlan("/d", files="pt"), "torchair", "a2", "files", "captured", {}),
]  # fmt: skip
WRITTEN = [
    (DETAIL, "acl", "a3"),
    (DumpPlan("/d", kind="exception"), "acl", "910a"),
    (DumpPlan("/d", kind="overflow"), "acl", "910a"),
    (DumpPlan("/d", kind="watch"), "acl", "reference"),
]


@pytest.mark.parametrize(("plan", "surface", "device", "place", "code", "values"), REFUSED)
def test_what_is_not_written_is_named(plan, surface, device, place, code, values):
    found = unsupported(plan, surface, device)
    assert (found.id, found.severity) == (place, "error")
    check_said(found.message, f"simulation/{code}", **values)


@pytest.mark.parametrize(("plan", "surface", "device"), WRITTEN)
def test_what_is_written_is_no_problem(plan, surface, device):
    assert unsupported(plan, surface, device) is None


def test_every_kind_of_every_surface_is_written_or_refused():
    written = {
        name: {kind for kind in ("data", "overflow", "exception", "watch")
               if unsupported(DumpPlan("/d", kind=kind), name, "a2") is None}
        for name in WRITERS
    }  # fmt: skip
    assert written == {
        name: {*row.kinds} if row.is_simulated else set() for name, row in WRITERS.items()
    }


def test_nothing_is_written_before_the_form_is_judged(tmp_path):
    form = new("torchair").set("mode", "reduce-overhead")
    for path in ("dump_config.dump_step", "dump_config.dump_mode"):
        form = form.unset(path)
    with misconfigured("files", "simulation/captured"):
        simulate(load_graph("mlp"), None, form, tmp_path / "out", surface="torchair")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("given", "device", "surface"), [
    (DumpPlan("/d"), "reference", "mindspore-cpu"),
    (DumpPlan("/d"), "a2", "mindspore-o0o1"),
    (new("mindspore-gpu"), "reference", "mindspore-cpu"),
    (new("mindspore-cpu"), "950", "mindspore-o0o1"),
    (new("mindspore-o2"), "reference", "mindspore-o2"),
    (new("acl"), "reference", "acl"),
])  # fmt: skip
def test_the_device_chooses_among_the_surfaces_that_share_a_form(given, device, surface):
    assert surface_of(given, device) == surface
