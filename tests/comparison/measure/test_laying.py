"""Data that lie as a device has them take the host's shape from the other side, or are not compared."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from kit.arrays import sources_of
from kit.build.small_dumps import save_container
from kit.words import check_said
from workbench.comparison.bind.borrow import bind_both
from workbench.comparison.engine import compare_dumps
from workbench.comparison.measure.measure import lay_over, measure_pairs
from workbench.comparison.measure.tensors import measure
from workbench.comparison.pair.pair import pair_tensors
from workbench.config import new
from workbench.core.formats import read_format
from workbench.core.tensors import ArraySource
from workbench.core.transdata import to_device
from workbench.dump.formats.npy import NpySource
from workbench.dump.reader import load
from workbench.network.models import load_graph
from workbench.session.compare import compare
from workbench.show.json_result import to_json
from workbench.simulation.simulate import simulate

HOST = np.arange(2 * 17 * 3 * 2, dtype=np.float16).reshape(2, 17, 3, 2)
SQUARE = np.arange(32 * 32, dtype=np.float16).reshape(32, 32)


def container(path, array, number, **fields):
    """A container that states no shape of the host."""
    save_container(path, [], [(array, {"format": number, "original_shape": ()} | fields)])
    (source,) = sources_of(path)
    return source


def npy(path, array, device=""):
    np.save(path, array)
    return NpySource(str(path), read_format(device)) if device else NpySource(str(path))


def equal(target, golden) -> bool:
    target, golden, mismatch = lay_over(target, golden)
    return not mismatch and measure(target, golden).error == 0


@pytest.mark.parametrize("swap", [False, True])
def test_the_other_sides_shape_tells_where_elements_belong(tmp_path, swap):
    golden = npy(tmp_path / "g.npy", HOST)
    there = to_device(HOST, "NCHW", "NC1HWC0")
    for target in (container(tmp_path / "c", there, 3), npy(tmp_path / "t.npy", there, "NC1HWC0")):
        assert equal(*((golden, target) if swap else (target, golden)))


def test_as_many_elements_are_not_the_same_elements(tmp_path):
    """A matrix of whole blocks has no padding: sizes agree, places do not."""
    target = npy(tmp_path / "t.npy", to_device(SQUARE, "ND", "FRACTAL_NZ"), "FRACTAL_NZ")
    assert equal(target, ArraySource(SQUARE))


def test_a_shape_that_does_not_fit_is_a_reason(tmp_path):
    target = npy(tmp_path / "t.npy", to_device(SQUARE, "ND", "FRACTAL_NZ"), "FRACTAL_NZ")
    reason = lay_over(target, npy(tmp_path / "g.npy", SQUARE.reshape(8, 128))).mismatch
    assert reason.code == "compare/layouts-differ"
    reason = lay_over(target, npy(tmp_path / "g.npy", SQUARE.reshape(-1))).mismatch
    check_said(
        reason, "compare/layouts-differ", target_shape=(2, 2, 16, 16), target_format="FRACTAL_NZ",
        golden_shape=(1024,),
    )  # fmt: skip


def test_two_device_formats_of_which_nothing_more_is_known_stay_apart(tmp_path):
    one = container(tmp_path / "a", to_device(HOST, "NCHW", "NC1HWC0"), 3)
    other = container(tmp_path / "b", to_device(HOST, "NCHW", "FRACTAL_Z"), 4)
    formats = {"target_format": "NC1HWC0", "golden_format": "FRACTAL_Z"}
    check_said(lay_over(one, other).mismatch, "compare/layouts-differ", **formats)


def test_equal_device_formats_are_compared_as_they_lie(tmp_path):
    there = to_device(HOST, "NCHW", "NC1HWC0")
    one, other = container(tmp_path / "a", there, 3), npy(tmp_path / "b.npy", there, "NC1HWC0")
    assert equal(one, other)
    assert one.spec().shape == there.shape


def test_a_container_that_states_its_shape_keeps_it(tmp_path):
    """NHWC fits as well as NCHW; what the file states counts."""
    host = np.arange(2 * 4**3, dtype=np.float16).reshape(2, 4, 4, 4)
    there = to_device(host, "NCHW", "NC1HWC0")
    target = container(tmp_path / "c", there, 3, original_shape=host.shape)
    assert equal(target, ArraySource(host))
    assert target.spec().format == "NCHW"


def tree(root, name, *, host, network="lenet"):
    """A tree of O1 without its graphs, of tensors as they lie on the host or on the device."""
    config = new("mindspore-o0o1").set("e2e_dump_settings.trans_flag", host)
    out = root / name
    simulate(load_graph(network), None, config, out, surface="mindspore-o0o1", device="a2")
    shutil.rmtree(out / "rank_0/graphs")
    return out


def flattened(path):
    """The same tree with every shape lost: what lies as a device has it fits nothing there."""
    for file in path.rglob("*.npy"):
        np.save(file, np.load(file).reshape(-1))
    return path


def told(result):
    """All that a result says of its tensors, and its JSON; as text, in which NaN equals NaN."""
    rows = [
        (r.op_name, r.io, r.slot, r.status, str(r.reason), r.error, r.inherited_error, r.noise_floor,
         r.own_error, r.target_spec, r.golden_spec, [*r.metrics.items()])
        for r in result.rows
    ]  # fmt: skip
    return str(rows), json.dumps(to_json(result), sort_keys=True)


def test_a_dump_compared_with_two_partners_gives_the_same_in_both_orders(tmp_path):
    """A comparison that told a dump's sources what its partner states would change the next one."""
    there = tree(tmp_path, "device", host=False)
    partners = {
        "host": load(tree(tmp_path, "host", host=True)),
        "device": load(there),
        "flat": load(flattened(tree(tmp_path, "flat", host=True))),
    }
    fresh = {name: told(compare_dumps(load(there), one).result) for name, one in partners.items()}
    for order in (("host", "device", "flat"), ("flat", "device", "host")):
        dump = load(there)
        specs = [record.spec for record in dump.records]
        for name in order:
            compare_dumps(partners[name], dump)
            assert told(compare_dumps(dump, partners[name]).result) == fresh[name], (order, name)
        assert [record.spec for record in dump.records] == specs
    assert "NC1HWC0" in fresh["device"][0]
    assert "NC1HWC0" not in fresh["host"][0]
    assert "compare/layouts-differ" not in fresh["host"][0] + fresh["device"][0]


