"""Ranks in lockstep: what they hand each other, in which order, and how they end."""

import numpy as np
import pytest

import workbench as wb
from kit.build.programs import program_for
from kit.words import check_said, refused
from workbench import nn
from workbench.core.errors import GraphError
from workbench.graph.graph import Const, Graph, Op
from workbench.network.nn import functional as ops
from workbench.npu.faults import parse_fault
from workbench.npu.runner import run_npu, run_program
from workbench.ops import run_kernel
from workbench.run.plan import plan_execution
from workbench.run.ranks import LostRankError, Member, Rendezvous, in_lockstep
from workbench.run.reference import run_reference

HALF = np.float16


def traced(function, ranks, *inputs):
    with nn.data_parallel(ranks):
        return wb.trace(function, *inputs)


def everywhere(graph, feeds, **options):
    """Output of the last operator on every rank."""
    meeting = Rendezvous(len(feeds))

    def work(rank):
        member = Member(meeting, rank)
        if options:
            program = program_for(graph, device=options["profile"])
            records = run_program(program, feeds[rank], member=member)
        else:
            records = run_reference(graph, feeds[rank], member=member)
        outputs = [r for r in records if r.key.io == "output" and r.key.op_type != "Parameter"]
        return outputs[-1].source.array()

    return in_lockstep([lambda rank=rank: work(rank) for rank in range(len(feeds))], meeting)


def inputs(ranks, *shape):
    return [{"x": np.full(shape, 10.0**rank, np.float32)} for rank in range(ranks)]


@pytest.mark.parametrize(("op", "want"), [("sum", 111.0), ("max", 100.0), ("min", 1.0)])
@pytest.mark.parametrize("options", [{}, {"profile": "a2"}])
def test_every_rank_has_what_all_are_reduced_to(op, want, options):
    graph = traced(lambda x: ops.all_reduce(x, op), 3, np.ones((2, 2), np.float32))
    found = everywhere(graph, inputs(3, 2, 2), **options)
    assert [array.tolist() for array in found] == [[[want, want]] * 2] * 3


def test_rows_are_gathered_in_the_order_of_the_ranks_and_handed_back():
    graph = traced(lambda x: ops.all_gather(x), 2, np.ones((1, 2), np.float32))
    assert [a.tolist() for a in everywhere(graph, inputs(2, 1, 2))] == [[[1, 1], [10, 10]]] * 2
    graph = traced(lambda x: ops.reduce_scatter(x), 2, np.ones((2,), np.float32))
    feeds = [{"x": np.array([1, 2], np.float32)}, {"x": np.array([10, 20], np.float32)}]
    assert [a.tolist() for a in everywhere(graph, feeds)] == [[11], [22]]


def test_the_root_decides():
    graph = traced(lambda x: ops.broadcast((x,), 1)[0], 3, np.ones((2,), np.float32))
    assert [a.tolist() for a in everywhere(graph, inputs(3, 2))] == [[10, 10]] * 3
    x, y, z, w = (np.full(1, value) for value in range(4))
    assert run_kernel("Broadcast", [x, y, z, w], {"root_rank": 1, "ranks": 2}) == [z, w]


def test_a_device_rounds_after_every_rank_in_the_dtype_of_the_tensor():
    """2048 + 1 is 2048 in float16, so only one order of the ranks keeps the ones."""
    graph = traced(lambda x: ops.all_reduce(x), 3, np.ones(1, HALF))
    for values, want in (((2048, 1, 1), 2048), ((1, 1, 2048), 2050)):
        feeds = [{"x": np.array([value], HALF)} for value in values]
        assert [float(a[0]) for a in everywhere(graph, feeds, profile="a2")] == [want] * 3
        assert [float(a[0]) for a in everywhere(graph, feeds)] == [2050] * 3


def test_a_rank_that_is_alone_reduces_nothing():
    graph = traced(lambda x: ops.all_reduce(x), 1, np.ones(2, np.float32))
    feed = {"x": np.array([1, 2], np.float32)}
    for records in (run_reference(graph, feed), run_npu(graph, feed)):
        assert list(records)[1].source.array().tolist() == [1, 2]


def test_ranks_of_another_number_are_refused():
    graph = traced(lambda x: ops.all_gather(x), 3, np.ones((1, 2), np.float32))
    with refused("run/rank-size", GraphError, ranks=2, got=3):
        everywhere(graph, inputs(2, 1, 2))
    graph = traced(lambda x: ops.broadcast((x,), 2)[0], 3, np.ones(2, np.float32))
    with refused("run/out-of-range", GraphError, subject="root_rank", high=2, got=2):
        everywhere(graph, inputs(2, 2))


