"""What acl and adump say to a form: each row is a fact of their code or of their own unit tests."""

import pytest

from workbench.config.acl.surface import ACL
from workbench.config.config import Config
from workbench.config.context import Context

P = {"dump_path": "./"}
OP = P | {"dump_level": "op"}
M = [{"model_name": "m"}]
BRIEF = {"dump_scene": "aic_err_brief_dump"}
WATCH = P | {"dump_scene": "watcher"}
NODES = [{"layer": ["A", "B"], "watcher_nodes": ["C", "D"]}]
RANGE = [{"begin": "a", "end": "b"}]
BARRED = [{"name": "Conv2D", "pos": ["input0"]}]


def of_model(**entry):
    """A list of one entry, which names its model."""
    return {"dump_list": [{"model_name": "m"} | entry]}


def check(data, context=None):
    return Config(ACL, data).check(context or Context())


def first_error(data, context=None):
    errors = [(p.code, p.path) for p in check(data, context) if p.severity == "error"]
    return errors[0] if errors else None


ACCEPTED = {
    "no dump key": {},
    "another key alone": {"profiler": {"switch": "on"}},
    "empty dump": {"dump": {}},
    "path alone": {"dump": P},
    "path on another host": {"dump": {"dump_path": "192.168.0.1:/home/xh"}},
    "a colon without address": {"dump": {"dump_path": ":/home/xh"}},
    "an address of three": {"dump": {"dump_path": "10.0.1:/home"}},
    "an address above 255": {"dump": {"dump_path": "10.0.0.256:/home"}},
    "debug off": {"dump": P | {"dump_debug": "off"}},
    "switch off": {"dump": P | {"dump_op_switch": "off"}},
    "empty list": {"dump": P | {"dump_list": [], "dump_data": "tensor"}},
    "unknown keys": {"dump": P | {"mine": 1} | of_model(their=None)},
    "lite exception without a path": {"dump": {"dump_scene": "lite_exception"}},
    "brief": {"dump": P | BRIEF},
    "norm": {"dump": P | {"dump_scene": "aic_err_norm_dump"}},
    "detail": {"dump": P | {"dump_scene": "aic_err_detail_dump"}},
    "exception: empty path": {"dump": BRIEF | {"dump_path": ""}},
    "exception: lists are not looked at": {"dump": BRIEF | {"dump_list": [{"layer": []}]}},
    "exception: steps are not looked at": {"dump": BRIEF | {"dump_step": "5|"}},
    "exception: statistics are not looked at": {"dump": BRIEF | {"dump_stats": []}},
    "exception: debug off": {"dump": BRIEF | {"dump_debug": "off"}},
    "watcher without list": {"dump": WATCH | {"dump_mode": "output"}},
    "watcher without layer": {"dump": WATCH | {"dump_list": [{"watcher_nodes": ["n"]}]}},
    "watcher": {"dump": WATCH | {"dump_list": NODES, "dump_mode": "output"}},
    "overflow": {"dump": P | {"dump_debug": "on"}},
    "overflow on another host": {"dump": {"dump_path": "10.29.1.6:/home/xh", "dump_debug": "on"}},
    "overflow: lists are not looked at": {"dump": P | {"dump_debug": "on", "dump_list": [{"model_name": ""}]}},
    "overflow: steps are not looked at": {"dump": P | {"dump_debug": "on", "dump_step": "x"}},
    "overflow: statistics are not looked at": {"dump": P | {"dump_debug": "on", "dump_stats": []}},
    "single operators": {"dump": P | {"dump_op_switch": "on"}},
    "single operators: empty names": {
        "dump": P | {"dump_op_switch": "on", "dump_list": [{"model_name": "", "layer": []}]}
    },
    "model": {"dump": P | {"dump_list": M}},
    "operators of a model": {"dump": P | of_model(layer=["l"])},
    "an entry for everything": {"dump": P | {"dump_list": [{}]}},
    "level kernel": {"dump": P | {"dump_list": M, "dump_level": "kernel"}},
    "types left out": {"dump": OP | of_model(optype_blacklist=BARRED)},
    "left out without pos": {"dump": OP | of_model(opname_blacklist=[{"name": "n"}])},
    "pos is free": {"dump": OP | of_model(opname_blacklist=[{"name": "n", "pos": ["x"]}])},
    "empty lists need no level": {"dump": P | of_model(optype_blacklist=[], opname_range=[])},
    "empty watcher_nodes elsewhere": {"dump": P | of_model(watcher_nodes=[])},
    "range": {"dump": OP | of_model(opname_range=RANGE)},
    "100 barred": {"dump": OP | of_model(optype_blacklist=BARRED * 100)},
    "statistics": {"dump": P | {"dump_op_switch": "on", "dump_data": "stats"}},
    "statistics chosen": {
        "dump": P | {"dump_list": M, "dump_data": "stats", "dump_stats": ["L2norm", "Negative Inf", "Max"]}
    },
    "path of 512": {"dump": {"dump_path": "d" * 512}},
    "path of odd characters on another host": {"dump": {"dump_path": "1.2.3.4:/-=[];\\,.!@#$%^&*()"}},
    **{
        f"steps {text!r}": {"dump": P | {"dump_list": M, "dump_step": text}}
        for text in ("", "3", "1|3-5|10", "5-5", "0-0", "1-10", "|".join("1" * 100), "9" * 5000)
    },
    **{
        f"kernel data {text!r}": {"dump": P | {"dump_list": M, "dump_kernel_data": text}}
        for text in ("all", "printf", "tensor", "assert", "timestamp", "all,printf")
    },
}  # fmt: skip


