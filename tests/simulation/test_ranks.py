"""Which rank of a job dumps: the one that a launcher's variable names."""

import pytest

from workbench.config.context import Context
from workbench.simulation.ranks import ranks_of


@pytest.mark.parametrize(
    ("surface", "env", "dumps"),
    [
        ("torchair", {"RANK": "1"}, [False, True]),
        ("torchair", {"RANK_ID": "1"}, [True, True]),
        ("tensorflow", {"RANK_ID": "0"}, [True, False]),
        ("mindspore-ge", {"RANK": "0"}, [True, True]),
    ],
)
def test_one_rank_dumps_where_the_launchers_variable_names_it(surface, env, dumps):
    assert [one.dumps for one in ranks_of(surface, Context(env=env), 2)] == dumps
