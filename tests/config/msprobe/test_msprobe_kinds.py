"""Kinds of value that only msprobe has, by their edges; `test_kinds.py` has their JSON Schema as well."""

import pytest

from kit.cases import NO, read_kind
from workbench.config.form.kinds import Misfit, choice_of
from workbench.config.msprobe.kinds import (
    ANY_MODES,
    FIGURE_LIST,
    LARGEST,
    MODE_LIST,
    NUMBER_LIST,
    SLICE_LIST,
    number_range,
    or_nothing,
)

MODE = or_nothing(choice_of("on", "off"), "off")


@pytest.mark.parametrize(("element", "ends"), [
    (0, (0, 0)), (7, (7, 7)), (LARGEST, (LARGEST, LARGEST)), (LARGEST + 1, None), (-1, None),
    (True, None), (1.0, None),
    ("5", (5, 5)), ("5-8", (5, 8)), (" 5 - 8 ", (5, 8)), ("8-8", (8, 8)), ("8-5", None), ("1-2-3", None),
    ("-2", None), ("", None), ("a", None), ("1_0", (10, 10)), ("+1", (1, 1)), ("9" * 50, None), (None, None),
    ("0-1000000", (0, LARGEST)), ("0-1000001", None),
])  # fmt: skip
def test_an_element_of_step_or_rank_is_a_number_or_a_range(element, ends):
    assert number_range(element) == ends
    assert (read_kind(NUMBER_LIST, [element]) is NO) == (ends is None)


@pytest.mark.parametrize(("kind", "value", "kept"), [
    (NUMBER_LIST, None, ()), (NUMBER_LIST, 3, NO), (NUMBER_LIST, [0] * LARGEST + [0], NO),
    (MODE_LIST, None, ()), (MODE_LIST, ["all"], ("all",)), (MODE_LIST, ["all", "input"], NO),
    (MODE_LIST, "all", NO),
    (MODE_LIST, ["input"] * 4, ("input",) * 4), (MODE_LIST, ["input"] * 5, NO), (MODE_LIST, [["input"]], NO),
    (ANY_MODES, 0, ("all",)), (ANY_MODES, True, NO), (ANY_MODES, 1.5, NO), (ANY_MODES, "x", ("all",)),
    (ANY_MODES, ["x", 1], ("x", 1)), (ANY_MODES, [[1]], NO), (ANY_MODES, {}, ("all",)),
    (SLICE_LIST, [{"dim": 0, "size": 3, "begin": -1}], ({"dim": 0, "size": 3, "begin": -1},)),
    (SLICE_LIST, [{"dim": -1}], NO), (SLICE_LIST, [{"size": -1}], NO), (SLICE_LIST, [{"x": "1"}], NO),
    (SLICE_LIST, False, ()), (SLICE_LIST, {"dim": 0}, NO), (SLICE_LIST, [1], NO),
    (SLICE_LIST, [{"dim": True}], ({"dim": True},)),
    (FIGURE_LIST, "md5", "md5"), (FIGURE_LIST, "", NO), (FIGURE_LIST, "max", NO),
    (FIGURE_LIST, ["max", "mean"], ("max", "mean")),
    (FIGURE_LIST, ["avg"], NO), (FIGURE_LIST, 5, 5), (FIGURE_LIST, None, None),
    (MODE, "on", "on"), (MODE, "", "off"), (MODE, [], "off"), (MODE, None, "off"), (MODE, "x", NO), (MODE, 1, NO),
])  # fmt: skip
def test_a_kind_takes_what_msprobe_takes(kind, value, kept):
    found = read_kind(kind, value)
    assert found is kept if kept is NO else found == kept


@pytest.mark.parametrize(
    ("kind", "value"),
    [(NUMBER_LIST, [0, "x"]), (MODE_LIST, ["input", "x"]), (SLICE_LIST, [{}, 1]), (FIGURE_LIST, ["max", "x"]),
     (ANY_MODES, [1, {}])],
)  # fmt: skip
def test_the_wrong_element_is_named(kind, value):
    with pytest.raises(Misfit) as misfit:
        kind.read(value)
    assert misfit.value.index == 1
