"""What the generated configurations vary: literal tables, one per kind of thing.

``/CASE`` stands for the folder of a case. ``<<…>>`` is a JSON token written as it stands, for what
Python's writer cannot say. ``ABSENT`` removes a key.
"""

from __future__ import annotations

from typing import Any

# fmt: off
ABSENT = "<<absent>>"

COMMON: dict[str, Any] = {
    "op_debug_mode": 0,
    "dump_mode": 0,
    "path": "/CASE/out",
    "net_name": "Net",
    "iteration": "0|2",
    "saved_data": "tensor",
    "input_output": 0,
    "kernels": [],
    "support_device": [0],
}
E2E: dict[str, Any] = {"enable": True, "trans_flag": True}

TYPO_E2E = {"Enable": "yes", "sample_modes": 7, "statcalc_mode": "gpu"}
TYPO_COMMON = {"dump_modes": 9, "Path": "x", "kernel": 5, "support_devices": 1, "overflownumber": "x"}

NOT_UNSIGNED = [-1, "<<-0>>", "<<-0.0>>", "<<0.0>>", "<<1.0>>", "<<1e0>>", "0", "", True, False, None]
NOT_UNSIGNED += [[], [0], {}, "<<18446744073709551616>>"]
WRAPPED = ["<<4294967296>>", "<<4294967297>>", "<<4294967298>>", "<<4294967299>>"]
NOT_STRING = [0, 1, True, None, [], ["all"], {}]
NOT_ARRAY = ["", "0", 0, None, True, {}, {"0": 0}]
NOT_BOOLEAN = ["true", "false", "", 0, 1, None, [], {}, "<<1.0>>"]

COMMON_VALUES: dict[str, list[Any]] = {
    "op_debug_mode": [ABSENT, 1, 2, 3, 4, 5, 6, 100, *WRAPPED, "<<4294967300>>", *NOT_UNSIGNED],
    "dump_mode": [ABSENT, 1, 2, 3, 100, *WRAPPED, *NOT_UNSIGNED],
    "net_name": [ABSENT, "", "a", "N_1-x", "-", "_", "0", "My Net", "Net.v1", "a/b", "/Net", "é", "网",
                 "Net\n", "Net\t", " Net", "Net:0", "x" * 200, "x" * 255, "x" * 256, *NOT_STRING],
    "iteration": [ABSENT, *NOT_STRING],
    "input_output": [ABSENT, 1, 2, 3, 9, *WRAPPED, *NOT_UNSIGNED],
    "kernels": [ABSENT, *NOT_ARRAY, ["Conv2D"], ["name-regex(()"], [5, None]],
    "support_device": [ABSENT, *NOT_ARRAY, [], [0, 1, 2, 3, 4, 5, 6, 7], [1], [0, 0], [3, 3, 0], [-1],
                       ["<<-0>>"], ["<<1.5>>"], ["<<1.5>>", 1], [True], [True, 1], [False, 0], ["0"], [None], [[0]],
                       [{}], ["<<4294967296>>", 0], ["<<1e30>>"], ["<<18446744073709551616>>"], [0, "x"]],
    "saved_data": [ABSENT, "statistic", "full", "", "Tensor", "tensors", "all", *NOT_STRING],
    "statistic_category": [[], ["max"], ["max", "max"], ["bogus"], [5], [None], "max", None, {}, ["MAX"]],
    "overflow_number": [0, 1, -1, "0", "x", None, [], True],
    "initial_iteration": [0, 1, 2, 3, "<<4294967295>>", *WRAPPED[:3], *NOT_UNSIGNED],
    "file_format": ["bin", "npy", "", "NPY", "xyz", 5, None, []],
}
"""One wrong (or unusual) value each, dump_mode 0 otherwise."""

E2E_VALUES: dict[str, list[Any]] = {
    "enable": [ABSENT, False, *NOT_BOOLEAN],
    "trans_flag": [ABSENT, False, *NOT_BOOLEAN],
    "save_kernel_args": [True, False, *NOT_BOOLEAN],
    "stat_calc_mode": ["host", "device", "", "Host", "gpu", *NOT_STRING],
    "device_stat_precision_mode": ["high", "low", "", "HIGH", "mid", *NOT_STRING],
    "sample_mode": [0, 1, 2, *WRAPPED[:3], *NOT_UNSIGNED],
    "sample_num": [0, 1, 100, -1, "x", None],
}

