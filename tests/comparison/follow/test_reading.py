"""What an operator without a graph read, where the golden is another framework's and has outputs alone."""

from types import SimpleNamespace

import numpy as np
import pytest

from kit.build.onnx_models import model, node
from kit.commands import run
from workbench.comparison.bind.wiring import Wiring
from workbench.comparison.follow.in_time import visit
from workbench.comparison.follow.in_time.reading import UNSEEN, Partners, source_of


def test_two_inputs_that_outputs_0_gave_are_both_known(capsys, tmp_path, monkeypatch):
    """Their goldens are output 0 of Exp and output 0 of Tanh: one number, two inputs."""
    x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6)
    nodes = [
        node("Exp", ["x"], ["e"], "exp"), node("Tanh", ["x"], ["t"], "tanh"), node("Add", ["e", "t"], ["y"], "add"),
    ]  # fmt: skip
    (tmp_path / "net.onnx").write_bytes(model(nodes, {"x": x}, ["y"]).SerializeToString())
    np.save(tmp_path / "x.npy", x)
    net, fed = tmp_path / "net.onnx", f"x={tmp_path / 'x.npy'}"
    (tmp_path / "acl.json").write_text(run(capsys, "config", "new", "acl")[1], encoding="utf-8")
    asked = ("simulate", "--graph", net, "--config", tmp_path / "acl.json", "--input", fed)
    faulty = ("--device", "a2", "--fault", "scaled-output:exp:1.05", "--out", tmp_path / "target")
    assert run(capsys, *asked, *faulty)[0] == 0
    made = ("golden", net, "--input", fed, "--engine", "reference", "--out", tmp_path / "golden")
    assert run(capsys, *made)[0] == 0
    for path in (tmp_path / "target").rglob("graphs"):
        path.rename(tmp_path / "graphs")

    read = {}
    known = visit.reading_of

    def watched(survey, block, op, partners, *, first):
        reading = known(survey, block, op, partners, first=first)
        read[survey.pairing.target.runs[block][op].op_name] = reading
        return reading

    monkeypatch.setattr(visit, "reading_of", watched)
    run(capsys, "compare", tmp_path / "target", tmp_path / "golden", "--json", "-")
    (reading,) = [one for name, one in read.items() if "add" in name.lower()]
    assert sorted(reading.inputs) == [0, 1]
    assert max(reading.given) > 0.04  # what Exp gave, whichever of them was measured last


@pytest.mark.parametrize(("read", "source"), [({}, UNSEEN), ({-5: [(-5, 0)]}, (-2, 1))])
def test_an_operator_whose_inputs_were_not_dumped_hands_nothing_on(read, source):
    """A Reshape that the target lacks stands between; what it read is known only if it was dumped."""
    wiring = Wiring({(-7, 0): (-5, 0), (-5, 0): (-3, 1)})
    runs = {-5: SimpleNamespace(op_type="Reshape")}
    partners = Partners(runs, wiring, {}, {-3: -2}, {}, read)
    assert source_of(partners, -7, 0) == source
