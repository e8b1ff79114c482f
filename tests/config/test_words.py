"""Plans in words: every part of a plan changes what is said, and nothing else is said."""

from dataclasses import fields, replace

import pytest

from kit.words import check_said
from workbench import config as surfaces
from workbench.config.explain import (
    iterations_words,
    omission_words,
    part_name,
    part_words,
    plan_words,
    selector_words,
)
from workbench.config.files import read
from workbench.core.plan import DumpPlan, Exclusion, Iterations, Selector
from workbench.core.words import Message


def message(code, **values):
    return Message(f"config/{code}", **values)


PLAN = DumpPlan("/d")
EVERY = message("every-iteration")
ALL = message("select-all")


@pytest.mark.parametrize(("text", "code", "values"), [
    ("all", "config/every-iteration", {}),
    ("", "config/no-iteration", {}),
    ("x", "config/no-iteration", {}),
    ("9-3", "config/no-iteration", {}),
    ("0", "config/one-iteration", {"number": "0"}),
    ("3-3", "config/one-iteration", {"number": "3"}),
    ("0|5", "config/iterations", {"ranges": ["0", "5"]}),
    ("5-8", "config/iterations", {"ranges": ["5-8"]}),
    ("0|5-8|10|9-3", "config/iterations", {"ranges": ["0", "5-8", "10"]}),
])  # fmt: skip
def test_iterations(text, code, values):
    assert iterations_words(Iterations.parse(text)) == Message(code, **values)


@pytest.mark.parametrize(("selector", "code", "values"), [
    (Selector("all"), "config/select-all", {}),
    (Selector("name", "a/b"), "config/select-name", {"text": "a/b"}),
    (Selector("type", "conv"), "config/select-type", {"text": "conv"}),
    (Selector("regex", ".*fc"), "config/select-regex", {"text": ".*fc"}),
    (Selector("marked"), "config/select-marked", {}),
    (Selector("range", "a", "b"), "config/select-range", {"text": "a", "end": "b"}),
])  # fmt: skip
def test_selectors(selector, code, values):
    check_said(selector_words(selector), code, **values)
    of_model = selector_words(replace(selector, model="m"))
    check_said(of_model, "config/select-of-model", model="m", operators=selector_words(selector))


def test_blacklist_entries():
    whole = omission_words(Exclusion("type", "Add"))
    assert whole == message("omit", kind="type", text="Add")
    some = omission_words(Exclusion("type", "Add", ("input0", "output1")))
    assert some == message("omit-slots", slots=["input0", "output1"], operators=whole)
    of_model = omission_words(Exclusion("type", "Add", ("input0", "output1"), "m"))
    assert of_model == message("select-of-model", operators=some, model="m")


def data(**changes):
    """What is said of a dump of data, without its folder."""
    said = plan_words(replace(PLAN, **changes))
    check_said(said, "config/into", path="/d")
    return said.values["plan"]


def test_a_plan_of_data_says_when_what_whom_and_how():
    check_said(
        data(),
        "config/plan-data",
        when=EVERY,
        io=message("io-both"),
        operators=ALL,
        saved=message("saved-tensors", files=message("files-npy"), form="host"),
    )


@pytest.mark.parametrize(("changes", "when"), [
    ({"ranks": (3,)}, message("on", when=EVERY, word="rank", numbers=[3])),
    ({"devices": (0, 1)}, message("on", when=EVERY, word="device", numbers=[0, 1])),
    ({"devices": ()}, message("on-none", when=EVERY, word="device")),
    ({"iterations": Iterations.parse("1")}, message("one-iteration", number="1")),
])  # fmt: skip
def test_when_and_where_a_plan_dumps(changes, when):
    assert data(**changes).values["when"] == when


@pytest.mark.parametrize("io", [("input",), ("output",), ()])
def test_inputs_and_outputs(io):
    said = data(io=frozenset(io)).values["io"]
    assert said.code == f"config/io-{io[0] if io else 'none'}"


NPY = message("files-npy")
STATISTICS = message("saved-statistics", statistics=["max", "min", "l2norm"], where="host")


@pytest.mark.parametrize(("changes", "saved"), [
    ({"saved": "statistic"}, STATISTICS),
    ({"saved": "full"},
     message("saved-both", tensors=message("saved-tensors", files=NPY, form="host"), statistics=STATISTICS)),
    ({"files": "bin", "host_format": False}, message("saved-tensors", files=message("files-bin"), form="device")),
    ({"files": "pt", "sample": 9}, message("saved-sample", files=message("files-pt"), count=9)),
])  # fmt: skip
def test_what_is_saved(changes, saved):
    assert data(**changes).values["saved"] == saved


