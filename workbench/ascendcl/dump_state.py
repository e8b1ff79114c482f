"""Which dump is in force: the state that ``aclInit`` and the three dump calls of AscendCL change.

Sources: ``dump.cpp``, ``dump_manager.cpp`` and ``exception_dumper.cpp`` of hicann/runtime, and what
CANN's reference says of ``aclmdlSetDump``. A dump of data, overflow or watched memory is one thing and
a dump of exceptions another; each has one configuration at a time. A new one of data replaces the
last; while exceptions are dumped, another form for them is taken and ignored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.ascendcl.config_file import parse_config, read_config
from workbench.ascendcl.errors import AclError, AclRefusal
from workbench.config.acl.reading import is_old, remote
from workbench.config.acl.settings import EXCEPTIONS
from workbench.config.acl.surface import ACL
from workbench.config.config import Config
from workbench.core.words import Message
from workbench.dump.layouts import row_of
from workbench.dump.write.exceptions import CHIPS
from workbench.dump.write.targets import time_folder

if TYPE_CHECKING:
    from workbench.config.context import Context
    from workbench.core.plan import DumpPlan
    from workbench.dump.write.targets import Clock

_CALL_ORDER, _NULL = "EP0008", "EP0007"
_SECOND = 1_000_000
_EXCEPTIONS = row_of("exception").path.rpartition("/")[0]


@dataclass(eq=False, slots=True)
class ActiveDump:
    """One configuration from when it was set.

    ``root`` is its folder, ``None`` on another host, ``session`` the time folder below it, ``lasting``
    whether ``aclmdlFinalizeDump`` cannot end it.
    """

    plan: DumpPlan
    root: Path | None
    session: str
    lasting: bool = False
    ended: bool = False


class DumpState:
    """The dump configurations of a process.

    ``device`` is the kind of device. ``context`` is judged with: version of CANN and environment.
    """

    def __init__(self, device: str, context: Context, clock: Clock) -> None:
        self._device, self._context, self._clock = device, context, clock
        self._started = self._by_init = False
        self._all: list[ActiveDump] = []
        self._data: ActiveDump | None = None
        self._exceptions = self._of_environment()

    @property
    def current(self) -> tuple[ActiveDump, ...]:
        """What is in force now; a model keeps what was when it was loaded."""
        both = (self._data, self._exceptions)
        return tuple(one for one in both if one is not None and not one.ended)

    @property
    def folders(self) -> tuple[Path, ...]:
        """Folders that exist of all that were opened: that of a session, or that of exceptions."""
        places = []
        for one in self._all:
            if one.root is not None:
                inner = _EXCEPTIONS if one.plan.kind == "exception" else one.session
                places.append(one.root / inner)
        return tuple(place for place in dict.fromkeys(places) if place.is_dir())

    def start(self) -> None:
        """``aclmdlInitDump``."""
        self._check_alone("aclmdlInitDump")
        if self._started:
            said = Message("ascendcl/repeated", call="aclmdlInitDump")
            raise AclRefusal(AclError.ACL_ERROR_REPEAT_INITIALIZE, said, _CALL_ORDER)
        self._started = True

    def configure(self, path: str | None, *, device_is_set: bool) -> None:
        """``aclmdlSetDump``; a file that asks for no dump leaves everything as it is."""
        self._check_started("aclmdlSetDump")
        if path is None:
            raise AclRefusal(AclError.ACL_ERROR_INVALID_PARAM, Message("ascendcl/no-path"), _NULL)
        form = parse_config(read_config(path), path, self._context, by_init=False)
        self._take(form, device_is_set=device_is_set)

    def configure_by_init(self, data: bytes, path: str, *, device_is_set: bool) -> None:
        """Take the file of ``aclInit``."""
        form = parse_config(data, path, self._context, by_init=True)
        self._take(form, device_is_set=device_is_set)
        self._by_init = form is not None

    def stop(self) -> None:
        """``aclmdlFinalizeDump``: models that are loaded dump no more, until they are loaded anew."""
        self._check_started("aclmdlFinalizeDump")
        for one in self._all:
            one.ended = not one.lasting
        self._started = False

    def _check_alone(self, call: str) -> None:
        if self._by_init and is_old(self._context):
            said = Message("ascendcl/after-dump", call=call)
            raise AclRefusal(AclError.ACL_ERROR_DUMP_ALREADY_RUN, said)

    def _check_started(self, call: str) -> None:
        self._check_alone(call)
        if not self._started:
            said = Message("ascendcl/order", call=call, before="aclmdlInitDump")
            raise AclRefusal(AclError.ACL_ERROR_DUMP_NOT_RUN, said, _CALL_ORDER)

    def _take(self, form: Config | None, *, device_is_set: bool) -> None:
        plan = None if form is None else form.plan(self._context)
        if plan is None or plan.iterations.ranges == ():
            return
        if plan.kind == "exception":
            self._take_exceptions(plan, device_is_set=device_is_set)
        elif not self._context.variable("NPU_COLLECT_PATH"):  # the graph engine refuses both
            here = remote(plan.path) is None
            self._data = self._open(plan, Path(plan.path).resolve() if here else None)

    def _take_exceptions(self, plan: DumpPlan, *, device_is_set: bool) -> None:
        if self._exceptions is not None and not self._exceptions.ended:
            return
        if plan.detail == "detail" and self._device not in CHIPS:
            said = Message("ascendcl/detail-device", known=list(CHIPS), got=self._device)
            raise AclRefusal(AclError.ACL_ERROR_INTERNAL_ERROR, said)
        lasting = plan.detail == "detail"
        if lasting and device_is_set:  # the device has been opened without it
            plan = replace(plan, detail="brief")
        self._exceptions = self._open(plan, Path(plan.path).resolve(), lasting=lasting)

    def _open(self, plan: DumpPlan, root: Path | None, *, lasting: bool = False) -> ActiveDump:
        """Put a plan in force, in a time folder that no other has."""
        self._clock.now += _SECOND
        while root is not None and (root / time_folder(self._clock.now)).exists():
            self._clock.now += _SECOND
        setting = ActiveDump(plan, root, time_folder(self._clock.now), lasting)
        self._all.append(setting)
        return setting

    def _of_environment(self) -> ActiveDump | None:
        """The exception dump that variables ask for when the process starts; nothing ends it."""
        scene, collect = map(self._context.variable, ("ASCEND_DUMP_SCENE", "NPU_COLLECT_PATH"))
        if scene not in EXCEPTIONS[1:]:
            scene = "aic_err_norm_dump" if collect else ""
            root = collect
        else:
            root = ""
        if not scene or (scene == "aic_err_detail_dump" and self._device not in CHIPS):
            return None
        plan = Config(ACL, {"dump": {"dump_scene": scene}}).plan(self._context)
        setting = ActiveDump(plan, Path(root or plan.path).resolve(), "", lasting=True)
        self._all.append(setting)
        return setting
