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
        clock = Clock(seed)
        self._dump = DumpState(device, Context(version, env or {}, here=True), clock)
        self._chip, self._seed = Device(device, clock), seed
        self._config: bytes | None = None
        self._ready = self._finalized = False
        self._device: int | None = None
        self._models: dict[int, Model] = {}
        self._numbers, self._next_task = count(1), 1
        self._messages: list[str] = []
        self.mdl, self.rt, self.op = _Models(self), _Runtime(self), _Operators(self)

    def __repr__(self) -> str:
        state = "initialised" if self._ready else "not initialised"
        return f"<AscendCL on {self._chip.kind}: {state}, {len(self._models)} models loaded>"

    @property
    def dumps(self) -> tuple[Path, ...]:
        """Folders that dumps went to, in order: one of a time for each configuration that dumped."""
        return self._dump.folders

    def init(self, config_path: str | os.PathLike[str] | None = None) -> AclError:
        """Initialise, with a configuration for the whole process if one is given.

        Once, and with the same file again after `finalize`.
        """
        return self._answer(partial(self._init, os.fspath(config_path or "")))

    def finalize(self) -> AclError:
        """End everything; models that are loaded are gone."""
        return self._answer(self._finalize)

    def get_recent_err_msg(self) -> str | None:
        """Return what failed since the last call of this, the latest first; ``None`` if nothing did."""
        text = "\n".join(reversed(self._messages))
        self._messages.clear()
        return text or None

    def _answer(self, call: Callable[[], object]) -> AclError:
        try:
            call()
        except AclRefusal as refusal:
            self._messages.append(str(refusal))
            return refusal.code
        return AclError.ACL_SUCCESS

    def _init(self, path: str) -> None:
        if self._ready:
            said = Message("ascendcl/repeated", call="aclInit")
            raise AclRefusal(AclError.ACL_ERROR_REPEAT_INITIALIZE, said)
        data = read_config(path) if path else b""
        if self._config is not None and data != self._config:
            said = Message("ascendcl/other-config", got=path)
            raise AclRefusal(AclError.ACL_ERROR_INVALID_PARAM, said, _FILE)
        if data:
            self._dump.configure_by_init(data, path, device_is_set=self._device is not None)
        self._config, self._ready, self._finalized = data, True, False

    def _finalize(self) -> None:
        if self._finalized:
            said = Message("ascendcl/repeated", call="aclFinalize")
            raise AclRefusal(AclError.ACL_ERROR_REPEAT_FINALIZE, said)
        self._models.clear()
        self._ready, self._finalized = False, True

    def _need(self, call: str, code: AclError, error_code: str = "") -> None:
        if not self._ready:
            said = Message("ascendcl/order", call=call, before="aclInit")
            raise AclRefusal(code, said, error_code)

    def _opened(self) -> int:
        """Number of the device in use: that of ``set_device``, else 0."""
        if self._device is None:
            self._device = 0
        return self._device


class _Models:
    """``acl.mdl``: models and the dump of what they compute."""

    def __init__(self, acl: AscendCL) -> None:
        self._acl = acl

    def init_dump(self) -> AclError:
        """Begin to dump; configurations and models come next."""
        return self._dump("aclmdlInitDump", self._acl._dump.start)

    def set_dump(self, dump_cfg_path: str | os.PathLike[str] | None) -> AclError:
        """Set the configuration for all models that are loaded from here on; the last one counts."""
        path = None if dump_cfg_path is None else os.fspath(dump_cfg_path)
        opened = self._acl._device is not None
        configure = partial(self._acl._dump.configure, path, device_is_set=opened)
        return self._dump("aclmdlSetDump", configure)

    def finalize_dump(self) -> AclError:
        """End the dump of all models."""
        return self._dump("aclmdlFinalizeDump", self._acl._dump.stop)

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
            acl = self._acl
            acl._need("aclmdlLoadFromFile", AclError.ACL_ERROR_GE_EXEC_NOT_INIT)
            target = Target.of(
                "acl",
                acl._chip.kind,
                precision_mode=precision_mode,
                fusion=fusion,
                quantization=quantization,
                faults=faults,
                seed=acl._seed,
            )
            model = load_model(model_path, target.calibrated(feeds), feeds)
            model.device, model.settings = acl._opened(), acl._dump.current
            number = model.number = next(acl._numbers)
            acl._models[number] = model

        ret = self._acl._answer(load)
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
            acl, model = self._acl, self._model("aclmdlExecute", model_id)
            execution = model.next_execution(input)
            plans = [(one, model.plan(one)) for one in model.settings]
            model.executions += 1
            dumps = [(one, plan) for one, plan in plans if plan is not None]
            found = acl._chip.execute(execution, dumps)
            if output is not None:
                output[:] = found

        return self._acl._answer(execute)

    def unload(self, model_id: int) -> AclError:
        """Unload a model; its number is not given again."""

        def unload() -> None:
            del self._acl._models[self._model("aclmdlUnload", model_id).number]

        return self._acl._answer(unload)

    def _dump(self, call: str, change: Callable[[], None]) -> AclError:
        def checked() -> None:
            self._acl._need(call, AclError.ACL_ERROR_UNINITIALIZE, _CALL_ORDER)
            change()

        return self._acl._answer(checked)

    def _model(self, call: str, number: int) -> Model:
        self._acl._need(call, AclError.ACL_ERROR_GE_EXEC_NOT_INIT)
        if number not in self._acl._models:
            known = sorted(self._acl._models)
            said = Message("ascendcl/model-id", got=number, known=known)
            raise AclRefusal(AclError.ACL_ERROR_GE_EXEC_MODEL_ID_INVALID, said)
        return self._acl._models[number]


class _Runtime:
    """``acl.rt``: the device. A process that sets none uses device 0."""

    def __init__(self, acl: AscendCL) -> None:
        self._acl = acl

    def set_device(self, device_id: int) -> AclError:
        """Open a device; a detailed exception dump must be set before."""

        def opened() -> None:
            self._acl._device = self._known(device_id)

        return self._acl._answer(opened)

    def reset_device(self, device_id: int) -> AclError:
        """Close a device."""

        def closed() -> None:
            if self._acl._device == self._known(device_id):
                self._acl._device = None

        return self._acl._answer(closed)

    def _known(self, device_id: int) -> int:
        if device_id not in range(DEVICES):
            said = Message("ascendcl/device-id", got=device_id, last=DEVICES - 1)
            raise AclRefusal(AclError.ACL_ERROR_RT_INVALID_DEVICEID, said)
        return device_id


class _Operators:
    """``acl.op``: operators outside of models."""

    def __init__(self, acl: AscendCL) -> None:
        self._acl = acl

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
            acl = self._acl
            acl._need("aclopExecuteV2", AclError.ACL_ERROR_UNINITIALIZE)
            graph = operator_graph(op_type, inputs, attr or {})
            kind = acl._chip.kind
            own = Precision(training=True) if kind != REFERENCE else None  # not in ATC's mode
            target = Target.of("acl", kind, precision_mode=own, faults=faults, seed=acl._seed)
            model = load_model(graph, target)
            model.device = acl._opened()
            execution = model.next_execution(None)._replace(first_task=acl._next_task)
            acl._next_task += len(model.compiled.ops) + 1
            dumps = [(one, plan) for one in acl._dump.current if (plan := plan_alone(one))]
            found = acl._chip.execute(execution, dumps)
            if outputs is not None:
                outputs[:] = found

        return self._acl._answer(execute)