SECTIONS: list[dict[str, Any]] = [
    {"e2e_dump_settings": value}
    for value in [ABSENT, {}, None, 0, 5, "x", "", True, False, [], [1], [{"enable": 1}], "<<1.5>>"]
] + [
    {"common_dump_settings": value}
    for value in [ABSENT, {}, None, 5, "x", [], [1], [{"dump_mode": 0}], True]
]

ITERATIONS = [
    *["", "all", "ALL", "All", "all|1", "1|all", "allall", "al", " all", "0", "5", "6", "00", "01", "1 ", " 1"],
    *["0|5-8", "0 | 5-8", "0||5-", "5-", "-5", "-", "--", "|", "||", "0|", "|0", "1-2-3", "9-3", "3-3", "2-4"],
    *["0-", "-0", "0-1|4-5", "0-1||4-5", "0,1", "0;1", "1.0", "+1", "0x1", "1e0", "1-all", "a", "*", "-1|2"],
    *["4294967295", "4294967296", "4294967297", "18446744073709551616", "0-18446744073709551615"],
    *["0-18446744073709551616", "0-99999999999999999999", "1-4294967297", "99999999999999999999|3"],
    *["002-0004", "1\t", "1\n", "\u0661", "０", "1–2", "0|2|4|0|2", "5|3|1", "1-1", "0-0|5-5"],
]

ODD_REGEXES = [
    "(", ")", "[", "]", "[a", "{", "}", "a{", "a{1", "a{2,1}", "a{,3}", "*",
    "+", "?", "a**", "a++", "a*+", "a??", "a???", "|", "a|", "|a", "[z-a]", "[]",
    "[^]", "()", "(?i)a", "(?P<n>a)", "(?<n>a)", "(?<=a)b", "(?#x)", "(?>a)",
    "(?", "(a", "a)", "\\", "\\1", "(a)\\1", "\\Z", "\\p{L}", "[[:bad:]]", "[[.a.]]",
    "[[=a=]]", "x{1000}", "x{100000}", "(x{1000}){1000}", "[\\w-a]", "[a-\\w]", "$^",
    "a{1,2}{3}", "^*", "$*", "(?=a)*", "\\b*", "[a-]", "[-a]", "[a-b-c]", "[--a]",
    'Default/Add"-op0', "Default/Add\n-op0", "é", "网络.*", "(?s:.)", "a{1}?", "[^a-]",
]
"""Regular expressions that one engine or the other refuses or understands in its own way."""

