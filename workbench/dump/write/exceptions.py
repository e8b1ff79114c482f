"""Exception dumps: the file that an operator leaves when the device fails at it.

adump writes it below a folder of its own, whatever the model (row ``exception`` of `workbench.dump.layouts`).
What the file holds is the plan's detail (`workbench.dump.reports.exception`). Names of kernels, tasks and times are
made up, as only a device knows them.
"""

from __future__ import annotations

import zlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.dump.formats.file import FileName
from workbench.dump.formats.ge_name import ABSENT, exception_stamp, format_ge_name
from workbench.dump.formats.mindspore_name import sanitize
from workbench.dump.reports.core_elf import Core
from workbench.dump.reports.exception import Argument, exception_container, failed_core

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from workbench.core.events import Unit
    from workbench.dump.formats.container import Container
    from workbench.dump.write.pieces import StoredTensor

CHIPS = {"a2": 5, "a3": 5}
"""Device → the driver's number of its chip; these alone write the detailed dump."""


class FailedOperator(NamedTuple):
    """An operator that failed: type and full name, task and stream, the unit that stopped, and when.

    ``time`` is microseconds since the epoch.
    """

    op_type: str
    op_name: str
    task: int
    stream: int
    unit: Unit
    time: int

    @property
    def kernel(self) -> str:
        """Name of its kernel, as the compiler of operators gives them."""
        number = zlib.crc32(self.op_name.encode("utf-8", "surrogateescape"))
        return f"te_{sanitize(self.op_type).lower()}_{number:08x}_1__kernel0"


class FailureFile(NamedTuple):
    """A file: its name, and either its bytes or a container with the payload."""

    name: str
    data: bytes = b""
    container: Container | None = None
    payload: Sequence[NDArray[np.uint8]] = ()


def failure_file(
    failed: FailedOperator, pieces: Iterable[StoredTensor], detail: str, device: int, chip: int
) -> FailureFile | None:
    """Return what a failed operator leaves; ``None`` if it has no tensor in memory.

    Parameters
    ----------
    pieces : iterable of StoredTensor
        Its tensors as they lie on the device.
    detail : {"brief", "norm", "detail"}
        As `workbench.core.plan.DumpPlan.detail`.
    device, chip : int
        Number of the device, and its kind.
    """
    arguments = [_argument(piece, at) for at, piece in enumerate(pieces) if piece.size]
    if not arguments:
        return None
    moment = datetime.fromtimestamp(failed.time / 1_000_000, UTC)
    name = FileName(
        "norm", failed.op_type, failed.op_name, exception_stamp(moment), failed.task, failed.stream
    )
    if detail == "detail":
        name = name._replace(kind="core", op_name=failed.kernel)
        cubes, vectors = ((0,), ()) if failed.unit == "cube" else ((), (0,))
        core = Core(failed.kernel, device, chip, cubes, vectors)
        return FailureFile(format_ge_name(name), failed_core(arguments, core))
    if detail == "norm":
        container, payload = exception_container(
            arguments, failed.time, op_name=failed.op_name, message=_who(failed)
        )
    else:
        name = name._replace(kind="brief", op_name="")
        container, payload = exception_container(arguments, failed.time, message=_table(arguments))
    return FailureFile(format_ge_name(name), b"", container, payload)


def _argument(piece: StoredTensor, at: int) -> Argument:
    array = piece.laid().array
    assert array is not None  # simulated operators have their tensors in memory
    key, form = piece.record.key, piece.layout.format
    return Argument(key.io, array, piece.dtype, form, at, address=piece.address)


def _who(failed: FailedOperator) -> str:
    return (
        f"[AIC_INFO] node_name:{failed.op_name}, node_type:{failed.op_type}, "
        f"stream_id:{failed.stream}, task_id:{failed.task}, context_id:{ABSENT}\n"
    )


def _table(arguments: Sequence[Argument]) -> str:
    """Log of the table of addresses that a kernel was called with."""
    addresses = "".join(f"{one.address:#x}, " for one in arguments)
    return f"[AIC_INFO] args(0 to {len(arguments)}) after execute:{addresses}\n"
