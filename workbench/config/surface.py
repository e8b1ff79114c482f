"""A surface: one vendor's way to ask for a dump.

A surface is a row of functions and tables; everything that differs between vendors is in the row
(`SURFACES` names them), everything that is the same is in `workbench.config.config`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from workbench._values import NamedTuple
from workbench.config.context import Context
from workbench.config.form.json_text import Decoded, decode_json
from workbench.config.form.rules import Reading, Rule
from workbench.config.form.settings import Section
from workbench.core.errors import ConfigError
from workbench.core.problems import Problem
from workbench.core.words import Message

if TYPE_CHECKING:
    from workbench.core.plan import DumpPlan

Notes = Callable[[Any], Iterable[Message]]


class Lowered(NamedTuple):
    """A form made from a plan, and what of the plan it cannot say."""

    data: dict[str, Any]
    unsupported: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Surface:
    """One vendor's way to ask for a dump.

    Attributes
    ----------
    name, title : str
        Name of the command line (``mindspore-o2``), and a title for people.
    product, version : str
        Whose software judges, and the version that the rules were read in.
    source : str
        The code or document that the types and keys come from.
    language : {"json", "python"}
    model : type of Section
        The typed form; every setting is declared there.
    rules : tuple of Rule
    reading : function of (settings, context)
        What a release makes of the settings: what rules look at.
    template : function
        A form that passes its check and dumps something.
    plan : function of the reading
        Lowers to a DumpPlan; only called where no rule is broken.
    from_plan : function of plan
        The way back.
    notes : function of the reading
        What a plan does not show and the user should know.
    code : function of (reading, path of the form)
        Lines of shell and Python that put the form to use, in the order they must run.
    recognises : function
        Whether decoded data (JSON) or text (Python) is this surface's form; where several share
        one form only the first claims it.
    decode, encode : function
        Text of a file to data and what is wrong with the text, and data back to text.
    value_code : function of (key, value)
        The vendor's error code of a value that does not fit its declaration.
    path_key : str
        The setting that names the folder.
    strict_end : bool
        Whether text behind the JSON value is a syntax error.
    syntax_code : str
        The vendor's error code of a syntax error.
    suffix : str
        What the name of the file must end in; empty: anything.
    order : function of (problem, data)
        Key by which problems are sorted into the order the vendor meets them; without it they stay
        as found: text, declarations, rules.
    """

    name: str
    title: str
    product: str
    version: str
    source: str
    language: Literal["json", "python"]
    model: type[Section]
    rules: tuple[Rule, ...]
    template: Callable[[], dict[str, Any]]
    plan: Callable[[Any], DumpPlan]
    from_plan: Callable[[DumpPlan], Lowered]
    notes: Notes
    code: Callable[[Any, str], str]
    recognises: Callable[[Any], bool]
    decode: Callable[[str, str], Decoded] = decode_json
    encode: Callable[[Mapping[str, Any]], str] = lambda data: (
        json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    )
    value_code: Callable[[str, Any], str] = lambda _key, _value: ""
    path_key: str = ""
    strict_end: bool = False
    syntax_code: str = ""
    suffix: str = ""
    reading: Callable[[Any, Context], Reading] = Reading
    order: Callable[[Problem, Mapping[str, Any]], Any] = lambda _problem, _data: 0


SURFACES = {
    "mindspore-o0o1": ("workbench.config.mindspore.surfaces", "O0O1"),
    "mindspore-o2": ("workbench.config.mindspore.surfaces", "O2"),
    "mindspore-cpu": ("workbench.config.mindspore.surfaces", "CPU"),
    "mindspore-gpu": ("workbench.config.mindspore.surfaces", "GPU"),
    "mindspore-ge": ("workbench.config.mindspore.surfaces", "GE"),
    "tensorflow": ("workbench.config.tensorflow.surface", "TENSORFLOW"),
    "torchair": ("workbench.config.torchair.surface", "TORCHAIR"),
    "acl": ("workbench.config.acl.surface", "ACL"),
    "msprobe": ("workbench.config.msprobe.surface", "PYTORCH"),
    "msprobe-mindspore": ("workbench.config.msprobe.surface", "MINDSPORE"),
}
"""Where each surface is written; the order is that of recognition."""


def get(name: str) -> Surface:
    """Return a surface; raises ConfigError for an unknown name."""
    if name not in SURFACES:
        said = Message("core/choice", subject="surface", got=name, known=list(SURFACES))
        raise ConfigError([Problem("surface", "error", "", said)])
    module, attribute = SURFACES[name]
    surface: Surface = getattr(import_module(module), attribute)
    return surface
