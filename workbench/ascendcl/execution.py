"""One execution on a simulated device: run it, dump it, say how it ended."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple
from workbench.ascendcl.errors import AclError, AclRefusal
from workbench.core.errors import FormatError, GraphError, OutputError
from workbench.core.words import Message
from workbench.dump.watched import watch_of
from workbench.dump.write.exceptions import CHIPS
from workbench.dump.write.targets import Target
from workbench.dump.write.trees import write_tree
from workbench.graph.constants import constant
from workbench.graph.graph import Const, Param, Value
from workbench.npu.profiles import PROFILES
from workbench.run.executor import operator_key, parameter_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.ascendcl.dump_state import ActiveDump
    from workbench.core.events import DeviceEvent
    from workbench.core.plan import DumpPlan
    from workbench.core.tensors import TensorKey, TensorRecord
    from workbench.dump.write.targets import Clock
    from workbench.graph.graph import Graph, Operand

    Dump = tuple[ActiveDump, DumpPlan]
    """A configuration, and what it wants of this execution."""


_MILLISECOND = 1000


class Execution(NamedTuple):
    """An execution: the graph as compiled, its records each time they are asked for, and where it runs.

    ``model_id`` is 0 for an operator outside of models; ``first_task`` numbers its tasks.
    """

    graph: Graph
    run: Callable[..., Iterator[TensorRecord]]
    iteration: int
    device: int
    model_id: int = 0
    first_task: int = 1


class Device(NamedTuple):
    """The kind of device, a key of `workbench.npu.profiles.PROFILES` or the reference, and the time."""

    kind: str
    clock: Clock

    def execute(self, execution: Execution, dumps: Sequence[Dump]) -> list[NDArray[Any]]:
        """Run an execution and write its dumps; return its outputs.

        Raises AclRefusal if an operator fails, none computes it, or a dump cannot be written. What was
        written before stays.
        """
        self.clock.now += _MILLISECOND  # names of exception dumps have nothing finer
        seen = _Seen(execution)
        try:
            data = [dump for dump in dumps if dump[1].kind != "exception"]
            records = seen.look(execution.run(watch=_watched(data, execution)))
            for setting, plan in data:
                self._write(records, execution, setting, plan)
            deque(records, maxlen=0)  # whatever no dump has asked for
            for setting, plan in dumps:
                if plan.kind == "exception" and seen.failure is not None:
                    self._write(execution.run(), execution, setting, plan)
        except (FormatError, OutputError) as error:
            raise AclRefusal(AclError.ACL_ERROR_WRITE_FILE, error) from error
        except GraphError as error:
            raise AclRefusal(AclError.ACL_ERROR_RT_MODEL_EXECUTE, error) from error
        if seen.failure is not None:
            raise _failure(seen.failure, execution)
        return seen.outputs()

    def _write(
        self,
        records: Iterable[TensorRecord],
        execution: Execution,
        setting: ActiveDump,
        plan: DumpPlan,
    ) -> None:
        if setting.root is None:
            return
        profile = PROFILES.get(self.kind)
        target = Target(
            "acl",
            device=execution.device,
            session=setting.session,
            model_id=execution.model_id,
            first_task=execution.first_task,
            overflow_layout="classic" if profile is None else profile.record,
            chip=CHIPS.get(self.kind, 0),
        )
        write_tree(
            records,
            plan,
            setting.root,
            graph=execution.graph,
            target=target,
            clock=self.clock,
            anew=False,
        )


class _Seen:
    """What passes of a run: the outputs of its graph, and the operator that failed."""

    def __init__(self, execution: Execution) -> None:
        self.failure: DeviceEvent | None = None
        self._graph = execution.graph
        self._keys = [
            self._key(operand, execution.iteration) for operand in execution.graph.outputs
        ]
        self._values: dict[TensorKey, NDArray[Any]] = {}

    def _key(self, operand: Operand, iteration: int) -> TensorKey | None:
        graph = self._graph
        if isinstance(operand, Value):
            op = graph.ops[operand.op]
            return operator_key(graph, op, "output", operand.slot, iteration)
        if isinstance(operand, Param):
            return parameter_key(graph, graph.parameters[operand.index], iteration)
        return None

    def look(self, records: Iterator[TensorRecord]) -> Iterator[TensorRecord]:
        wanted = set(self._keys)
        for record in records:
            if record.event is not None and record.event.kind == "failure":
                self.failure = record.event
            if record.key in wanted and record.source is not None and not record.after:
                self._values[record.key] = record.source.array()
            yield record

    def outputs(self) -> list[NDArray[Any]]:
        found = []
        for operand, key in zip(self._graph.outputs, self._keys, strict=True):
            array = constant(operand) if isinstance(operand, Const) else None
            if key is not None:
                array = self._values.get(key)
            if array is not None:
                found.append(array)
        return found


def _watched(data: Sequence[Dump], execution: Execution) -> Mapping[str, Sequence[str]]:
    """Operators after which others are looked at; one configuration of data is in force at most."""
    return next((watch_of(plan, execution.graph) for _, plan in data), {})


def _failure(event: DeviceEvent, execution: Execution) -> AclRefusal:
    """Say how a failed operator ends a call: a model as a whole, an operator by its unit."""
    code = AclError.ACL_ERROR_RT_MODEL_EXECUTE
    if not execution.model_id:
        code = AclError.ACL_ERROR_RT_AICORE_EXCEPTION
        if event.unit == "vector":
            code = AclError.ACL_ERROR_RT_VECTOR_CORE_EXCEPTION
    return AclRefusal(code, Message("ascendcl/exception", op=event.op_name))