@pytest.mark.parametrize("data", ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(data):
    assert first_error(data) is None


STRINGS = [
    *("dump_path", "dump_mode", "dump_op_switch", "dump_level", "dump_scene", "dump_data"),
    *("dump_debug", "dump_kernel_data", "dump_step"),
]
TYPES = [
    *(({"dump": value}, "dump") for value in (None, True, 123, [], "invalid", 1.5)),
    *(({"dump": {key: value}}, f"dump.{key}") for key in STRINGS for value in (None, 123, True, ["x"], {"a": 1}, 1.5)),
    *(({"dump": {"dump_stats": v}}, "dump.dump_stats") for v in (None, 1, "Max", True, {"k": "v"})),
    *(
        ({"dump": {"dump_stats": v}}, f"dump.dump_stats[{i}]")
        for v, i in (([1, 2], 0), ([True], 0), (["L2norm", 1], 1), ([None], 0), (["bad", {}], 1))
    ),
    *(({"dump": {"dump_list": v}}, "dump.dump_list") for v in (None, 1, "m", True, {"k": "v"})),
    *(
        ({"dump": {"dump_list": v}}, f"dump.dump_list[{i}]")
        for v, i in (([1], 0), (["m"], 0), ([None], 0), ([{"model_name": "m"}, 1], 1))
    ),
    *(
        ({"dump": {"dump_list": [{"model_name": "m"} | item]}}, f"dump.dump_list[0].{path}")
        for item, path in (
            ({"model_name": 1}, "model_name"),
            ({"model_name": None}, "model_name"),
            ({"layer": "l"}, "layer"),
            ({"layer": None}, "layer"),
            ({"layer": ["a", 1]}, "layer[1]"),
            ({"layer": [{"k": 1}]}, "layer[0]"),
            ({"watcher_nodes": "n"}, "watcher_nodes"),
            ({"watcher_nodes": [True]}, "watcher_nodes[0]"),
            ({"optype_blacklist": "t"}, "optype_blacklist"),
            ({"optype_blacklist": ["t"]}, "optype_blacklist[0]"),
            ({"optype_blacklist": [{"name": 1}]}, "optype_blacklist[0].name"),
            ({"optype_blacklist": [{"name": "t", "pos": "p"}]}, "optype_blacklist[0].pos"),
            ({"optype_blacklist": [{"name": "t", "pos": [1]}]}, "optype_blacklist[0].pos[0]"),
            ({"optype_blacklist": [{"name": 1}, 5]}, "optype_blacklist[1]"),
            ({"opname_blacklist": 1}, "opname_blacklist"),
            ({"opname_blacklist": [{"name": None}]}, "opname_blacklist[0].name"),
            ({"opname_range": 1}, "opname_range"),
            ({"opname_range": [1]}, "opname_range[0]"),
            ({"opname_range": [{"begin": 1}]}, "opname_range[0].begin"),
            ({"opname_range": [{"begin": "a", "end": ["b"]}]}, "opname_range[0].end"),
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(("data", "path"), TYPES)
def test_wrong_types(data, path):
    assert first_error(data) == ("EP0001", path)


CHOICES = [key for key in STRINGS if key not in ("dump_path", "dump_step")]
VALUES = {
    **{f"empty {key}": ({key: ""}, "EP0001", key) for key in (*CHOICES, "dump_path")},
    **{f"another {key}": ({key: "invalid"}, "EP0002", key) for key in CHOICES},
    "capitals": ({"dump_mode": "Output"}, "EP0002", "dump_mode"),
    "kernel data and another": ({"dump_kernel_data": "all,invalid"}, "EP0002", "dump_kernel_data"),
    "kernel data and nothing": ({"dump_kernel_data": "all,"}, "EP0001", "dump_kernel_data"),
    "nothing and kernel data": ({"dump_kernel_data": ",bad"}, "EP0001", "dump_kernel_data"),
    "kernel data behind a blank": ({"dump_kernel_data": "all, printf"}, "EP0002", "dump_kernel_data"),
    "another statistic": ({"dump_stats": ["Max", "Mean"]}, "EP0002", "dump_stats[1]"),
    "an empty statistic": ({"dump_stats": [""]}, "EP0001", "dump_stats[0]"),
    "a statistic without capitals": ({"dump_stats": ["max"]}, "EP0002", "dump_stats[0]"),
}  # fmt: skip

CONFLICTS = {
    "exception and overflow": (BRIEF | {"dump_debug": "on"}, "EP0005", "dump_debug"),
    "exception and single operators": (BRIEF | {"dump_op_switch": "on"}, "EP0005", "dump_op_switch"),
    "watch and overflow": (WATCH | {"dump_debug": "on"}, "EP0005", "dump_debug"),
    "watch and single operators": (WATCH | {"dump_op_switch": "on"}, "EP0005", "dump_op_switch"),
    "watch of inputs": (WATCH | {"dump_mode": "input"}, "EP0005", "dump_mode"),
    "watch of all": (WATCH | {"dump_mode": "all"}, "EP0005", "dump_mode"),
    "watch without path": ({"dump_scene": "watcher"}, "EP0001", "dump_path"),
    "watch without nodes": (WATCH | {"dump_list": [{"layer": ["A"]}]}, "EP0001", "dump_list[0].watcher_nodes"),
    "watch with empty nodes": (WATCH | {"dump_list": [{"watcher_nodes": []}]}, "EP0001", "dump_list[0].watcher_nodes"),
    "watch of a model": (WATCH | of_model(watcher_nodes=["n"]), "EP0005", "dump_list[0].model_name"),
    "nodes without watch": (P | of_model(watcher_nodes=["n"]), "EP0005", "dump_list[0].watcher_nodes"),
    "no path": ({"dump_debug": "off"}, "EP0001", "dump_path"),
    "no path for an overflow dump": ({"dump_debug": "on"}, "EP0001", "dump_path"),
    "overflow and single operators": (
        {"dump_path": "d", "dump_op_switch": "on", "dump_debug": "on"}, "EP0005", "dump_op_switch",
    ),
    "empty path": ({"dump_path": ""}, "EP0001", "dump_path"),
    "path of 513": ({"dump_path": "d" * 513}, "EP0003", "dump_path"),
    "path of 171 characters and 513 bytes": ({"dump_path": "文" * 171}, "EP0003", "dump_path"),
    "address alone": ({"dump_path": "10.29.103.106:"}, "EP0003", "dump_path"),
    "blanks on another host": ({"dump_path": "10.29.103.106:/home/    "}, "EP0003", "dump_path"),
    "model without name": (P | {"dump_list": [{"model_name": ""}]}, "EP0001", "dump_list[0].model_name"),
    "no operators": (P | {"dump_list": [*M, {"model_name": "m", "layer": []}]}, "EP0001", "dump_list[1].layer"),
    "types left out of kernels": (
        P | {"dump_level": "kernel"} | of_model(optype_blacklist=BARRED), "EP0005", "dump_list[0].optype_blacklist",
    ),
    "names left out of all levels": (
        P | of_model(opname_blacklist=[{"name": "n"}]), "EP0005", "dump_list[0].opname_blacklist",
    ),
    "101 types": (OP | of_model(optype_blacklist=BARRED * 101), "EP0003", "dump_list[0].optype_blacklist"),
    "101 names": (OP | of_model(opname_blacklist=BARRED * 101), "EP0003", "dump_list[0].opname_blacklist"),
    "range of kernels": (
        P | {"dump_level": "kernel", "dump_list": [{"opname_range": RANGE}]}, "EP0005", "dump_list[0].opname_range",
    ),
    "range of any model": (OP | {"dump_list": [{"opname_range": RANGE}]}, "EP0001", "dump_list[0].model_name"),
    "range of a model without name": (
        OP | {"dump_list": [{"model_name": "", "opname_range": RANGE}]}, "EP0001", "dump_list[0].model_name",
    ),
    "range without begin": (
        OP | of_model(opname_range=[{"begin": "", "end": "b"}]), "EP0003", "dump_list[0].opname_range[0]",
    ),
    "range without end": (
        OP | of_model(opname_range=[*RANGE, {"begin": "a"}]), "EP0003", "dump_list[0].opname_range[1]",
    ),
    "statistics of tensors": (P | {"dump_data": "tensor", "dump_stats": ["Max"]}, "EP0005", "dump_stats"),
    "statistics of no data": (P | {"dump_list": M, "dump_stats": ["Max"]}, "EP0005", "dump_stats"),
    "no statistics": (P | {"dump_stats": []}, "EP0001", "dump_stats"),
    **{
        f"steps {text!r}": (P | {"dump_list": M, "dump_step": text}, "EP0003", "dump_step")
        for text in (
            *("5-4", "5|", "|5", "1||2", "5-", "-5", "1-2-3", "abc", "abc-123", "10-5", " 1", "²"),
            "|".join("1" * 101),
        )
    },
}  # fmt: skip

ORDER = {  # the first error is the one that adump reports
    "types before values": ({"dump_mode": "x", "dump_step": 5}, "EP0001", "dump_step"),
    "types in the vendor's order": (
        {"dump_list": 1, "dump_stats": 1, "dump_step": 1, "dump_path": 1}, "EP0001", "dump_path",
    ),
    "types of the list in its order": (
        {"dump_list": [{"opname_range": 1, "layer": 1}, {"model_name": 1}]}, "EP0001", "dump_list[0].layer",
    ),
    "entries of the list one after another": (
        {"dump_list": [{"opname_range": [{"end": 1}]}, 5]}, "EP0001", "dump_list[0].opname_range[0].end",
    ),
    "values in the vendor's order": (
        {"dump_scene": "x", "dump_debug": "x", "dump_data": "x", "dump_mode": "x"}, "EP0002", "dump_mode",
    ),
    "data before switch": ({"dump_op_switch": "x", "dump_data": ""}, "EP0001", "dump_data"),
    "scene before kernel data": ({"dump_kernel_data": "x", "dump_scene": "x"}, "EP0002", "dump_scene"),
    "kernel data before statistics": ({"dump_stats": ["x"], "dump_kernel_data": "x"}, "EP0002", "dump_kernel_data"),
    "values before the scene": (BRIEF | {"dump_debug": "on", "dump_stats": ["x"]}, "EP0002", "dump_stats[0]"),
    "values before the path": ({"dump_mode": "x"}, "EP0002", "dump_mode"),
    "overflow before single operators in a scene": (
        BRIEF | {"dump_op_switch": "on", "dump_debug": "on"}, "EP0005", "dump_debug",
    ),
    "the scene before the path": ({"dump_scene": "watcher", "dump_mode": "input"}, "EP0005", "dump_mode"),
    "the path before overflow": ({"dump_path": "", "dump_debug": "on", "dump_op_switch": "on"}, "EP0001", "dump_path"),
    "the path before steps": ({"dump_path": "", "dump_step": "x"}, "EP0001", "dump_path"),
    "steps before the list": (P | {"dump_step": "x", "dump_list": [{"model_name": ""}]}, "EP0003", "dump_step"),
    "the list before statistics": (
        P | {"dump_stats": [], "dump_list": [{"model_name": ""}]}, "EP0001", "dump_list[0].model_name",
    ),
    "the first entry before the second": (
        P | {"dump_list": [{"opname_range": RANGE, "model_name": "m"}, {"model_name": ""}]}, "EP0005",
        "dump_list[0].opname_range",
    ),
    "nodes before the model of a watch": (
        WATCH | {"dump_list": [{"model_name": "m"}]}, "EP0001", "dump_list[0].watcher_nodes",
    ),
    "size before level": (P | of_model(opname_blacklist=BARRED * 101), "EP0003", "dump_list[0].opname_blacklist"),
}  # fmt: skip


REFUSED = VALUES | CONFLICTS | ORDER


@pytest.mark.parametrize(("dump", "code", "path"), REFUSED.values(), ids=REFUSED)
def test_refused(dump, code, path):
    assert first_error({"dump": dump}) == (code, f"dump.{path}")


def test_errors_come_before_warnings():
    found = check({"dump": {"dump_path": "$HOME", "mine": 1, "dump_stats": []}})
    severities = [p.severity for p in found]
    assert severities[0] == "error"
    assert "error" not in severities[severities.index("warning") :]


STRICT = {
    "exception with a mode": BRIEF | {"dump_mode": "output"},
    "exception with a level": BRIEF | {"dump_level": "op"},
    "exception with data": BRIEF | {"dump_data": "tensor"},
    "exception with overflow off": BRIEF | {"dump_debug": "off"},
    "exception with kernel data": BRIEF | {"dump_kernel_data": "all"},
    "exception with steps": BRIEF | {"dump_step": "1-10"},
    "exception with statistics": BRIEF | {"dump_stats": ["Max"]},
    "exception with a list": BRIEF | {"dump_list": [{"model_name": ""}]},
    "watch with a level": WATCH | {"dump_list": NODES, "dump_level": "op"},
    "watch with data": WATCH | {"dump_list": NODES, "dump_data": "tensor"},
    "watch with kernel data": WATCH | {"dump_list": NODES, "dump_kernel_data": "all"},
    "watch with steps": WATCH | {"dump_list": NODES, "dump_step": "1-10"},
    "overflow with a list": P | {"dump_debug": "on", "dump_list": M},
}


@pytest.mark.parametrize("dump", STRICT.values(), ids=STRICT)
def test_what_adump_refuses_since_9_2_is_a_warning_before(dump):
    early = [p for p in check({"dump": dump}, Context("8.5")) if p.code == "EP0005"]
    assert [p.severity for p in early] == ["warning"]
    assert first_error({"dump": dump}, Context("9.2"))[0] == "EP0005"


def test_slots_of_a_blacklist_are_looked_at_since_9_2():
    bad = [{"name": "n", "pos": ["input0", "outputabc"]}]
    data = {"dump": OP | of_model(opname_blacklist=bad)}
    path = "dump.dump_list[0].opname_blacklist[0].pos[1]"
    assert first_error(data) is None
    assert ("blacklist-slot", path) in [(p.id, p.path) for p in check(data)]
    assert first_error(data, Context("9.2")) == ("EP0003", path)


OLD = Context("8.0.RC3")


@pytest.mark.parametrize(("dump", "ids"), [
    (P | {"dump_list": M}, set()),
    (P, {"list-old"}),
    (P | {"dump_list": []}, {"list-old"}),
    (P | {"dump_list": [], "dump_op_switch": "on"}, set()),
    ({"dump_scene": "lite_exception"}, {"path-old"}),
    (P | {"dump_list": M, "dump_stats": ["Max"]}, set()),
    (P | of_model(opname_blacklist=BARRED), set()),
])  # fmt: skip
def test_older_acl(dump, ids):
    found = check({"dump": dump}, OLD)
    assert {p.id for p in found if p.severity == "error"} == ids


ENV = {"NPU_COLLECT_PATH": "/c"}
WARNED = {
    "no dump key": ({}, {}, "nothing-dumped", ""),
    "empty dump": ({"dump": {}}, {}, "nothing-dumped", ""),
    "empty list": ({"dump": P | {"dump_list": []}}, {}, "nothing-dumped", ""),
    "path alone": ({"dump": P}, {}, "nothing-dumped", ""),
    "empty list in GE": ({"dump": P | {"dump_list": []}}, {}, "ge-list", "E10001"),
    "watch without list in GE": ({"dump": WATCH}, {}, "ge-list", "E10001"),
    "data dump and NPU_COLLECT_PATH": ({"dump": P | {"dump_list": M}}, ENV, "ge-collect", "E10056"),
    "overflow and NPU_COLLECT_PATH": ({"dump": P | {"dump_debug": "on"}}, ENV, "ge-collect", "E10056"),
    "unexpanded variable": ({"dump": {"dump_path": "$HOME/output", "dump_list": M}}, {}, "path-expand", "EP0003"),
    "unexpanded home": ({"dump": {"dump_path": "~/o", "dump_list": M}}, {}, "path-expand", "EP0003"),
    "unknown ASCEND_DUMP_SCENE": ({}, {"ASCEND_DUMP_SCENE": "lite_exception"}, "scene-variable", ""),
    "unread ASCEND_DUMP_SCENE": ({"dump": P | BRIEF}, {"ASCEND_DUMP_SCENE": "aic_err_norm_dump"}, "scene-variable", ""),
    "ASCEND_WORK_PATH": ({"dump": P | BRIEF}, {"ASCEND_WORK_PATH": "/w"}, "path-unread", ""),
    "container": ({"dump": P | {"dump_list": M}}, {"container": "docker"}, "container", ""),
}  # fmt: skip


@pytest.mark.parametrize(("data", "env", "id_", "code"), WARNED.values(), ids=WARNED)
def test_accepted_with_a_word(data, env, id_, code):
    context = Context(env=env)
    assert first_error(data, context) is None
    assert (id_, code) in [(p.id, p.code) for p in check(data, context)]


def test_a_good_scene_of_the_environment_counts_where_the_file_asks_for_nothing():
    context = Context(env={"ASCEND_DUMP_SCENE": "aic_err_norm_dump"})
    assert "scene-variable" not in [p.id for p in check({}, context)]


def test_folders_are_looked_at_where_the_process_runs(tmp_path):
    here = Context(here=True)
    file = tmp_path / "file"
    file.write_text("")
    refused = ("EP0003", "dump.dump_path")
    for path in (tmp_path / "missing", file, "$HOME/output", ":/home/xh", "10.0.0.256:/x", "a\0b"):
        assert first_error({"dump": {"dump_path": str(path)}}, here) == refused
    assert first_error({"dump": {"dump_path": str(tmp_path)}}, here) is None
    assert first_error({"dump": {"dump_path": "10.0.0.1:/missing"}}, here) is None
    assert first_error({"dump": BRIEF | {"dump_path": "/missing"}}, here) is None


@pytest.mark.parametrize(("item", "id_"), [
    ({"layer": ["A", "C"], "watcher_nodes": ["C"]}, "watch-same"),
    ({"layer": ["HcomAllReduce_3"], "watcher_nodes": ["C"]}, "watch-collective"),
    ({"layer": ["net/hcom_allreduce"], "watcher_nodes": ["C"]}, "watch-collective"),
])  # fmt: skip
def test_operators_after_which_a_watch_writes_nothing(item, id_):
    found = [(p.id, p.path) for p in check({"dump": WATCH | {"dump_list": [item]}})]
    index = len(item["layer"]) - 1
    assert (id_, f"dump.dump_list[0].layer[{index}]") in found


def test_keys_that_old_acl_does_not_know_are_warnings():
    found = check({"dump": P | {"dump_op_switch": "on", "dump_stats": ["Max"]}}, Context("8.0"))
    assert ("version", "warning", "dump.dump_stats") in [(p.id, p.severity, p.path) for p in found]
