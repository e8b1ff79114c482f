"""AscendCL's calls in every order: return codes, codes of messages, and the trees that come of them."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import workbench as wb
from kit.cases import examples
from kit.oracle import dump_files
from kit.words import refused
from workbench.ascendcl.errors import AclError
from workbench.core.errors import FormatError, GraphError
from workbench.core.tensors import TensorSpec
from workbench.core.words import Message
from workbench.graph.graph import Graph, Op, Param, Parameter, Value

CODES = {
    "ok": 0,
    "param": 100000,
    "uninitialised": 100001,
    "repeat": 100002,
    "file": 100003,
    "write": 100004,
    "parse": 100006,
    "config": 100009,
    "model input": 100017,
    "op input": 100021,
    "op attribute": 100023,
    "op type": 100024,
    "repeat finalize": 100037,
    "dump already": 100044,
    "dump not": 100045,
    "device": 107001,
    "not init": 145001,
    "model path": 145002,
    "model id": 145003,
    "internal": 500000,
    "model fails": 507011,
    "aicore": 507015,
    "vector core": 507035,
    "load": 545001,
}
"""Numbers of acl_base.h, ge_error_codes.h and rt_error_codes.h, in words of this file."""


def network(name: str, factor: float = 2.0, dtype: str = "float16") -> Graph:
    """x times weight, and its magnitude: operators that are not fused, in the dtype of ATC's mode."""
    spec = TensorSpec(dtype, (1, 3))
    return Graph(
        name,
        (
            Parameter("w", spec, True, "w", factor * np.ones((1, 3), dtype)),
            Parameter("x", spec, default=np.array([[3, -5, 2]], dtype)),
        ),
        (
            Op("Default/Mul-op0", "Mul", (Param(1), Param(0)), {}, (spec,), (spec, spec)),
            Op("Default/Abs-op0", "Abs", (Value(0),), {}, (spec,), (spec,)),
        ),
        (Value(1),),
    )


ONE, TWO = network("One"), network("Two", 3.0)
GRAPHS = {"One": ONE, "Two": TWO}


class Program:
    """A process with a folder; configurations are named by a letter and have a folder each."""

    def __init__(self, root: Path, **options) -> None:
        self.root = root
        self.acl = wb.AscendCL(**{"device": "a2"} | options)

    def config(self, name: str, **dump) -> str:
        folder = self.root / name
        folder.mkdir(exist_ok=True)
        dump = {"dump_path": str(folder), "dump_list": [{}]} | dump
        kept = {key: value for key, value in dump.items() if value is not None}
        return self.text(name, json.dumps({"dump": kept}))

    def text(self, name: str, text: str | bytes) -> str:
        path = self.root / f"{name}.json"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return str(path)

    def play(self, script: str) -> list[int]:
        """Run calls separated by commas; return what each answered."""
        return [int(self.step(*call.split())) for call in script.split(",")]

    def step(self, call: str, argument: str = ""):
        acl = self.acl
        if call == "init" and argument:
            return acl.init(self.config(argument))
        if call in ("init", "finalize"):
            return getattr(acl, call)()
        if call == "set":
            return acl.mdl.set_dump(self.config(argument))
        if call == "load":
            return acl.mdl.load_from_file(GRAPHS[argument])[1]
        if call == "run":
            return acl.mdl.execute(int(argument))
        if call == "unload":
            return acl.mdl.unload(int(argument))
        if call == "device":
            return acl.rt.set_device(int(argument))
        return getattr(acl.mdl, call)()

    def leaves(self) -> list[str]:
        """Folders of files, sorted; names of times are replaced by T."""
        found = {path.parent for path in self.root.rglob("*") if path.is_file()} - {self.root}
        names = (path.relative_to(self.root).as_posix() for path in found)
        return sorted(re.sub(r"\b20\d{12}\b", "T", name) for name in names)

    def files(self, name: str = "") -> list[Path]:
        return sorted(path for path in (self.root / name).rglob("*") if path.is_file())


@pytest.fixture
def program(tmp_path):
    return Program(tmp_path)