KERNELS: list[list[Any]] = [
    # everything
    *[[], [""], [" "], ["", ""], ['"'], [[]], [{}]],
    # full names
    ["Default/conv-Conv2d/Conv2D-op0"],
    ["Default/conv-Conv2d/Conv2D-op0", "Default/fc2-Dense/MatMul-op0"],
    ["Default/Add-op0"],
    ["Default/Add-op1"],
    ["Default/Add-op9"],
    ["Add-op0"],
    ["default/add-op0"],
    ["Default/Add"],
    ["Default/"],
    ["/"],
    ["-op"],
    ["Default / Add-op0"],
    ["Default/conv-Conv2d/Conv2D-op0", "Default/conv-Conv2d/Conv2D-op0"],
    ["Default/Load-op0"],
    # types
    *[["Conv2D"], ["conv2d"], ["CONV"], ["Conv2D", "conv2d"], ["a"], ["d"], ["MatMul"], ["mat mul"],
      ["Mat Mul", "MatMul"]],
    *[["ReLU"], ["Add"], ["BiasAdd"], ["add", "MatMul"], ["weight"], ["conv"], ["fc"], ["fc1"], ["Dense"],
      ["Default"]],
    *[["Softmax"], ["Conv2D "], ["Conv*"], ["."], [".*"], ["op0"], ["0"], ["-"], ["Conv2D", ""], ["Load"],
      ["conv.weight"]],
    *[["name-regex"], ["name-regex("], ["name-regex)"], ["NAME-REGEX(.*)"], ["name_regex(.*)"], ["regex(.*)"]],
    *[["name-regex(Default/.*) "], ["name-regex (Default/.*)"], ["xname-regex(Default/.*)"]],
    # regular expressions
    ["name-regex(.*)"],
    ["name-regex(.+)"],
    ["name-regex()"],
    ["name-regex(Default/.*)"],
    ["name-regex(Default/fc.+)"],
    ["name-regex(fc)"],
    ["name-regex(.*MatMul)"],
    ["name-regex(.*MatMul-op0)"],
    ["name-regex(.*matmul.*)"],
    ["name-regex(Default)"],
    ["name-regex(.*Conv2D-op[0-9]+)"],
    ["name-regex(.*Conv2D-op\\d+)"],
    ["name-regex(.*-op\\w)"],
    ["name-regex(conv\\.weight)"],
    ["name-regex(conv[.]weight)"],
    ["name-regex(conv.weight)"],
    ["name-regex(.*weight)"],
    ["name-regex((.*ReLU-op0|Default/Add-op0))"],
    ["name-regex(.*ReLU-op0|Default/Add-op0)"],
    ["name-regex(Default/Add-op0)|x)"],
    ["name-regex(Default/(Add|Mul)-op0)"],
    ["name-regex(^Default/Add-op0$)"],
    ["name-regex(Default/Add-op[^0])"],
    ["name-regex(.*[[:digit:]])"],
    ["name-regex(.*fc[[:digit:]].*)"],
    ["name-regex(Default/Add-op[0-1]{1})"],
    ["name-regex(Default/(?!Add).*)"],
    ["name-regex(Default/(?=Add).*)"],
    ["name-regex(Default/(?:Add).*)"],
    ["name-regex(Default / Add-op0)"],
    ["name-regex(Default/Add-op0)", "name-regex(Default/Add-op0)"],
    ["name-regex(Default/Add-op0)", "Conv2D", "Default/fc2-Dense/MatMul-op0"],
    ["name-regex(Default/.*)", "MatMul", "Default/Add-op0"],
    *[[f"name-regex({text})"] for text in ODD_REGEXES],
    # entries that are no strings, and characters that JSON escapes
    *[[0], [5], [2], [None], [True], ["<<1.5>>"], ["<<2.0>>"], [{"b": 1, "a": "Add"}], [["Add"]],
      [["Add", "x/y"]], [[], "Add"]],
    *[["Default\\/Add-op0"], ["Add\\"], ["Add\n"], ["Add\t"], ['A"dd'], ['"Add"'], ["Ädd"], ["add\u0001"],
      ["Default/Ädd-op0"]],
    *[["Add"] * 3, ["Add", "Add "], ["Add", 5, None, "Conv2D"], ["x" * 500]],
]
"""Lists of operators, all with dump_mode 1."""

PATHS: list[tuple[Any, dict[str, str]]] = [
    *[(value, {}) for value in (ABSENT, "", "/CASE/out", "/CASE/out/", "/CASE//out", "/CASE/a/b/c/d", "out", "./out")],
    *[(value, {}) for value in ("../out", "~/out", "$HOME/out", "/CASE/a.b", "/CASE/a b", "/CASE/a:b", "/CASE/é")],
    *[(value, {}) for value in ("/CASE/A-b_9", "/CASE/" + "x" * 256, "/CASE/" + "y/" * 2200 + "z", "/dev/null")],
    *[(value, {}) for value in ("C:/out", "C:\\out", "/CASE/out\n", " /CASE/out", "file:///CASE/out", "-", "a")],
    *[(value, {}) for value in ("/CASE/" + "x" * 255, "/dev/null/x", "/proc/x")],
    *[(value, {}) for value in NOT_STRING],
    (ABSENT, {"MS_DIAGNOSTIC_DATA_PATH": "/CASE/diag"}),
    ("", {"MS_DIAGNOSTIC_DATA_PATH": "/CASE/diag"}),
    ("", {"MS_DIAGNOSTIC_DATA_PATH": "/CASE/diag/"}),
    ("/CASE/out", {"MS_DIAGNOSTIC_DATA_PATH": "/CASE/diag"}),
    ("out", {"MS_DIAGNOSTIC_DATA_PATH": "/CASE/diag"}),
    (None, {"MS_DIAGNOSTIC_DATA_PATH": "/CASE/diag"}),
    ("", {"MS_DIAGNOSTIC_DATA_PATH": ""}),
    ("", {"MS_DIAGNOSTIC_DATA_PATH": "diag"}),
    ("", {"MS_DIAGNOSTIC_DATA_PATH": "/CASE/di.ag"}),
    ("", {"MS_DIAGNOSTIC_DATA_PATH": "/CASE/di ag"}),
    ("/CASE/out", {"MS_DIAGNOSTIC_DATA_PATH": "di.ag"}),
]

