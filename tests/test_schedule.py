"""Which process gets which file, and when: the longest first, the browser in two groups, one after the other."""

from __future__ import annotations

import itertools
import json
from types import SimpleNamespace

import pytest
from hypothesis import settings

from kit import schedule
from kit.cases import examples
from kit.schedule import LongestFirst, Recorder, halves, ordered


class Node:
    """A process as the scheduler sees one: what it has to run, and what it ran."""

    shutting_down = False
    gateway = SimpleNamespace(id="gw")

    def __init__(self):
        self.left, self.done = [], []

    def send_runtest_some(self, indices):
        self.left += indices

    def shutdown(self):
        self.shutting_down = True


class Config:
    """What the scheduler asks of pytest's settings, and what it reports."""

    option = SimpleNamespace(loadscopereorder=True)

    def __init__(self, processes):
        self._processes, self.reports = processes, []
        self.hook = SimpleNamespace(pytest_collectreport=lambda report: self.reports.append(report))

    def getvalue(self, name):
        assert name == "tx"
        return ["popen"] * self._processes


@pytest.fixture
def record(tmp_path, monkeypatch):
    """Give the scheduler durations of its own."""
    file = tmp_path / "durations.json"
    monkeypatch.setattr(schedule, "DURATIONS", file)

    def write(**seconds):
        file.write_text(json.dumps({f"tests/{name}.py": s for name, s in seconds.items()}))
        return file

    return write


def scheduled(*collections):
    """A scheduler and a process for each collection; the first files are given out."""
    config = Config(len(collections))
    scheduler = LongestFirst(config)
    nodes = [Node() for _ in collections]
    for node, nodeids in zip(nodes, collections, strict=True):
        scheduler.add_node(node)
        scheduler.add_node_collection(node, nodeids)
    scheduler.schedule()
    return scheduler, nodes, config.reports


def ran(nodeids, processes):
    """Numbers of the tests that each process ran; each runs one test after the other."""
    scheduler, nodes, _ = scheduled(*[nodeids] * processes)
    while any(node.left for node in nodes):
        for node in filter(lambda node: node.left, nodes):
            node.done.append(node.left.pop(0))
            scheduler.mark_test_complete(node, node.done[-1])
    assert scheduler.tests_finished
    return [node.done for node in nodes]


def names(**counts):
    """Ids of as many tests in each file."""
    return [f"tests/{file}.py::test_{n}" for file, count in counts.items() for n in range(count)]


def test_the_longest_file_comes_first_and_an_unknown_one_before_it(record):
    record(a=1, b=5, c=3)
    nodeids = names(a=9, b=3, c=3, new=3)
    (done,) = ran(nodeids, 1)
    files = [nodeids[number].partition("::")[0] for number in done]
    assert [*dict.fromkeys(files)] == [f"tests/{file}.py" for file in ("new", "b", "c", "a")]


def test_a_file_and_a_group_go_to_one_process_in_their_order(record):
    record(**{f"f{n}": n for n in range(9)}, **{f"browser/b{n}": n for n in range(5)})
    nodeids = names(**{f"f{n}": 4 for n in range(9)}, **{f"browser/b{n}": 3 for n in range(5)})
    done = ran(nodeids, 3)
    assert sorted(itertools.chain(*done)) == [*range(len(nodeids))]
    groups = halves([f"tests/browser/b{n}.py" for n in range(5)], schedule.recorded())
    for numbers in done:
        files = [nodeids[number].partition("::")[0] for number in numbers]
        units = [groups.get(file, file) for file in files]
        runs = [[*run] for _, run in itertools.groupby(range(len(units)), units.__getitem__)]
        assert [[numbers[place] for place in run] for run in runs] == [
            [n for n in range(len(nodeids)) if unit_of(nodeids[n], groups) == units[run[0]]]
            for run in runs
        ]


def unit_of(nodeid, groups):
    file = nodeid.partition("::")[0]
    return groups.get(file, file)


