"""The first error of random forms, against adump's checks written down one after another."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kit.cases import examples
from workbench.config.acl.surface import ACL
from workbench.config.config import Config

CHOICES = {
    "dump_mode": "input output all",
    "dump_data": "tensor stats",
    "dump_op_switch": "on off",
    "dump_level": "op kernel all",
    "dump_debug": "on off",
    "dump_scene": "lite_exception aic_err_brief_dump aic_err_norm_dump aic_err_detail_dump watcher",
}
KERNEL = ["all", "printf", "tensor", "assert", "timestamp"]
STATS = ["Max", "Min", "Avg", "Nan", "Negative Inf", "Positive Inf", "L2norm"]


class Refused(Exception):
    """Code and path of a refusal."""


def refuse(condition, code, path):
    if condition:
        raise Refused(code, path)


def check_text(holder, key, path):
    refuse(key in holder and not isinstance(holder[key], str), "EP0001", f"{path}{key}")


def check_array(holder, key, path, kind):
    if key not in holder:
        return
    refuse(not isinstance(holder[key], list), "EP0001", f"{path}{key}")
    for i, value in enumerate(holder[key]):
        refuse(not isinstance(value, kind), "EP0001", f"{path}{key}[{i}]")


def check_types(dump):
    names = ["path", "mode", "op_switch", "level", "scene", "data", "debug", "kernel_data", "step"]
    for name in names:
        check_text(dump, f"dump_{name}", "")
    check_array(dump, "dump_stats", "", str)
    if "dump_list" not in dump:
        return
    refuse(not isinstance(dump["dump_list"], list), "EP0001", "dump_list")
    for i, item in enumerate(dump["dump_list"]):
        refuse(not isinstance(item, dict), "EP0001", f"dump_list[{i}]")
        at = f"dump_list[{i}]."
        check_text(item, "model_name", at)
        check_array(item, "layer", at, str)
        check_array(item, "watcher_nodes", at, str)
        for key in ("optype_blacklist", "opname_blacklist", "opname_range"):
            check_array(item, key, at, dict)
            for j, entry in enumerate(item.get(key, [])):
                inside = f"{at}{key}[{j}]."
                if key == "opname_range":
                    check_text(entry, "begin", inside)
                    check_text(entry, "end", inside)
                else:
                    check_text(entry, "name", inside)
                    check_array(entry, "pos", inside, str)


def check_choice(value, allowed, path):
    refuse(value == "", "EP0001", path)
    refuse(value not in allowed, "EP0002", path)


def check_values(dump):
    for key, words in CHOICES.items():
        if key in dump:
            check_choice(dump[key], words.split(), key)
    for piece in dump.get("dump_kernel_data", "all").split(","):
        check_choice(piece, KERNEL, "dump_kernel_data")
    for i, name in enumerate(dump.get("dump_stats", [])):
        check_choice(name, STATS, f"dump_stats[{i}]")


def check_steps(text):
    pieces = text.split("|") if text else []
    refuse(len(pieces) > 100, "EP0003", "dump_step")
    for piece in pieces:
        ends = piece.split("-")
        wrong = len(ends) > 2 or any(not end or set(end) - set("0123456789") for end in ends)
        refuse(wrong or int(ends[0]) > int(ends[-1]), "EP0003", "dump_step")


def check_item(item, at, dump):
    level, watches = dump.get("dump_level", "all"), dump.get("dump_scene") == "watcher"
    if dump.get("dump_op_switch", "off") == "off":
        refuse(item.get("model_name") == "", "EP0001", f"{at}model_name")
        refuse(item.get("layer") == [], "EP0001", f"{at}layer")
    nodes, model = item.get("watcher_nodes", []), item.get("model_name", "")
    refuse(watches and not nodes, "EP0001", f"{at}watcher_nodes")
    refuse(watches and model, "EP0005", f"{at}model_name")
    refuse(not watches and nodes, "EP0005", f"{at}watcher_nodes")
    for key in ("optype_blacklist", "opname_blacklist"):
        refuse(len(item.get(key, [])) > 100, "EP0003", f"{at}{key}")
    for key in ("optype_blacklist", "opname_blacklist"):
        refuse(item.get(key) and level != "op", "EP0005", f"{at}{key}")
    ranges = item.get("opname_range", [])
    refuse(ranges and level != "op", "EP0005", f"{at}opname_range")
    refuse(ranges and not model, "EP0001", f"{at}model_name")
    for i, part in enumerate(ranges):
        whole = part.get("begin") and part.get("end")
        refuse(not whole, "EP0003", f"{at}opname_range[{i}]")


def check_all(dump):
    refuse(not isinstance(dump, dict), "EP0001", "")
    if not dump:
        return
    check_types(dump)
    check_values(dump)
    scene, debug = dump.get("dump_scene"), dump.get("dump_debug") == "on"
    refuse(scene and debug, "EP0005", "dump_debug")
    refuse(scene and dump.get("dump_op_switch") == "on", "EP0005", "dump_op_switch")
    if scene == "watcher":
        refuse(dump.get("dump_mode", "output") != "output", "EP0005", "dump_mode")
    elif scene:
        return
    refuse(not dump.get("dump_path"), "EP0001", "dump_path")
    refuse(len(dump["dump_path"]) > 512, "EP0003", "dump_path")
    refuse(dump["dump_path"] in ("10.0.0.1:", "10.0.0.1:a b"), "EP0003", "dump_path")
    refuse(debug and dump.get("dump_op_switch") == "on", "EP0005", "dump_op_switch")
    if debug:
        return
    check_steps(dump.get("dump_step", ""))
    for i, item in enumerate(dump.get("dump_list", [])):
        check_item(item, f"dump_list[{i}].", dump)
    if "dump_stats" in dump:
        refuse(not dump["dump_stats"], "EP0001", "dump_stats")
        refuse(dump.get("dump_data", "tensor") == "tensor", "EP0005", "dump_stats")


def expected(dump):
    try:
        check_all(dump)
    except Refused as error:
        code, path = error.args
        return code, f"dump.{path}".rstrip(".")
    return None


def found(dump):
    errors = [p for p in Config(ACL, {"dump": dump}).check() if p.severity == "error"]
    return (errors[0].code, errors[0].path) if errors else None


ODD = st.sampled_from([None, 1, True, [], {}, ["a"], [1], "", "x"])


def mostly(good):
    """Good values and now and then an odd one."""
    return st.integers(0, 15).flatmap(lambda n: ODD if n == 0 else good)


def some(**keys):
    return st.fixed_dictionaries({}, optional={k: mostly(v) for k, v in keys.items()})


NAME = st.sampled_from(["a", "b", ""])
NAMES = st.lists(mostly(NAME), max_size=2)
BARRED = st.lists(mostly(some(name=NAME, pos=NAMES)), max_size=2) | st.just([{"name": "n"}] * 101)
ITEM = some(
    model_name=NAME,
    layer=NAMES,
    watcher_nodes=NAMES,
    optype_blacklist=BARRED,
    opname_blacklist=BARRED,
    opname_range=st.lists(mostly(some(begin=NAME, end=NAME)), max_size=2),
)
DUMP = some(
    dump_path=st.sampled_from(
        ["d", "d", "d", "10.0.0.1:/d", "10.0.0.1:", "10.0.0.1:a b", "d" * 513]
    ),
    **{key: st.sampled_from(words.split()) for key, words in CHOICES.items()},
    dump_kernel_data=st.sampled_from(
        [*KERNEL, "printf,assert", *KERNEL, "all,", "x,", ",x", "all,x"]
    ),
    dump_step=st.sampled_from(
        ["", "0", "3-3", "0|5-8", "9-3", "x", "5|", "1-2-3", "|".join("1" * 101)]
    ),
    dump_stats=st.lists(mostly(st.sampled_from(STATS)), max_size=2),
    dump_list=st.lists(mostly(ITEM), max_size=3),
)


@settings(max_examples=examples(400))
@given(mostly(DUMP | DUMP.map(lambda dump: {"dump_path": "d"} | dump)))
def test_the_first_error_of_any_form_is_adumps(dump):
    assert found(dump) == expected(dump)