def test_operators_and_exceptions():
    select = (Selector("name", "A"), Selector("type", "b"))
    operators = message("operators", operators=list(map(selector_words, select)))
    assert data(select=select).values["operators"] == operators
    barred = Exclusion("type", "Add")
    check_said(data(omit=(barred,)), "config/plan-data-except", omitted=[omission_words(barred)])


@pytest.mark.parametrize(("changes", "code", "values"), [
    ({"kind": "overflow", "limit": 3}, "config/plan-overflow-limit", {"limit": 3}),
    ({"kind": "overflow"}, "config/plan-overflow", {"overflow": "all"}),
    ({"kind": "watch", "watched": ("C",), "select": (Selector("name", "A"),)}, "config/plan-watch",
     {"watched": [message("select-name", text="C")]}),
])  # fmt: skip
def test_other_kinds_of_dump(changes, code, values):
    check_said(data(**changes), code, when=EVERY, **values)


@pytest.mark.parametrize(("changes", "said"), [
    ({"iterations": Iterations(())}, message("plan-nothing")),
    ({"iterations": Iterations(((9, 3),))}, message("plan-no-iteration")),
    ({"kind": "exception", "detail": "brief"},
     message("below", plan=message("plan-exception", detail="brief"), path="/d")),
    ({"kind": "exception", "detail": "norm", "path": ""}, message("plan-exception", detail="norm")),
])  # fmt: skip
def test_plans_that_write_no_tensor(changes, said):
    assert plan_words(replace(PLAN, **changes)) == said


@pytest.mark.parametrize("count", [0, 1, 12])
def test_operators_are_counted_where_their_number_is_known(count):
    operators = plan_words(PLAN, count).values["plan"].values["operators"]
    assert operators == message("operator-count", count=count)


@pytest.mark.parametrize(("name", "value", "said"), [
    ("iterations", Iterations.parse("1"), message("one-iteration", number="1")),
    ("select", (), ALL),
    ("omit", (), message("none")),
    ("omit", (Exclusion("type", "Add"),), message("some", items=[message("omit", kind="type", text="Add")])),
    ("devices", None, message("all")),
    ("devices", (10, 2), message("some", items=[10, 2])),
    ("devices", (), message("none")),
    ("io", frozenset(["output", "input"]), message("some", items=["input", "output"])),
    ("statistics", ("max", "avg"), message("some", items=["max", "avg"])),
    ("single_op", True, message("yes")),
    ("single_op", False, message("no")),
    ("sample", None, message("none")),
    ("sample", 5, message("plain", value=5)),
    ("path", "", message("none")),
    ("path", "/d", message("plain", value="/d")),
])  # fmt: skip
def test_the_value_of_a_part(name, value, said):
    assert part_words(name, value) == said


def test_every_part_of_a_plan_is_called_something_of_its_own():
    names = [str(part_name(part.name)) for part in fields(DumpPlan)]
    assert len(set(names)) == len(names)


def test_what_only_the_run_knows_is_not_told_as_if_it_were_set():
    text = "from npu_bridge.npu_init import *\nd = DumpConfig(True, {}, args.step)\n"
    form = read(text.format("args.path"), "tensorflow")
    unknown = plan_words(form.plan(), known_path=False)
    check_said(unknown, "config/into-unknown", plan=plan_words(form.plan()))
    paths = ["dump.dump_path", "dump.dump_step"]
    told = message("plan-run-time", plan=unknown, paths=paths)
    assert str(told) in form.explain().splitlines()[0]
    form = read(text.format("'/d'"), "tensorflow")
    told = message("plan-run-time", plan=plan_words(form.plan()), paths=paths[1:])
    assert str(told) in form.explain().splitlines()[0]


def test_an_explanation_never_breaks_its_lines_or_steers_the_terminal():
    form = surfaces.new("acl", dump__dump_path="d\n\x1b[2J\u202e")
    lines = form.explain().split("\n")
    assert all(line.isprintable() for line in lines)
    assert r"d\n\x1b[2J\u202e" in lines[0]
    assert len(lines) == len(surfaces.new("acl").explain().split("\n"))


def test_a_folder_that_is_not_known_is_not_named():
    assert plan_words(replace(PLAN, path="")) == data()