def test_processes_that_collected_other_tests_end_the_run(record):
    record(a=1)
    scheduler, nodes, reports = scheduled(names(a=2), names(a=3))
    assert len(reports) == 1
    assert scheduler.tests_finished
    assert [node.left for node in nodes] == [[], []]


@pytest.mark.parametrize(
    ("seconds", "groups"),
    [
        ({"a": 5, "b": 3, "c": 2, "d": 1}, [{"a", "d"}, {"b", "c"}]),
        ({"a": 9, "b": 1, "c": 1}, [{"a"}, {"b", "c"}]),
        ({}, [set(), set()]),
        ({"a": 0}, [{"a"}, set()]),
    ],
)
def test_the_files_of_the_browser_make_two_groups_that_take_as_long(seconds, groups):
    group = halves(seconds, seconds)
    both = [f"{schedule.BROWSER}{number}" for number in (1, 2)]
    assert [{file for file in group if group[file] == name} for name in both] == groups


BROWSERS = {"tests/browser/1": 10.0, "tests/browser/2": 9.0}


@pytest.mark.parametrize(
    ("scopes", "processes", "order"),
    [
        ({"a": 1, "b": 2, "c": None}, 2, "cba"),
        ({"a": 8, "b": 6, "c": 4} | BROWSERS, 2, "1ab2c"),  # 8 + 6 take longer than 10
        ({"a": 8, "b": 6, "c": 4} | BROWSERS, 3, "12abc"),  # the third has the others
        ({"a": 8, "n": None} | BROWSERS, 1, "n12a"),
        (BROWSERS, 2, "12"),
        ({"a": 3, "tests/browser/1": 4.0}, 2, "1a"),
    ],
)
def test_the_second_group_waits_where_nobody_is_left_for_the_others(scopes, processes, order):
    assert "".join(scope.rpartition("/")[2] for scope in ordered(scopes, processes)) == order


class Report:
    """How long a part of a test took."""

    def __init__(self, nodeid, duration):
        self.nodeid, self.duration = nodeid, duration


def test_durations_are_those_of_the_files_that_ran_and_are_there(record, monkeypatch, tmp_path):
    monkeypatch.setattr(schedule, "ROOT", tmp_path)
    for name in ("kept", "ran"):
        (tmp_path / "tests").mkdir(exist_ok=True)
        (tmp_path / "tests" / f"{name}.py").touch()
    file = record(kept=2, ran=7, gone=4)
    recorder = Recorder()
    for nodeid, seconds in (("ran.py::test_a", 1.25), ("ran.py::T::test_b", 0.5)):
        recorder.pytest_runtest_logreport(Report(f"tests/{nodeid}", seconds))
    recorder.pytest_sessionfinish()
    assert json.loads(file.read_text()) == {"tests/kept.py": 2, "tests/ran.py": 1.8}


def test_what_is_recorded_are_files_of_this_tree():
    assert [file for file in schedule.recorded() if not (schedule.ROOT / file).is_file()] == []


def test_a_short_loop_leaves_out_the_files_that_take_long(record, pytestconfig, monkeypatch):
    from conftest import pytest_ignore_collect

    record(short=0.2, long=3)
    monkeypatch.setattr(pytestconfig.option, "at_most", 0.5)
    files = ("short", "long", "new")
    left_out = [pytest_ignore_collect(schedule.ROOT / f"tests/{f}.py", pytestconfig) for f in files]
    assert left_out == [None, True, None]


@pytest.mark.parametrize(
    ("profile", "counts"),
    [("nightly", {400: 400, 60: 60, 25: 25, 5: 5}), ("daily", {400: 80, 60: 12, 25: 10, 5: 5})],
)
def test_the_nightly_run_tries_all_examples_of_a_property(profile, counts):
    before = settings.get_current_profile_name()
    settings.load_profile(profile)
    try:
        assert {count: examples(count) for count in counts} == counts
    finally:
        settings.load_profile(before)


def test_the_option_of_the_nightly_run_chooses_its_profile(pytestconfig):
    name = "nightly" if pytestconfig.getoption("exhaustive") else "daily"
    assert settings.get_current_profile_name() == name
