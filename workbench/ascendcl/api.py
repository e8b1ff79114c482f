"""AscendCL on a simulated NPU: its calls by pyACL's names, with the return codes of the real ones.

::

    acl = wb.AscendCL("a2")
    ret = acl.init()
    ret = acl.mdl.init_dump()
    ret = acl.mdl.set_dump("acl.json")
    model_id, ret = acl.mdl.load_from_file("lenet")
    ret = acl.mdl.execute(model_id)
    ret = acl.mdl.finalize_dump()
    ret = acl.mdl.unload(model_id)
    ret = acl.finalize()

Calls return an `AclError`, which is an ``int``, and raise nothing that a program for pyACL could cause;
`AscendCL.get_recent_err_msg` tells why one failed. Sources: ``acl.cpp``, ``dump.cpp`` and pyACL's wrappers
in hicann/runtime.
"""

from __future__ import annotations

import os
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from workbench.ascendcl.config_file import read_config
from workbench.ascendcl.dump_state import DumpState
from workbench.ascendcl.errors import AclError, AclRefusal
from workbench.ascendcl.execution import Device
from workbench.ascendcl.models import Model, load_model
from workbench.ascendcl.operators import operator_graph, plan_alone
from workbench.config.context import Context, version_numbers
from workbench.core.errors import check_seed
from workbench.core.words import Message
from workbench.dump.write.targets import Clock
from workbench.npu.precision import Precision
from workbench.npu.target import REFERENCE, Target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from workbench.ascendcl.models import Inputs
    from workbench.graph.graph import Graph
    from workbench.npu.compile.quantize import Quantization
    from workbench.npu.faults import Fault

DEVICES = 8
"""Devices of the simulated host."""

_CALL_ORDER, _FILE = "EP0008", "EH0004"


class AscendCL:
    """One process that uses AscendCL; ``mdl``, ``rt`` and ``op`` hold the calls of these modules.

    Parameters
    ----------
    device : str
        Kind of device, a key of `workbench.npu.profiles.PROFILES`, or ``reference`` for golden dumps.
    seed : int
        Seed of faults, times and random file numbers.
    version : str
        Version of CANN that judges configurations; the one that the rules were read in if left out.
    env : mapping of str to str, optional
        Environment of the process, such as ``ASCEND_DUMP_PATH``.

    Raises
    ------
    GraphError
        The device is unknown.
    FormatError
        The version is none.
    """

    def __init__(
        self,
        device: str = "a2",
        *,
        seed: int = 0,
        version: str = "",
        env: Mapping[str, str] | None = None,
    ) -> None:
        Target("acl", device)  # refuses an unknown device
        check_seed(seed)
        version_numbers(version)
        self._process = _Process(device, seed, Context(version, env or {}, here=True))
        self.mdl, self.rt = _Models(self._process), _Runtime(self._process)
        self.op = _Operators(self._process)

    def __repr__(self) -> str:
        process = self._process
        state = "initialised" if process.is_ready else "not initialised"
        return f"<AscendCL on {process.chip.kind}: {state}, {len(process.models)} models loaded>"

    @property
    def dumps(self) -> tuple[Path, ...]:
        """Folders that dumps went to, in order: one of a time for each configuration that dumped."""
        return self._process.dump.folders

    def init(self, config_path: str | os.PathLike[str] | None = None) -> AclError:
        """Initialise, with a configuration for the whole process if one is given.

        Once, and with the same file again after `finalize`.
        """
        return self._process.answer(partial(self._process.init, os.fspath(config_path or "")))

    def finalize(self) -> AclError:
        """End everything; models that are loaded are gone."""
        return self._process.answer(self._process.finalize)

    def get_recent_err_msg(self) -> str | None:
        """Return what failed since the last call of this, the latest first; ``None`` if nothing did."""
        text = "\n".join(reversed(self._process.messages))
        self._process.messages.clear()
        return text or None


