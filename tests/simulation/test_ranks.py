"""Which rank of a job dumps: the one that a launcher's variable names."""

import pytest

from kit.trees import files
from workbench.config import new
from workbench.config.context import Context
from workbench.forecast.preview import preview
from workbench.network.models import load_graph
from workbench.simulation.ranks import ranks_of
from workbench.simulation.simulate import simulate


@pytest.mark.parametrize(("surface", "env", "dumps"), [
    ("torchair", {"RANK": "1"}, [False, True]),
    ("torchair", {"RANK_ID": "1"}, [True, True]),
    ("tensorflow", {"RANK_ID": "0"}, [True, False]),
    ("mindspore-ge", {"RANK": "0"}, [True, True]),
])  # fmt: skip
def test_one_rank_dumps_where_the_launchers_variable_names_it(surface, env, dumps):
    assert [one.dumps for one in ranks_of(surface, Context(env=env), 2)] == dumps


@pytest.mark.parametrize(
    ("surface", "folder"),
    [("mindspore-o2", "0/*"), ("torchair", "worldsize2_*/*"), ("tensorflow", "*")],
)
def test_every_process_has_a_timestamp_folder_of_its_own(tmp_path, surface, folder):
    form, graph = new(surface), load_graph("mlp")
    simulate(graph, None, form, tmp_path, surface=surface, device="a2", ranks=2)
    stamps = {}
    for path in tmp_path.glob(f"{folder}/[01]"):
        stamps.setdefault(path.name, set()).add(path.parent.name)
    assert sorted(stamps) == ["0", "1"]
    assert not stamps["0"] & stamps["1"]
    assert set(preview(form, graph, ranks=2, device="a2").names) == files(tmp_path).keys()
