"""Operator types of GE that leave no dump file: one row each.

Sources: ``documents``, CANN's guides to dumping TensorFlow networks and offline models, which list
examples under three headings (conditional, data and data flow operators) and the attribute
``_no_task``; ``local engine``, the types for which GE's local engine makes no device task; ``runtime
engine``, the types for which its runtime engine makes a control task instead of a kernel. Only a kernel
task writes a dump, so the last two are conclusions from GE's code, not statements of a document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.core.words import Message

if TYPE_CHECKING:
    from workbench.graph.graph import Op


class Silence(NamedTuple):
    """Why a type leaves no dump file, where that is known from, and whether it is a conclusion."""

    reason: Message
    source: str
    inferred: bool = False


_CONTROL = Message("graph_files/silent-control")
_DATA = Message("graph_files/silent-data")
_FLOW = Message("graph_files/silent-flow")
_SHAPE = Message("graph_files/silent-shape")
_END = Message("graph_files/silent-end")
_STREAM = Message("graph_files/silent-stream")


def _known(reason: Message, source: str, inferred: bool, types: str) -> dict[str, Silence]:
    return dict.fromkeys(types.split(), Silence(reason, source, inferred))


NO_DUMP: dict[str, Silence] = {
    **_known(_CONTROL, "documents", False, "If While For Case"),
    **_known(_DATA, "documents", False, "Data RefData Const"),
    **_known(_FLOW, "documents", False, "StackPush StackPop Concat Split"),
    **_known(
        _CONTROL,
        "local engine",
        True,
        "_If StatelessIf StatelessCase _While StatelessWhile PartitionedCall StatefulPartitionedCall "
        "ControlTrigger Merge NoOp ConditionCalc OpTiling",
    ),
    **_known(
        _DATA,
        "local engine",
        True,
        "Constant ConstPlaceHolder FileConstant Variable AippData QueueData UnfedData",
    ),
    **_known(_FLOW, "local engine", True, "Stack StackClose PhonyConcat PhonySplit"),
    **_known(
        _SHAPE,
        "local engine",
        True,
        "Reshape Bitcast Flatten FlattenV2 ExpandDims ReFormat Squeeze SqueezeV2 SqueezeV3 Unsqueeze "
        "UnsqueezeV2 UnsqueezeV3",
    ),
    **_known(_END, "runtime engine", True, "NetOutput"),
    **_known(
        _STREAM,
        "runtime engine",
        True,
        "LabelGoto LabelGotoEx LabelSet LabelSwitch LabelSwitchByIndex StreamActive StreamMerge "
        "StreamSwitch StreamSwitchN Recv RecvMem RecvNotify Send SendMem SendNotify ModelExit",
    ),
}
"""Operator type → why it leaves no dump file.

``Concat`` and ``Split`` stand here because the documents name them; their forms with a kernel of their
own (``ConcatD``, ``SplitV`` …) do not, and leave dumps unless ``_no_task`` says otherwise.
"""


def why_no_dump(op: Op) -> Message | None:
    """Why an operator of a GE graph leaves no dump file; ``None`` if it should leave one.

    An attribute ``_no_task`` that is true counts before the type.
    """
    if op.attrs.get("_no_task") is True:
        return Message("graph_files/silent-no-task")
    row = NO_DUMP.get(op.op_type)
    return None if row is None else row.reason