class _Process:
    """What a process has configured, opened and loaded, and what failed of its calls."""

    def __init__(self, kind: str, seed: int, context: Context) -> None:
        clock = Clock(seed)
        self.seed, self.chip = seed, Device(kind, clock)
        self.dump = DumpState(kind, context, clock)
        self.config: bytes | None = None
        self.is_ready = self.is_finalized = False
        self.device: int | None = None
        self.models: dict[int, Model] = {}
        self.numbers, self.next_task = count(1), 1
        self.messages: list[str] = []

    def answer(self, call: Callable[[], object]) -> AclError:
        """Return the code of a call, and keep the message of one that fails."""
        try:
            call()
        except AclRefusal as refusal:
            self.messages.append(str(refusal))
            return refusal.code
        return AclError.ACL_SUCCESS

    def init(self, path: str) -> None:
        """Read the configuration of the whole process, if there is one."""
        if self.is_ready:
            said = Message("ascendcl/repeated", call="aclInit")
            raise AclRefusal(AclError.ACL_ERROR_REPEAT_INITIALIZE, said)
        data = read_config(path) if path else b""
        if self.config is not None and data != self.config:
            said = Message("ascendcl/other-config", got=path)
            raise AclRefusal(AclError.ACL_ERROR_INVALID_PARAM, said, _FILE)
        if data:
            self.dump.configure_by_init(data, path, device_is_set=self.device is not None)
        self.config, self.is_ready, self.is_finalized = data, True, False

    def finalize(self) -> None:
        """Forget all models."""
        if self.is_finalized:
            said = Message("ascendcl/repeated", call="aclFinalize")
            raise AclRefusal(AclError.ACL_ERROR_REPEAT_FINALIZE, said)
        self.models.clear()
        self.is_ready, self.is_finalized = False, True

    def need(self, call: str, code: AclError, error_code: str = "") -> None:
        """Raise AclRefusal for a call before ``aclInit``."""
        if not self.is_ready:
            said = Message("ascendcl/order", call=call, before="aclInit")
            raise AclRefusal(code, said, error_code)

    def opened(self) -> int:
        """Number of the device in use: that of ``set_device``, else 0."""
        if self.device is None:
            self.device = 0
        return self.device

    def model(self, call: str, number: int) -> Model:
        """Return a loaded model."""
        self.need(call, AclError.ACL_ERROR_GE_EXEC_NOT_INIT)
        if number not in self.models:
            said = Message("ascendcl/model-id", got=number, known=sorted(self.models))
            raise AclRefusal(AclError.ACL_ERROR_GE_EXEC_MODEL_ID_INVALID, said)
        return self.models[number]


class _Models:
    """``acl.mdl``: models and the dump of what they compute."""

    def __init__(self, process: _Process) -> None:
        self._process = process

    def init_dump(self) -> AclError:
        """Begin to dump; configurations and models come next."""
        return self._dump("aclmdlInitDump", self._process.dump.start)

    def set_dump(self, dump_cfg_path: str | os.PathLike[str] | None) -> AclError:
        """Set the configuration for all models that are loaded from here on; the last one counts."""
        path = None if dump_cfg_path is None else os.fspath(dump_cfg_path)
        opened = self._process.device is not None
        configure = partial(self._process.dump.configure, path, device_is_set=opened)
        return self._dump("aclmdlSetDump", configure)

    def finalize_dump(self) -> AclError:
        """End the dump of all models."""
        return self._dump("aclmdlFinalizeDump", self._process.dump.stop)

    def load_from_file(
        self,
        model_path: str | os.PathLike[str] | Graph,
        *,
        faults: Sequence[Fault | str] = (),
        precision_mode: str | Precision | None = None,
        fusion: str | Path = "on",
        quantization: str | Quantization | None = None,
        feeds: Mapping[str, Any] | None = None,
    ) -> tuple[int, AclError]:
        """Load a model and return its number, 0 if that fails.

        Parameters
        ----------
        model_path : path, text or Graph
            A model of `workbench.network.models.MODELS`, ``file.py:Name``, a graph file, or a graph.
        faults : sequence of Fault or text
            Defects of the device, as `workbench.npu.faults.parse_fault` spells them.
        precision_mode : str or Precision, optional
            What was asked of the compiler.
        fusion : str or path
            Whether the compiler fuses operators, as of `wb.simulate`.
        quantization : str or Quantization, optional
            ``w8a8`` or ``w8a16`` if the network was quantized before; ``feeds`` calibrate it.
        feeds : mapping of parameter name to array, optional
            Weights and inputs in place of those that the graph brought along.

        Raises
        ------
        GraphError
            Faults or mode are unknown or do not fit the model or the device.
        """
        number = 0

        def load() -> None:
            nonlocal number
            process = self._process
            process.need("aclmdlLoadFromFile", AclError.ACL_ERROR_GE_EXEC_NOT_INIT)
            target = Target.of(
                "acl",
                process.chip.kind,
                precision_mode=precision_mode,
                fusion=fusion,
                quantization=quantization,
                faults=faults,
                seed=process.seed,
            )
            model = load_model(model_path, target.calibrated(feeds), feeds)
            model.device, model.settings = process.opened(), process.dump.current
            number = model.number = next(process.numbers)
            process.models[number] = model

        ret = self._process.answer(load)
        return number, ret

    def execute(
        self, model_id: int, input: Inputs = None, output: list[Any] | None = None
    ) -> AclError:
        """Run a model once.

        Parameters
        ----------
        model_id : int
        input : mapping of name to array or sequence of arrays, optional
            In the order of the model's inputs; the example inputs of the graph if left out.
        output : list, optional
            Filled with the output arrays.
        """

        def execute() -> None:
            process, model = self._process, self._process.model("aclmdlExecute", model_id)
            execution = model.next_execution(input)
            plans = [(one, model.plan(one)) for one in model.settings]
            model.executions += 1
            dumps = [(one, plan) for one, plan in plans if plan is not None]
            found = process.chip.execute(execution, dumps)
            if output is not None:
                output[:] = found

        return self._process.answer(execute)

    def unload(self, model_id: int) -> AclError:
        """Unload a model; its number is not given again."""

        def unload() -> None:
            del self._process.models[self._process.model("aclmdlUnload", model_id).number]

        return self._process.answer(unload)

    def _dump(self, call: str, change: Callable[[], None]) -> AclError:
        def checked() -> None:
            self._process.need(call, AclError.ACL_ERROR_UNINITIALIZE, _CALL_ORDER)
            change()

        return self._process.answer(checked)