ENVIRONMENTS: list[dict[str, str]] = [
    {"RANK_ID": "3"},
    {"RANK_ID": "x"},
    {"DEVICE_ID": "3"},
    {"ENABLE_MS_GE_DUMP": "1"},
    {"MINDSPORE_DUMP_IGNORE_USELESS_OUTPUT": "0"},
    {"MINDSPORE_DUMP_IGNORE_USELESS_OUTPUT": "x"},
    {"MINDSPORE_HCCL_CONFIG_PATH": "/CASE/none.json"},
    {"RANK_TABLE_FILE": "/CASE/data_dump.json"},
    {"MS_DEV_SAVE_GRAPHS": "0"},
]

COMBINATIONS: list[dict[str, Any]] = [
    *[{"op_debug_mode": 3, "overflow_number": n} for n in (0, 1, 5, "<<4294967296>>", *NOT_UNSIGNED)],
    *[{"op_debug_mode": m, "overflow_number": 1} for m in (1, 2, 4, 5, ABSENT, "<<4294967299>>")],
    *[{"op_debug_mode": m, "overflow_number": "x"} for m in (0, 4, ABSENT)],
    *[{"op_debug_mode": 3, "input_output": n} for n in (1, 2, 3)],
    *[{"op_debug_mode": m, "dump_mode": 1, "kernels": ["Conv2D"]} for m in (1, 3, 4)],
    *[{"op_debug_mode": m, "dump_mode": 1, "kernels": ["name-regex(()"]} for m in (3, 4)],
    *[{"op_debug_mode": m, "dump_mode": 2} for m in (3, 4)],
    *[{"op_debug_mode": 3, "saved_data": v} for v in ("statistic", "full", "bogus")],
    *[{"op_debug_mode": 4, "saved_data": v} for v in ("statistic", "full", "bogus", "", 5, None, ABSENT)],
    *[{"op_debug_mode": 4, "iteration": v} for v in ("1", "all", "100", "1-2-3", "x", "")],
    *[{"op_debug_mode": 3, "iteration": v} for v in ("1", "100")],
    {"op_debug_mode": 4, "e2e.sample_mode": 1},
    {"op_debug_mode": 4, "e2e.sample_mode": 2},
    {"op_debug_mode": 4, "input_output": 1},
    {"op_debug_mode": 4, "input_output": 2},
    {"op_debug_mode": 4, "saved_data": "statistic", "statistic_category": ["bogus"]},
    *[{"saved_data": "statistic", "statistic_category": v} for v in ([], ["max"], ["bogus"], [5], "max")],
    *[{"e2e.sample_mode": 1, "e2e.sample_num": n}
      for n in (0, 1, 3, 100, "<<4294967296>>", "<<4294967297>>", *NOT_UNSIGNED)],
    *[{"e2e.sample_mode": 0, "e2e.sample_num": n} for n in (0, -1, "x", None)],
    *[{"e2e.sample_mode": ABSENT, "e2e.sample_num": n} for n in (0, "x")],
    {"e2e.sample_mode": "<<4294967297>>", "e2e.sample_num": 0},
    *[{"e2e.stat_calc_mode": "device", "saved_data": v} for v in ("tensor", "full", "statistic")],
    {"e2e.stat_calc_mode": "device", "op_debug_mode": 3, "e2e.enable": False},
    {"e2e.stat_calc_mode": "device", "op_debug_mode": 3, "e2e.enable": True},
    {"e2e.enable": False, "e2e.trans_flag": False},
    *[{"initial_iteration": 3, "iteration": v} for v in ("all", "0|2", "3", "4-6", "9")],
    {"initial_iteration": "<<4294967294>>", "iteration": "all"},
    {"initial_iteration": "<<4294967298>>", "iteration": "2-3"},
    *[{"e2e_dump_settings": ABSENT, "op_debug_mode": m} for m in (ABSENT, 3, 4)],
    *[{"e2e_dump_settings": ABSENT, "file_format": v} for v in ("npy", "xyz", 5)],
    {"e2e_dump_settings": ABSENT, "saved_data": "statistic"},
    {"e2e_dump_settings": ABSENT, "dump_mode": 1, "kernels": ["MatMul"]},
    {"e2e_dump_settings": ABSENT, "dump_mode": 2},
    {"e2e_dump_settings": ABSENT, "iteration": "x"},
    {"e2e_dump_settings": 5, "op_debug_mode": ABSENT},
    {"dump_mode": 1, "kernels": ABSENT},
    {"dump_mode": 1, "kernels": "Conv2D"},
    {"dump_mode": 1, "kernels": {"0": "Conv2D"}},
    {"dump_mode": 1, "kernels": ["Conv2D"], "input_output": 1},
    {"dump_mode": 1, "kernels": ["Conv2D"], "input_output": 2},
    {"dump_mode": 1, "kernels": ["conv"], "input_output": 1},
    {"dump_mode": "<<4294967297>>", "kernels": ["Conv2D"]},
    {"dump_mode": ABSENT, "net_name": ABSENT},
    {"net_name": ABSENT, "iteration": ABSENT},
    {"path": "a.b", "net_name": "a b"},
    {"net_name": "a b", "iteration": "x"},
    {"iteration": "x", "input_output": 9},
    {"e2e.enable": 1, "dump_mode": ABSENT},
    {"e2e.sample_mode": 9, "common_dump_settings": ABSENT},
    TYPO_COMMON,
    {f"e2e.{key}": value for key, value in TYPO_E2E.items()},
    *[{old: ABSENT, new: COMMON[old]} for old, new in [("dump_mode", "Dump_mode"), ("kernels", "kernel")]],
    *[{old: ABSENT, new: COMMON[old]} for old, new in [("iteration", "iterations"), ("net_name", "netname")]],
    *[{old: ABSENT, new: COMMON[old]} for old, new in [("path", "dump_path"), ("saved_data", "save_data")]],
    *[{old: ABSENT, new: COMMON[old]} for old, new in [("input_output", "inputoutput"), ("support_device", "devices")]],
    {"op_debug_mode": ABSENT, "op_debug_modes": 9},
    {"e2e_dump_settings": ABSENT, "e2e_dump_setting": {"enable": 5}},
    {"common_dump_settings": ABSENT, "common_dump_setting": COMMON},
    {"async_dump_settings": {"enable": True, "op_debug_mode": 0}},
    {"": 0, "e2e.": 0},
]
"""Several keys at once, by hand: what one setting does to another."""