@pytest.mark.parametrize("ranks", [0, -1, True, 1.5])
def test_only_numbers_of_ranks_are_taken(ranks):
    with (
        refused("graph/integer", GraphError, least=1, got=ranks),
        nn.data_parallel(ranks),
    ):
        raise AssertionError


def test_an_error_of_one_rank_ends_all_with_its_message():
    meeting = Rendezvous(3)

    def work(rank):
        if rank == 1:
            raise GraphError("run/no-value", name="w")
        return meeting.exchange(rank, "a", [np.zeros(2)])

    with refused("run/no-value", GraphError, place="rank 1", name="w"):
        in_lockstep([lambda rank=rank: work(rank) for rank in range(3)], meeting)


def test_errors_that_are_no_refusals_are_raised_as_they_are():
    def fail():
        raise ZeroDivisionError("seven")

    with pytest.raises(ZeroDivisionError, match=r"^seven$"):
        in_lockstep([fail], Rendezvous(1))


def test_all_ranks_with_one_error_tell_it_once():
    def fail():
        raise GraphError("run/no-value", name="x")

    with refused("run/no-value", GraphError, place="", name="x"):
        in_lockstep([fail, fail], Rendezvous(2))


def test_ranks_at_different_places_or_with_different_tensors_are_refused():
    for places, sizes in ((("a", "b"), (1, 1)), (("a", "a"), (1, 2))):
        meeting = Rendezvous(2)

        def work(rank, meeting=meeting, places=places, sizes=sizes):
            return meeting.exchange(rank, places[rank], [np.zeros(sizes[rank])])

        code = "run/ranks-apart" if sizes == (1, 1) else "run/ranks-differ"
        with refused(code, GraphError):
            in_lockstep([lambda rank=rank: work(rank) for rank in range(2)], meeting)


def test_who_waits_for_a_rank_that_has_ended_is_told():
    meeting = Rendezvous(2)
    works = [lambda: meeting.exchange(0, "a", [np.zeros(1)]), lambda: None]
    with refused("run/rank-lost", LostRankError, rank=1, waiting="a"):
        in_lockstep(works, meeting)


def test_a_device_fails_where_its_peer_has():
    graph = traced(lambda x: ops.relu(ops.all_reduce(ops.neg(x))), 2, np.ones(2, np.float32))
    program, meeting = program_for(graph), Rendezvous(2)

    def work(rank):
        faults = [parse_fault("aicore-exception:Neg")] if rank == 1 else []
        records = run_program(program, faults=faults, member=Member(meeting, rank))
        return [(r.key.op_type, r.event.kind if r.event else "") for r in records]

    first, second = in_lockstep([lambda rank=rank: work(rank) for rank in range(2)], meeting)
    assert first[-1] == ("AllReduce", "failure")
    assert second[-1] == ("Neg", "failure")


def test_a_device_does_not_fail_where_its_peer_went_another_way():
    meets = traced(lambda x: ops.relu(ops.all_reduce(x)), 2, np.ones(2, np.float32))
    other = traced(ops.relu, 2, np.ones(2, np.float32))
    meeting = Rendezvous(2)

    def work(rank):
        program = program_for((meets, other)[rank])
        return [*run_program(program, member=Member(meeting, rank))]

    with refused("run/rank-lost", LostRankError, rank=1) as caught:
        in_lockstep([lambda rank=rank: work(rank) for rank in range(2)], meeting)
    waiting = caught.value.values["waiting"]
    check_said(waiting, "run/meeting", op="Default/AllReduce-op0", iteration=0)


def test_what_a_rank_hands_over_stays_as_it_was():
    meeting = Rendezvous(2)
    array = np.ones(1)

    def first():
        found = meeting.exchange(0, "a", [array])
        array[0] = 7
        meeting.exchange(0, "b", [array])
        return found

    def second():
        found = meeting.exchange(1, "a", [np.zeros(1)])
        meeting.exchange(1, "b", [np.zeros(1)])
        return found

    found = in_lockstep([first, second], meeting)
    assert [[a.tolist() for a in one] for one in found] == [[[1.0], [0.0]]] * 2


def test_operators_of_one_rank_go_past_the_meeting():
    member = Member(Rendezvous(2), 0)
    compute = member.joined(lambda planned, tensors, settings: [*tensors], 0)
    (planned,) = plan_execution(Graph("g", ops=(Op("a", "ReLU", (Const(1.0, "float32"),)),))).ops
    assert compute(planned, [np.ones(1)], {})[0].tolist() == [1.0]