class _Runtime:
    """``acl.rt``: the device. A process that sets none uses device 0."""

    def __init__(self, process: _Process) -> None:
        self._process = process

    def set_device(self, device_id: int) -> AclError:
        """Open a device; a detailed exception dump must be set before."""

        def opened() -> None:
            self._process.device = self._known(device_id)

        return self._process.answer(opened)

    def reset_device(self, device_id: int) -> AclError:
        """Close a device."""

        def closed() -> None:
            if self._process.device == self._known(device_id):
                self._process.device = None

        return self._process.answer(closed)

    def _known(self, device_id: int) -> int:
        if device_id not in range(DEVICES):
            said = Message("ascendcl/device-id", got=device_id, last=DEVICES - 1)
            raise AclRefusal(AclError.ACL_ERROR_RT_INVALID_DEVICEID, said)
        return device_id


class _Operators:
    """``acl.op``: operators outside of models."""

    def __init__(self, process: _Process) -> None:
        self._process = process

    def execute_v2(
        self,
        op_type: str,
        inputs: Sequence[Any],
        outputs: list[Any] | None = None,
        attr: Mapping[str, Any] | None = None,
        *,
        faults: Sequence[Fault | str] = (),
    ) -> AclError:
        """Run one operator; arrays are their own descriptions, and the stream is the default one.

        Parameters
        ----------
        op_type : str
            A type of `workbench.ops.OPS`.
        inputs : sequence of arrays
        outputs : list, optional
            Filled with the output arrays.
        attr : mapping, optional
            Attributes and settings by name; what is left out is at its default.
        faults : sequence of Fault or text
            Defects of the device.

        Raises
        ------
        GraphError
            Faults are unknown or do not fit.
        """

        def execute() -> None:
            process = self._process
            process.need("aclopExecuteV2", AclError.ACL_ERROR_UNINITIALIZE)
            graph = operator_graph(op_type, inputs, attr or {})
            kind = process.chip.kind
            own = Precision(training=True) if kind != REFERENCE else None  # not in ATC's mode
            target = Target.of("acl", kind, precision_mode=own, faults=faults, seed=process.seed)
            model = load_model(graph, target)
            model.device = process.opened()
            execution = model.next_execution(None)._replace(first_task=process.next_task)
            process.next_task += len(model.compiled.ops) + 1
            dumps = [(one, plan) for one in process.dump.current if (plan := plan_alone(one))]
            found = process.chip.execute(execution, dumps)
            if outputs is not None:
                outputs[:] = found

        return self._process.answer(execute)