def test_whoever_reads_a_pair_later_reads_what_was_measured(tmp_path):
    there, host = (load(tree(tmp_path, str(host), host=host)) for host in (False, True))
    before = pair_tensors(*bind_both(there, host))
    after, measured, _ = measure_pairs(before)
    laid = [
        (a, b) for a, b in zip(before.pairs, after.pairs, strict=True) if a.target is not b.target
    ]
    assert 0 < len(laid) < len(before.pairs)
    assert [item.pair for item in measured] == sorted(after.pairs, key=lambda pair: pair.order)
    for old, found in laid:
        assert old.target.spec.shape != found.target.spec.shape == found.golden.spec.shape
        assert np.array_equal(found.target.source.array(), found.golden.source.array())
    for pair in after.pairs:
        if pair.run is not None:
            assert pair.run is after.target.runs[pair.run.block][pair.run.op]
            assert pair.run.tensors[pair.io, pair.slot] is pair.target


@pytest.mark.parametrize("graphs", ["both", "golden", "none"])
def test_without_trans_flag_a_tree_agrees_with_one_that_has_it(tmp_path, graphs):
    for name, flag in (("target", False), ("golden", True)):
        config = new("mindspore-o0o1").set("e2e_dump_settings.trans_flag", flag)
        simulate(
            load_graph("lenet"),
            None,
            config,
            tmp_path / name,
            surface="mindspore-o0o1",
            device="a2",
        )
        if graphs == "none" or (graphs, name) == ("golden", "target"):
            shutil.rmtree(tmp_path / name / "rank_0/graphs")
    result = compare(tmp_path / "target", tmp_path / "golden")
    assert {row.status for row in result.rows} == {"equal"}
    assert (result.verdict, result.coverage.skipped) == ("pass", {})


def test_what_cannot_be_laid_over_each_other_is_no_verdict(tmp_path):
    for name, flag in (("target", False), ("golden", True)):
        config = new("mindspore-o0o1").set("e2e_dump_settings.trans_flag", flag)
        simulate(
            load_graph("mlp"), None, config, tmp_path / name, surface="mindspore-o0o1", device="a2"
        )
        shutil.rmtree(tmp_path / name / "rank_0/graphs")
    for path in (tmp_path / "golden").rglob("*.npy"):
        array = np.load(path)
        np.save(path, array.reshape(-1))
    rows = compare(tmp_path / "target", tmp_path / "golden").rows
    apart = [row for row in rows if row.status == "uncomparable"]
    assert apart
    assert {row.status for row in rows} == {"equal", "uncomparable"}
    formats = {format for row in apart for format in row.reason.values.values()}
    assert "FRACTAL_NZ" in formats
    assert {row.reason_code for row in apart} == {"compare/layouts-differ"}