VALID_COMMON: dict[str, list[Any]] = {
    "op_debug_mode": [0, 0, 0, ABSENT],
    "dump_mode": [0, 0, 1],
    "path": ["/CASE/out", "/CASE/out", "/CASE/o-1/b_2"],
    "net_name": ["Net", "ResNet50", "a-b_c"],
    "iteration": ["all", "0", "1|3-4", "0-2", "5", "0|2|4", "100"],
    "saved_data": ["tensor", ABSENT],
    "input_output": [0, 1, 2],
    "kernels": [[], ["Conv2D"], ["name-regex(Default/fc.+)"], ["Default/Add-op0", "MatMul"]],
    "support_device": [[0], [0, 1, 2, 3, 4, 5, 6, 7], [1], []],
    "statistic_category": [ABSENT, ABSENT, ["max", "l2norm"]],
    "initial_iteration": [ABSENT, ABSENT, 0, 2],
    "file_format": [ABSENT, ABSENT, "npy", "bin"],
}
VALID_E2E: dict[str, list[Any]] = {
    "enable": [True, False, ABSENT],
    "trans_flag": [True, False, ABSENT],
    "save_kernel_args": [ABSENT, True, False],
    "stat_calc_mode": [ABSENT, "host", "device"],
    "device_stat_precision_mode": [ABSENT, "high", "low"],
    "sample_mode": [ABSENT, 0, 1],
    "sample_num": [ABSENT, 1, 100],
}
