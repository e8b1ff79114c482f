"""What the settings of an ``acl.json`` come to: which dump, where to, of which executions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

from workbench._values import NamedTuple
from workbench.config.acl.settings import EXCEPTIONS, AclForm, Dump, Item
from workbench.config.form.rules import Reading
from workbench.config.ge.plans import exception_folder

if TYPE_CHECKING:
    from workbench.config.context import Context

Known = TypeVar("Known", Dump, Item)
Kind = Literal["none", "data", "overflow", "exception", "watch"]

_NEW_KEYS = ("dump_level", "dump_kernel_data", "dump_stats")
_NEW_ITEM_KEYS = ("watcher_nodes", "optype_blacklist", "opname_blacklist", "opname_range")
_OCTET = re.compile(r"[ \t\n\v\f\r]*\+?0*([0-9]{1,3})(?![0-9])")


def is_old(context: Context) -> bool:
    """Whether acl itself, and not adump, reads the file (CANN 8.0 and before)."""
    return () < context.release()[:2] <= (8, 0)


def is_strict(context: Context) -> bool:
    """Whether adump refuses what it did not look at before (CANN 9.2)."""
    return context.release() >= (9, 2)


def known_settings(form: AclForm, context: Context) -> Dump:
    """Return the settings as the version reads them: keys that it does not know are at default."""
    dump = form.dump or Dump()
    if not is_old(context):
        return dump
    new = dump.dump_scene in EXCEPTIONS[1:] or dump.dump_scene == "watcher"
    old = _without(dump, (*_NEW_KEYS, *(("dump_scene",) if new else ())))
    if not dump.dump_list:
        return old
    items = tuple(_without(item, _NEW_ITEM_KEYS) for item in dump.dump_list)
    return Dump(old.values() | {"dump_list": items})


def _without(section: Known, keys: tuple[str, ...]) -> Known:
    """Return settings in which keys are absent."""
    kept = {key: value for key, value in section.values().items() if key not in keys}
    return type(section)(kept)


def prints_kernels(dump: Dump) -> bool:
    """Whether what kernels print is asked for; it is dumped even where no tensor is."""
    return "dump_kernel_data" in dump.given


def kind_of(dump: Dump) -> Kind:
    """Which dump the settings switch on; ``none`` if they pass and nothing comes of them."""
    if dump.dump_scene in EXCEPTIONS:
        return "exception"
    if dump.dump_debug == "on":
        return "overflow"
    if dump.dump_scene == "watcher":
        return "watch"
    return "data" if dump.dump_op_switch == "on" or dump.dump_list else "none"


class Remote(NamedTuple):
    """Halves of a path like ``10.0.0.1:/dump``."""

    host: str
    folder: str


def remote(path: str) -> Remote | None:
    """Split the path of a dump on another host; ``None`` for a path on this one."""
    host, colon, folder = path.partition(":")
    octets = host.split(".")
    if not colon or len(octets) != 4:
        return None
    matches = [_OCTET.match(octet) for octet in octets]
    valid = all(match is not None and int(match[1]) <= 255 for match in matches)
    return Remote(host, folder) if valid else None


@dataclass(frozen=True, slots=True)
class AclReading(Reading):
    """What a release makes of a form.

    ``asked`` is all that the form says, ``dump`` what the release knows of it, ``kind`` the dump that comes of
    it; ``old`` and ``strict`` are releases (see `is_old`, `is_strict`), ``given`` is whether there is anything
    in it: an empty object is not looked at. ``remote`` are the halves of a path that is looked at and names
    another host.
    """

    asked: AclForm
    dump: Dump
    kind: Kind
    old: bool
    strict: bool
    given: bool
    remote: Remote | None

    @property
    def checked(self) -> bool:
        """Whether steps, lists and statistics are looked at: not of an exception or overflow dump."""
        return self.given and self.kind not in ("exception", "overflow")

    @property
    def watches(self) -> bool:
        """Whether the list is looked at as that of a watch."""
        return self.checked and self.dump.dump_scene == "watcher"

    @property
    def selects(self) -> bool:
        """Whether the list is looked at as one of operators to dump."""
        return self.checked and self.dump.dump_scene != "watcher"

    @property
    def checks_path(self) -> bool:
        """Whether adump looks at the path: not in an exception scene, where it is a choice."""
        return "dump_path" in self.dump.given and self.kind != "exception"


def reading(form: AclForm, context: Context) -> AclReading:
    """Return what the version of the context makes of a form."""
    dump = known_settings(form, context)
    kind, given = kind_of(dump), bool(dump.given)
    named = "dump_path" in dump.given and kind != "exception"
    other = remote(dump.dump_path) if named else None
    old, strict = is_old(context), is_strict(context)
    known = AclForm(form.values() | {"dump": dump})
    return AclReading(known, context, form, dump, kind, old, strict, given, other)


def exception_root(dump: Dump, context: Context) -> tuple[str, str]:
    """Folder of an exception dump and the variable or key that gives it; empty: neither does."""
    folder, name = exception_folder(context, old=is_old(context))
    if folder:
        return folder, name
    return dump.dump_path or "./", "dump_path" if dump.dump_path else ""