SEQUENCES = {
    "two models with a configuration each": (
        "init, init_dump, set a, load One, run 1, finalize_dump, unload 1, "
        "init_dump, set b, load Two, run 2, finalize_dump, unload 2, finalize",
        ["a/T/0/One/1/0", "b/T/0/Two/2/0"],
    ),
    "the same model twice, dumped once": (
        "init, init_dump, set a, load One, run 1, finalize_dump, unload 1, load One, run 2, unload 2, finalize",
        ["a/T/0/One/1/0"],
    ),
    "set after a model was loaded": (
        "init, init_dump, load One, set a, load Two, run 1, run 2, finalize_dump", ["a/T/0/Two/2/0"],
    ),
    "loaded again after it was set": (
        "init, init_dump, load One, set a, run 1, unload 1, load One, run 2, finalize_dump", ["a/T/0/One/2/0"],
    ),
    "set twice": ("init, init_dump, set a, set b, load One, run 1, finalize_dump", ["b/T/0/One/1/0"]),
    "set again for the next model": (
        "init, init_dump, set a, load One, set b, load Two, run 1, run 2, run 1, finalize_dump",
        ["a/T/0/One/1/0", "a/T/0/One/1/1", "b/T/0/Two/2/0"],
    ),
    "set by aclInit": ("init a, load One, run 1, run 1, unload 1, finalize", ["a/T/0/One/1/0", "a/T/0/One/1/1"]),
    "aclInit's configuration replaced": (
        "init a, init_dump, set b, load One, run 1, finalize_dump, run 1, load One, run 2", ["b/T/0/One/1/0"],
    ),
    "a model that is not unloaded": (
        "init, init_dump, set a, load One, run 1, finalize_dump, run 1, "
        "init_dump, set a, run 1, load Two, run 2, finalize_dump, run 1",
        ["a/T/0/One/1/0", "a/T/0/Two/2/0"],
    ),
    "several models under one configuration": (
        "init, init_dump, set a, load One, load Two, load One, run 2, run 1, run 3, run 3",
        ["a/T/0/One/1/0", "a/T/0/One/3/0", "a/T/0/One/3/1", "a/T/0/Two/2/0"],
    ),
    "nothing set": ("init, init_dump, load One, run 1, finalize_dump, finalize", []),
    "another device": (
        "init, device 3, init_dump, set a, load One, device 1, load Two, run 1, run 2",
        ["a/T/1/Two/2/0", "a/T/3/One/1/0"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SEQUENCES)
def test_a_sequence_leaves_its_tree(program, name):
    script, leaves = SEQUENCES[name]
    assert program.play(script) == [0] * len(script.split(","))
    assert program.leaves() == leaves
    assert program.acl.get_recent_err_msg() is None
    for leaf in leaves:
        names = sorted(path.name for path in program.root.glob(leaf.replace("/T/", "/20*/") + "/*"))
        operators = [re.sub(r"\.\d+\.\d+\.\d+$", "", one) for one in names]
        assert operators == ["Abs.Default_Abs-op0", "Mul.Default_Mul-op0"]


def test_a_configuration_has_its_own_time_though_nothing_was_dumped_before_the_next(program):
    program.play("init, init_dump, set a, load One, set a, load Two, run 1, run 2, finalize_dump")
    first, second = sorted((program.root / "a").iterdir())
    assert [path.name for path in (first / "0").iterdir()] == ["One"]
    assert [path.name for path in (second / "0").iterdir()] == ["Two"]


def test_models_of_one_configuration_share_a_time_and_others_have_their_own(program):
    program.play("init, init_dump, set a, load One, load Two, run 1, run 2, finalize_dump")
    program.play("init_dump, set a, load One, run 3, finalize_dump")
    first, second = sorted((program.root / "a").iterdir())
    assert [path.name for path in sorted((first / "0").iterdir())] == ["One", "Two"]
    assert [path.name for path in (second / "0").iterdir()] == ["One"]
    assert program.acl.dumps == (first, second)


ORDERS = {
    "set_dump before aclInit": ("set a", "uninitialised", "EP0008"),
    "init_dump before aclInit": ("init_dump", "uninitialised", "EP0008"),
    "finalize_dump before aclInit": ("finalize_dump", "uninitialised", "EP0008"),
    "set_dump before init_dump": ("init, set a", "dump not", "EP0008"),
    "finalize_dump before init_dump": ("init, finalize_dump", "dump not", "EP0008"),
    "init_dump twice": ("init, init_dump, init_dump", "repeat", "EP0008"),
    "set_dump after finalize_dump": ("init, init_dump, finalize_dump, set a", "dump not", "EP0008"),
    "finalize_dump twice": ("init, init_dump, finalize_dump, finalize_dump", "dump not", "EP0008"),
    "finalize_dump of what aclInit set": ("init a, finalize_dump", "dump not", "EP0008"),
    "set_dump after aclFinalize": ("init, init_dump, finalize, set a", "uninitialised", "EP0008"),
    "init_dump of an earlier aclInit": ("init, init_dump, finalize, init, init_dump", "repeat", "EP0008"),
    "aclInit twice": ("init, init", "repeat", ""),
    "aclInit anew with another file": ("init, finalize, init a", "param", "EH0004"),
    "aclInit anew without the file": ("init a, finalize, init", "param", "EH0004"),
    "aclFinalize twice": ("init, finalize, finalize", "repeat finalize", ""),
    "load before aclInit": ("load One", "not init", ""),
    "execute before aclInit": ("run 1", "not init", ""),
    "unload before aclInit": ("unload 1", "not init", ""),
    "execute after aclFinalize": ("init, load One, finalize, run 1", "not init", ""),
    "execute of no model": ("init, run 1", "model id", ""),
    "execute after unload": ("init, load One, unload 1, run 1", "model id", ""),
    "unload twice": ("init, load One, unload 1, unload 1", "model id", ""),
    "a model of an earlier aclInit": ("init, load One, finalize, init, run 1", "model id", ""),
    "no such device": ("device 8", "device", ""),
    "a negative device": ("device -1", "device", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", ORDERS)
def test_a_wrong_order_has_its_code(program, name):
    script, code, word = ORDERS[name]
    *before, last = program.play(script)
    assert (before, last) == ([0] * len(before), CODES[code])
    message = program.acl.get_recent_err_msg()
    assert re.match(r"E[A-Z]\d{4}: |", message)[0] == (f"{word}: " if word else "")
    assert program.acl.get_recent_err_msg() is None
    assert program.leaves() == []


@pytest.mark.parametrize("script", ["finalize", "init, finalize, init", "init a, finalize, init a"])
def test_orders_that_look_wrong_and_are_not(program, script):
    assert set(program.play(script)) == {0}


def test_a_device_that_does_not_exist_is_said_with_those_that_do(program):
    program.play("device 8")
    assert program.acl.get_recent_err_msg() == str(Message("ascendcl/device-id", got=8, last=7))


def test_a_refused_call_changes_nothing(program):
    program.play("set a, init, set a, init_dump, init_dump, set a, init, load One, run 1, run 7")
    assert program.leaves() == ["a/T/0/One/1/0"]
    lines = program.acl.get_recent_err_msg().splitlines()
    assert [line.partition(":")[0] for line in lines[-3:]] == ["EP0008"] * 3
    said = Message("ascendcl/model-id", got=7, known=[1])
    assert lines[0] == str(said)  # the latest first


def test_the_first_acl_refused_two_ways_to_set_a_dump(tmp_path):
    old = Program(tmp_path, version="8.0")
    codes = old.play("init a, init_dump, finalize_dump, set a, load One, run 1")
    assert codes == [0, *[CODES["dump already"]] * 3, 0, 0]
    assert old.leaves() == ["a/T/0/One/1/0"]


DEEP = '{"dump": ' + '{"a": ' * 10 + "1" + "}" * 11
TEXTS = {
    "nothing": ("", "ok", "", "ok", ""),
    "no dump": ('{"profiler": {}}', "ok", "", "ok", ""),
    "an empty dump": ('{"dump": {}}', "ok", "", "ok", ""),
    "a list": ("[1]", "ok", "", "ok", ""),
    "no object": ('{"dump": true}', "config", "EP0001", "config", "EP0001"),
    "broken": ('{"dump": ', "config", "EP0004", "parse", "EH0004"),
    "text behind": ('{"dump": {}} x', "config", "EP0004", "parse", "EH0004"),
    "no text": (b"\xff\xfe{}", "config", "EP0004", "parse", "EH0004"),
    "too deep": (DEEP, "parse", "EH0004", "parse", "EH0004"),
    "too large": (" " * (10 << 20) + "{}", "file", "EH0004", "file", "EH0004"),
    "no path": ('{"dump": {"dump_list": [{}]}}', "config", "EP0001", "config", "EP0001"),
    "no folder": ('{"dump": {"dump_path": "/no/such", "dump_list": [{}]}}', *("config", "EP0003") * 2),
    "a wrong word": ('{"dump": {"dump_path": ".", "dump_mode": "x"}}', *("config", "EP0002") * 2),
    "a falling range": (
        '{"dump": {"dump_path": ".", "dump_list": [{}], "dump_step": "3-2"}}', *("config", "EP0003") * 2,
    ),
    "a conflict": (
        '{"dump": {"dump_path": ".", "dump_debug": "on", "dump_op_switch": "on"}}', *("config", "EP0005") * 2,
    ),
    "types before values": ('{"dump": {"dump_mode": "x", "dump_step": 1}}', *("config", "EP0001") * 2),
}  # fmt: skip
"""Text of a file → code and word of aclmdlSetDump, then of aclInit."""


@pytest.mark.parametrize("name", TEXTS)
def test_a_configuration_is_judged_as_acl_and_adump_do(program, name):
    text, set_code, set_word, init_code, init_word = TEXTS[name]
    path = program.text("form", text)
    assert program.acl.init(path) == CODES[init_code]
    check_message(program.acl, init_word)
    program.play("init, init_dump")
    program.acl.get_recent_err_msg()
    assert program.acl.mdl.set_dump(path) == CODES[set_code]
    check_message(program.acl, set_word)
    assert set(program.play("load One, run 1")) == {0}
    assert program.leaves() == []


def check_message(acl, word):
    message = acl.get_recent_err_msg()
    assert (message or "").partition(":")[0] == word


@pytest.mark.parametrize(("path", "code", "word"), [
    ("missing.json", "file", "EH0003"),
    ("nul\0.json", "file", "EH0003"),
    (".", "file", "EH0004"),
    (None, "param", "EP0007"),
])  # fmt: skip
def test_a_configuration_must_be_a_file(program, path, code, word):
    program.play("init, init_dump")
    assert program.acl.mdl.set_dump(path) == CODES[code]
    check_message(program.acl, word)
    if path is not None:
        assert wb.AscendCL().init(path) == CODES[code]


def test_a_configuration_that_is_not_opened_is_an_invalid_file(program, monkeypatch):
    path = program.config("a")
    program.play("init, init_dump")
    monkeypatch.setattr(
        "builtins.open", lambda *_: (_ for _ in ()).throw(PermissionError(13, "Permission denied"))
    )
    assert program.acl.mdl.set_dump(path) == CODES["file"]
    said = Message("ascendcl/config-unreadable", got=path, why="Permission denied")
    assert program.acl.get_recent_err_msg() == f"EH0004: {said}"


def test_a_configuration_that_asks_for_nothing_leaves_the_last_one(program):
    program.play("init, init_dump, set a")
    for name in ("an empty dump", "nothing", "a wrong word"):
        program.acl.mdl.set_dump(program.text("other", TEXTS[name][0]))
    program.play("load One, run 1")
    assert program.leaves() == ["a/T/0/One/1/0"]


class Order(RuleBasedStateMachine):
    """Random calls against a model that knows only what the reference says of the sequence."""

    @initialize(begun=st.booleans())
    def begin(self, begun):
        self.folder = tempfile.TemporaryDirectory()
        self.program = Program(Path(self.folder.name), device="reference")
        self.ready = self.dumping = self.over = False
        self.set: int | None = None
        self.sessions: list[tuple[str, set]] = []
        self.models: dict[int, list] = {}
        self.given = 0
        if begun:  # most random orders never come so far
            self.init()
            self.init_dump()
            self.set_dump("a")
            self.load("One")

    def teardown(self):
        if hasattr(self, "folder"):
            self.check_tree()
            self.folder.cleanup()

    def call(self, script, code):
        assert self.program.play(script) == [CODES[code]]

    @rule()
    def init(self):
        self.call("init", "repeat" if self.ready else "ok")
        self.ready, self.over = True, self.over and self.ready

    @rule(sure=st.integers(0, 3))
    def finalize(self, sure):
        if sure < 3:
            return
        self.call("finalize", "repeat finalize" if self.over else "ok")
        self.ready, self.over = False, True
        self.models.clear()

    @rule()
    def init_dump(self):
        code = "repeat" if self.dumping else "ok"
        self.call("init_dump", code if self.ready else "uninitialised")
        self.dumping = self.dumping or self.ready

    @rule(name=st.sampled_from("ab"))
    def set_dump(self, name):
        code = "ok" if self.dumping else "dump not"
        self.call(f"set {name}", code if self.ready else "uninitialised")
        if self.ready and self.dumping:
            self.sessions.append((name, set()))
            self.set = len(self.sessions) - 1

    @rule()
    def finalize_dump(self):
        code = "ok" if self.dumping else "dump not"
        self.call("finalize_dump", code if self.ready else "uninitialised")
        if self.ready and self.dumping:
            self.dumping, self.set = False, None
            for model in self.models.values():
                model[1] = None

    @rule(name=st.sampled_from(sorted(GRAPHS)))
    def load(self, name):
        number, code = self.program.acl.mdl.load_from_file(GRAPHS[name])
        assert code == CODES["ok" if self.ready else "not init"]
        self.given += self.ready
        assert number == (self.given if self.ready else 0)
        if self.ready:
            self.models[number] = [name, self.set, 0]

    @rule(data=st.data())
    def execute(self, data):
        number = data.draw(st.integers(1, self.given + 1))
        code = "ok" if number in self.models else "model id"
        self.call(f"run {number}", code if self.ready else "not init")
        if number in self.models:
            name, session, count = self.models[number]
            if session is not None:
                self.sessions[session][1].add(f"0/{name}/{number}/{count}")
            self.models[number][2] += 1

    @rule(data=st.data())
    def unload(self, data):
        number = data.draw(st.integers(1, self.given + 1))
        code = "ok" if number in self.models else "model id"
        self.call(f"unload {number}", code if self.ready else "not init")
        self.models.pop(number, None)

    @invariant()
    def nothing_is_unsaid(self):
        self.program.acl.get_recent_err_msg()

    def check_tree(self):
        for name in "ab":
            root = self.program.root / name
            times = sorted(root.iterdir()) if root.exists() else []
            found = [
                {path.parent.relative_to(time).as_posix() for path in time.rglob("*.*")}
                for time in times
            ]
            assert found == [leaves for other, leaves in self.sessions if other == name and leaves]


TestOrder = Order.TestCase
TestOrder.settings = settings(max_examples=examples(40), stateful_step_count=40, deadline=None)


def block(path: Path, part: str = "output") -> list[float]:
    """Elements of the first tensor of a container, decoded by hand."""
    _, blocks = dump_files.container(path.read_bytes())
    message, data = next((m, d) for name, _, m, d in blocks if name == part)
    return dump_files.graph_array(data, message).ravel().tolist()


def test_what_is_dumped_is_what_was_computed(program):
    program.acl.init(program.config("a", dump_mode="all"))
    number, _ = program.acl.mdl.load_from_file(ONE)
    outputs: list = []
    assert program.acl.mdl.execute(number, [np.float16([[1, 2, 3]])], outputs) == 0
    assert [array.tolist() for array in outputs] == [[[2, 4, 6]]]
    feeds = {"x": [[-1, 2, 0]], "w": np.ones((1, 3))}
    assert program.acl.mdl.execute(number, feeds, outputs) == 0
    assert [array.tolist() for array in outputs] == [[[1, 2, 0]]]
    assert program.acl.mdl.execute(number, None, outputs) == 0
    assert [array.tolist() for array in outputs] == [[[6, 10, 4]]]
    products = sorted(path for path in program.files("a") if path.name.startswith("Mul"))
    assert [block(path) for path in products] == [[2, 4, 6], [-1, 2, 0], [6, -10, 4]]
    assert [block(path, "input") for path in products] == [[1, 2, 3], [-1, 2, 0], [3, -5, 2]]


@pytest.mark.parametrize(
    "inputs", [[], [[[1, 2]], [[1, 2]]], {"y": 1}, [[1, 2, 3]], [[["a", "b"]]], [[[1], [1, 2]]]]
)
def test_inputs_that_do_not_fit_are_refused(program, inputs):
    program.play("init a, load One")
    assert program.acl.mdl.execute(1, inputs) == CODES["model input"]
    assert program.acl.get_recent_err_msg()
    assert program.leaves() == []
    assert program.play("run 1") == [0]
    assert program.leaves() == ["a/T/0/One/1/0"]


def test_a_step_is_an_execution_of_the_model(program):
    program.acl.init(program.config("a", dump_step="1|3-4"))
    program.play("load One, load Two, run 1, run 1, run 2, run 1, run 1, run 1, run 1")
    assert program.leaves() == [f"a/T/0/One/1/{index}" for index in (1, 3, 4)]


def test_a_configuration_names_models_by_file_or_graph(program, tmp_path):
    script = tmp_path / "resnet.py"
    script.write_text(
        "import numpy as np\nfrom workbench.network.nn import functional as F\n"
        "INPUTS = np.ones((2, 2), np.float32)\ndef Net(x):\n    return F.relu(F.exp(x))\n"
    )
    entries = [
        {"model_name": "Two", "layer": ["Default/Abs-op0"]},
        {"model_name": "Net"},
        {"model_name": "lenet", "layer": ["Default/fc3-Dense/MatMul-op0"]},
        {"model_name": "LeNet"},
    ]
    program.acl.init(program.config("a", dump_list=entries))
    for source in (ONE, TWO, f"{script}:Net", "lenet"):
        number, code = program.acl.mdl.load_from_file(source)
        assert (code, program.acl.mdl.execute(number)) == (0, 0)
    found = [path.relative_to(program.root / "a") for path in program.files("a")]
    names = sorted((path.parts[2], path.name.partition(".")[0]) for path in found)
    assert names == [
        ("LeNet", "MatMul"),
        *(("Net", kind) for kind in ("Cast", "Cast", "Exp", "ReLU")),
        ("Two", "Abs"),
    ]


def test_a_blacklist_holds_for_its_model(program):
    barred = {"name": "Abs", "pos": ["output0"]}
    entries = [{"model_name": "One", "optype_blacklist": [barred]}, {"model_name": "Two"}]
    program.acl.init(program.config("a", dump_list=entries, dump_level="op"))
    program.play("load One, load Two, run 1, run 2")
    names = sorted(path.relative_to(program.root).parts[3:] for path in program.files("a"))
    found = [(model, name.partition(".")[0]) for model, _, _, name in names]
    assert found == [("One", "Mul"), ("Two", "Abs"), ("Two", "Mul")]


def test_faults_and_modes_belong_to_the_model_that_is_loaded_with_them(program):
    mdl = program.acl.mdl
    program.play("init")
    single, feeds = network("Single", dtype="float32"), {"x": [[1.0001, 0, 0]]}
    bad, _ = mdl.load_from_file(ONE, faults=["scaled-output:Abs:2"])
    half, _ = mdl.load_from_file(single, feeds=feeds)  # ATC's own mode
    full, _ = mdl.load_from_file(single, precision_mode="must_keep_origin_dtype", feeds=feeds)
    plain, _ = mdl.load_from_file(ONE)
    found = []
    for number in (bad, half, full, plain):
        outputs: list = []
        assert mdl.execute(number, None, outputs) == 0
        found.append(outputs[0].tolist())
    exact = float(2 * np.float32(1.0001))
    assert found == [[[12, 20, 8]], [[2, 0, 0]], [[exact, 0, 0]], [[6, 10, 4]]]


@pytest.mark.parametrize(("options", "code", "got"), [
    ({"faults": ["scaled-output:Conv9:2"]}, "run/fault-nowhere", "Conv9"),
    ({"faults": ["nonsense:ReLU"]}, "core/choice", "nonsense"),
    ({"precision_mode": "x"}, "core/choice", "x"),
])  # fmt: skip
def test_what_pyacl_does_not_know_is_refused_as_elsewhere(program, options, code, got):
    program.play("init")
    with refused(code, GraphError, got=got):
        program.acl.mdl.load_from_file(ONE, **options)
    with refused("core/choice", GraphError, subject="device", got="tpu"):
        wb.AscendCL("tpu")
    with refused("config/version-text", FormatError, got="new"):
        wb.AscendCL(version="new")


@pytest.mark.parametrize(("source", "code"), [
    ("nonsense", "model path"),
    ("missing.ir", "model path"),
    ("missing.py:Net", "model path"),
    ("nul\0.om", "model path"),
    ("form.json", "load"),
    ("net.py:Other", "load"),
    ("control.ir", "load"),
])  # fmt: skip
def test_a_model_must_be_one_that_can_run(program, monkeypatch, source, code):
    (program.root / "net.py").write_text("INPUTS = 1\n")
    program.text("form", "{}")
    (program.root / "control.ir").write_text(CONTROL)
    program.play("init")
    monkeypatch.chdir(program.root)
    assert program.acl.mdl.load_from_file(source) == (0, CODES[code])
    assert program.acl.get_recent_err_msg()
    assert program.acl.mdl.load_from_file(ONE) == (1, 0)


CONTROL = """# IR entry: @main
# Total subgraphs: 1
# Total params: 1
# Params:
%para1_x: <Tensor[Float32], (2)>

subgraph @main() {
  %0(y) = Sparse9(%para1_x)
      : (<Tensor[Float32], (2)>) -> (<Tensor[Float32], (2)>)
  Return(%0)
      : (<Tensor[Float32], (2)>)
}
"""


def test_a_graph_file_runs_with_the_weights_it_is_given(program, tmp_path):
    wb.simulate(ONE, None, wb.config.new("mindspore-cpu"), tmp_path / "made")
    (path,) = (tmp_path / "made").rglob("*.ir")
    program.play("init")
    weights = {"w": np.float16([[1, 1, 1]])}
    bare, _ = program.acl.mdl.load_from_file(path)
    number, code = program.acl.mdl.load_from_file(path, feeds=weights)
    assert code == 0
    outputs: list = []
    assert program.acl.mdl.execute(number, {"x": np.float16([[1, 2, 3]])}, outputs) == 0
    assert outputs[0].tolist() == [[1, 2, 3]]
    assert program.acl.mdl.execute(bare, {"x": np.float16([[1, 2, 3]])}) == CODES["model input"]


def test_two_trees_of_the_same_program_are_compared(tmp_path):
    trees = {}
    for device in ("reference", "a2"):
        root = tmp_path / device
        root.mkdir()
        program = Program(root, device=device)
        program.acl.init(program.config("a", dump_mode="all"))
        faults = ["scaled-output:Abs:2"] if device == "a2" else []
        number, _ = program.acl.mdl.load_from_file(ONE, faults=faults)
        assert program.acl.mdl.execute(number) == 0
        (trees[device],) = program.acl.dumps
    found = wb.compare(trees["a2"], trees["reference"])
    assert found.findings[0].op_name == "Default_Abs-op0"
    assert {record.key.op_type for record in wb.load(trees["a2"]).records} == {"Abs", "Mul"}


def test_another_process_dumps_beside_the_first(tmp_path):
    for _ in range(2):
        Program(tmp_path).play("init, init_dump, set a, load One, run 1, finalize_dump, finalize")
    first, second = sorted((tmp_path / "a").iterdir())
    assert first.name < second.name
    names = [{path.name for path in time.rglob("*.*")} for time in (first, second)]
    assert all(len(found) == 2 for found in names)


def test_the_same_seed_gives_the_same_bytes(tmp_path):
    trees = []
    for seed in (1, 1, 2):
        root = tmp_path / str(len(trees))
        root.mkdir()
        program = Program(root, seed=seed)
        program.play("init, init_dump, set a, load One, run 1, run 1")
        inside = root / "a"
        trees.append({str(p.relative_to(inside)): p.read_bytes() for p in program.files("a")})
    assert trees[0] == trees[1]
    assert trees[0].keys() != trees[2].keys()


def test_a_folder_on_another_host_gets_nothing_here(program, monkeypatch):
    monkeypatch.chdir(program.root)
    program.acl.init(program.config("a", dump_path="10.0.0.1:/dump"))
    assert program.play("load One, run 1") == [0, 0]
    assert program.leaves() == []
    assert program.acl.dumps == ()


def test_a_folder_that_cannot_be_written_is_told(program):
    program.play("init a, load One")
    (program.root / "a").rmdir()
    (program.root / "a").write_text("in the way")
    assert program.play("run 1") == [CODES["write"]]
    assert "Not a directory" in program.acl.get_recent_err_msg()


CRASH = ["aicore-exception:Abs"]
SCENES = {
    "lite_exception": r"exception_info\.1\.2\.\d{17}",
    "aic_err_brief_dump": r"exception_info\.1\.2\.\d{17}",
    "aic_err_norm_dump": r"Abs\.Default_Abs-op0\.2\.\d{17}",
    "aic_err_detail_dump": r"te_abs_.*\.1\.2\.\d{17}\.core",
}


def crash(program) -> int:
    acl = program.acl
    number, _ = acl.mdl.load_from_file(ONE, faults=CRASH)
    return acl.mdl.execute(number)


@pytest.mark.parametrize("scene", SCENES)
def test_a_failed_operator_leaves_its_scene(program, scene):
    program.play("init, init_dump")
    path = program.config("a", dump_scene=scene, dump_list=None)
    assert program.acl.mdl.set_dump(path) == 0
    assert program.play("device 2, load One, run 1") == [0, 0, 0]
    assert program.leaves() == []
    assert crash(program) == CODES["model fails"]
    assert "Default/Abs-op0" in program.acl.get_recent_err_msg()
    (path,) = program.files("a")
    assert path.parent == program.root / "a" / "extra-info" / "data-dump" / "2"
    assert re.fullmatch(SCENES[scene], path.name)
    assert program.acl.dumps == (path.parents[1],)
    program.play("finalize_dump")
    assert crash(program) == CODES["model fails"]
    lasting = scene == "aic_err_detail_dump"  # nothing ends it
    assert len(program.files("a")) == 1 + lasting


def test_a_detailed_dump_that_is_set_after_the_device_is_brief(program):
    detail = program.config("a", dump_scene="aic_err_detail_dump", dump_list=None)
    program.play("init, device 0, init_dump")
    assert program.acl.mdl.set_dump(detail) == 0
    assert crash(program) == CODES["model fails"]
    (path,) = program.files("a")
    assert path.name.startswith("exception_info.")


def test_control_flow_is_not_loaded(program):
    program.play("init")
    inner = Graph("body", (), (), ())
    number, status = program.acl.mdl.load_from_file(Graph("loop", (), (), (), subgraphs=(inner,)))
    assert (number, status) == (0, AclError.ACL_ERROR_GE_LOAD_MODEL)
    said = Message("ascendcl/control-flow", name="loop")
    assert program.acl.get_recent_err_msg() == str(said)


@pytest.mark.parametrize("device", ["910a", "310p", "950"])
def test_a_detailed_dump_needs_a_device_that_can(tmp_path, device):
    program = Program(tmp_path, device=device)
    detail = program.config("a", dump_scene="aic_err_detail_dump", dump_list=None)
    program.play("init, init_dump")
    assert program.acl.mdl.set_dump(detail) == CODES["internal"]
    said = Message("ascendcl/detail-device", known=["a2", "a3"], got=device)
    assert str(said) in program.acl.get_recent_err_msg()


def test_a_second_exception_dump_is_ignored_until_the_first_ends(program):
    scenes = {"a": "aic_err_brief_dump", "b": "aic_err_norm_dump"}
    program.play("init, init_dump")
    for name, scene in scenes.items():
        path = program.config(name, dump_scene=scene, dump_list=None)
        assert program.acl.mdl.set_dump(path) == 0
    crash(program)
    assert (len(program.files("a")), len(program.files("b"))) == (1, 0)
    program.play("finalize_dump, init_dump")
    program.acl.mdl.set_dump(program.config("b", dump_scene=scenes["b"], dump_list=None))
    crash(program)
    assert (len(program.files("a")), len(program.files("b"))) == (1, 1)


def test_data_and_exceptions_are_dumped_side_by_side(program):
    program.play("init, init_dump, set a")
    norm = program.config("b", dump_scene="aic_err_norm_dump", dump_list=None)
    assert program.acl.mdl.set_dump(norm) == 0
    assert crash(program) == CODES["model fails"]
    assert program.leaves() == ["a/T/0/One/1/0", "b/extra-info/data-dump/0"]
    assert [path.name.partition(".")[0] for path in program.files("a")] == ["Mul"]


def test_long_names_of_several_failures_share_one_mapping(program):
    long = "Default/" + "x" * 300
    graph = Graph(
        "Long",
        ONE.parameters[1:],
        (Op(long, "Abs", (Param(0),), {}, (ONE.parameters[1].spec,), (ONE.parameters[1].spec,)),),
        (Value(0),),
    )
    program.acl.init(program.config("a", dump_scene="aic_err_norm_dump", dump_list=None))
    number, _ = program.acl.mdl.load_from_file(graph, faults=CRASH)
    for _ in range(2):
        assert program.acl.mdl.execute(number) == CODES["model fails"]
    table = next(path for path in program.files("a") if path.name == "mapping.csv")
    names = {path.name for path in table.parent.iterdir()} - {"mapping.csv"}
    rows = table.read_text().splitlines()
    assert len(names) == 2
    assert {row.partition(",")[0] for row in rows} == names


@pytest.mark.parametrize(("env", "folder", "name"), [
    ({"ASCEND_DUMP_SCENE": "aic_err_norm_dump", "ASCEND_WORK_PATH": "work"}, "work", "Abs"),
    ({"ASCEND_DUMP_SCENE": "aic_err_brief_dump", "ASCEND_DUMP_PATH": "d"}, "d", "exception_info"),
    ({"NPU_COLLECT_PATH": "collect"}, "collect", "Abs"),
])  # fmt: skip
def test_the_environment_asks_for_an_exception_dump_that_nothing_ends(
    tmp_path, monkeypatch, env, folder, name
):
    monkeypatch.chdir(tmp_path)
    program = Program(tmp_path, env=env)
    program.play("init, init_dump, finalize_dump")
    crash(program)
    (path,) = (tmp_path / folder / "extra-info" / "data-dump" / "0").iterdir()
    assert path.name.startswith(f"{name}.")


def test_the_graph_engine_dumps_no_data_beside_npu_collect_path(tmp_path):
    program = Program(tmp_path, env={"NPU_COLLECT_PATH": str(tmp_path / "collect")})
    assert set(program.play("init, init_dump, set a, load One, run 1")) == {0}
    assert program.leaves() == []


def test_an_unknown_scene_of_the_environment_is_ignored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = Program(tmp_path, env={"ASCEND_DUMP_SCENE": "watcher"})
    program.play("init")
    assert crash(program) == CODES["model fails"]
    assert program.leaves() == []


LARGE = np.full((2, 4), 60000, np.float16)


def test_overflow_is_dumped_of_models_and_of_single_operators(program):
    debug = program.config("a", dump_debug="on", dump_list=None)
    program.acl.init(debug)
    program.play("load One, run 1")
    outputs: list = []
    assert program.acl.op.execute_v2("Add", [LARGE, LARGE], outputs) == 0
    assert np.isinf(outputs[0]).all()
    assert program.acl.op.execute_v2("Add", [LARGE, -LARGE], outputs) == 0
    assert program.leaves() == ["a/T/0"]
    names = sorted(path.name.split(".")[:4] for path in program.files("a"))
    assert names == [["Add", "Add", "1", "1"], ["Opdebug", "Node_OpDebug", "2", "1"]]


def single(program, **dump):
    program.acl.init(program.config("a", dump_list=[], **dump))


def test_single_operators_lie_beside_the_models(program):
    single(program, dump_op_switch="on", dump_mode="all")
    outputs: list = []
    a, b = np.float32([[1, 2]]), np.float32([[3, 4]])
    assert program.acl.op.execute_v2("MatMul", [a, b], outputs, {"transpose_b": True}) == 0
    assert outputs[0].tolist() == [[11]]
    assert program.acl.op.execute_v2("Concat", [a, b, a], outputs, {"axis": 1}) == 0
    assert outputs[0].tolist() == [[1, 2, 3, 4, 1, 2]]
    program.play("load One, run 1")
    assert program.leaves() == ["a/T/0", "a/T/0/One/1/0"]
    alone = [path for path in program.files("a") if path.parent.name == "0"]
    alone = sorted(path for path in alone if path.parent.parent.parent.name == "a")
    assert [path.name.rpartition(".")[0] for path in alone] == [
        "ConcatD.Concat.6.1",
        "MatMul.MatMul.3.1",
        "TransData.trans_TransData_0.1.1",  # the matrices into tiles, and back
        "TransData.trans_TransData_1.2.1",
        "TransData.trans_TransData_2.4.1",
    ]
    assert block(alone[1]) == block(alone[4]) == [11]
    (time,) = program.acl.dumps
    assert {record.key.op_type for record in wb.load(time).records} >= {"ConcatD", "MatMul"}


def test_single_operators_run_on_the_reference_too(tmp_path):
    program = Program(tmp_path, device="reference")
    single(program, dump_op_switch="on", dump_mode="all")
    outputs: list = []
    assert program.acl.op.execute_v2("ReLU", [np.float32([1, -1])], outputs) == 0
    assert outputs[0].tolist() == [1, 0]
    assert program.leaves() == ["a/T/0"]


@pytest.mark.parametrize("dump", [
    {"dump_op_switch": "off"},
    {"dump_list": [{}]},
    {"dump_op_switch": "on", "dump_step": "0"},
    {"dump_scene": "watcher", "dump_list": [{"watcher_nodes": ["ReLU"], "layer": ["ReLU"]}]},
])  # fmt: skip
def test_single_operators_need_their_switch_and_have_no_step(program, dump):
    program.acl.init(program.config("a", **{"dump_list": []} | dump))
    assert program.acl.op.execute_v2("ReLU", [np.float32([1, -1])]) == 0
    assert program.leaves() == []


def test_a_single_operator_is_dumped_by_what_is_in_force_when_it_runs(program):
    def relu():
        return program.acl.op.execute_v2("ReLU", [np.float32([1, -1])])

    assert relu() == CODES["uninitialised"]
    program.play("init, init_dump")
    relu()
    program.acl.mdl.set_dump(program.config("a", dump_list=[], dump_op_switch="on"))
    relu()
    program.acl.mdl.set_dump(program.config("b", dump_list=[], dump_op_switch="on"))
    relu()
    program.play("device 1")
    relu()
    program.play("finalize_dump")
    relu()
    assert program.leaves() == ["a/T/0", "b/T/0", "b/T/1"]
    assert len(program.files("a")) + len(program.files("b")) == 3


def test_a_single_operator_fails_with_the_code_of_its_unit(program):
    program.acl.init(program.config("a", dump_scene="aic_err_norm_dump", dump_list=None))
    op, square = program.acl.op, np.eye(2, dtype=np.float32)
    assert op.execute_v2("ReLU", [square], faults=["aicore-exception:ReLU"]) == CODES["vector core"]
    code = op.execute_v2("MatMul", [square, square], faults=["aicore-exception:MatMul"])
    assert code == CODES["aicore"]
    names = sorted(path.name.split(".")[0] for path in program.files("a"))
    assert names == ["MatMul", "ReLU"]


@pytest.mark.parametrize(("arguments", "code"), [
    (("Relu9", [np.ones(2)]), "op type"),
    (("MatMul", [np.ones((2, 3))]), "op input"),
    (("MatMul", [np.ones((2, 3))] * 3), "op input"),
    (("MatMul", [np.ones((2, 3)), np.ones((2, 3))]), "op input"),
    (("ReLU", [np.ones(2)], None, {"axis": 0}), "op attribute"),
    (("Reshape", [np.ones(4)]), "op input"),
    (("Reshape", [np.ones(4)], None, {"shape": (3,)}), "op input"),
    (("Reshape", [np.ones(4)], None, {"shape": {}}), "op input"),
    (("ReLU", ["text"]), "op input"),
])  # fmt: skip
def test_a_single_operator_that_does_not_fit_is_refused(program, arguments, code):
    single(program, dump_op_switch="on")
    assert program.acl.op.execute_v2(*arguments) == CODES[code]
    assert program.acl.get_recent_err_msg()
    assert program.leaves() == []


def test_a_watched_output_is_written_after_another_operator(program):
    entry = {"layer": ["Default/Mul-op0"], "watcher_nodes": ["Default/Abs-op0"]}
    program.acl.init(program.config("a", dump_scene="watcher", dump_list=[entry]))
    number, _ = program.acl.mdl.load_from_file(ONE)
    outputs: list = []
    assert program.acl.mdl.execute(number, None, outputs) == 0
    assert outputs[0].tolist() == [[6, 10, 4]]
    assert program.leaves() == ["a/T/0/One/1/0"]
    assert [block(path) for path in program.files("a")] == [[6, 10, 4], [0, 0, 0]]


def test_statistics_are_written_for_each_operator(program):
    program.acl.init(program.config("a", dump_data="stats", dump_stats=["Max", "Min"]))
    program.play("load One, run 1")
    assert {path.suffix for path in program.files("a")} == {".csv"}


GENERATED = {
    "data": ({"dump_list": [{}]}, "a/T/0/One/1/0"),
    "single": ({"dump_list": [], "dump_op_switch": "on"}, "a/T/0"),
    "watch": ({"dump_scene": "watcher", "dump_list": [{"watcher_nodes": ["Default/Abs-op0"]}]}, "a/T/0/One/1/0"),
    "norm": ({"dump_scene": "aic_err_norm_dump"}, "a/extra-info/data-dump/0"),
    "detail": ({"dump_scene": "aic_err_detail_dump"}, "a/extra-info/data-dump/0"),
}  # fmt: skip


@pytest.mark.parametrize("name", GENERATED)
def test_the_lines_that_a_form_gives_run_here(program, monkeypatch, name):
    dump, leaf = GENERATED[name]
    path = program.config("a", **{"dump_list": None} | dump)
    code = wb.config.load(path).code(file=path).replace('"model.om"', "model, faults=faults")
    code = code.replace("# call the operators", "ret = acl.op.execute_v2('Abs', [[-1.0]])")
    monkeypatch.setitem(sys.modules, "acl", program.acl)
    fails = leaf.endswith("data-dump/0")
    names = {"model": ONE, "faults": CRASH if fails else [], "inputs": None, "outputs": []}
    codes = []
    for line in code.splitlines():
        exec(line, names)
        codes.append(names.pop("ret", 0))
    assert {*codes} == ({0, CODES["model fails"]} if fails else {0})
    assert program.leaves() == [leaf]


def test_a_process_says_how_far_it_is(program):
    assert repr(program.acl) == "<AscendCL on a2: not initialised, 0 models loaded>"
    program.play("init, load One, device 1")
    assert repr(program.acl) == "<AscendCL on a2: initialised, 1 models loaded>"
    assert repr(program.acl.init()) == "<AclError.ACL_ERROR_REPEAT_INITIALIZE: 100002>"
    assert program.acl.rt.reset_device(1) == 0
    assert program.acl.rt.reset_device(9) == CODES["device"]
