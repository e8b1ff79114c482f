"""Names that a dump, a graph or a script may hold although nobody would choose them.

The first letters of each are its key, so that a test finds the name again however it is spelled on screen.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import numpy as np

import workbench as wb
from kit.build.small_dumps import CPU, START, Net, Shot, in_memory, on_disk
from workbench.comparison.map_file import Ignore, Match, Overrides, Tolerance
from workbench.core.files import encoded
from workbench.dump.formats.mindspore_name import sanitize
from workbench.graph.graph import SourceFrame
from workbench.graph_files.mindspore.write_text import write_ms_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from workbench.comparison.result import Result
    from workbench.graph.graph import Graph

BEL, ESC, CSI = "\x07", "\x1b", "\x9b"

NAMES: dict[str, str] = {
    "script": "script<script>window.pwned=1;alert(1)</script>",
    "image": "image<img src=x onerror=window.pwned=1>",
    "quotes": 'quotes"\'` onmouseover=window.pwned=1 x="',
    "end": "end</script><script>window.pwned=1</script></style></title></textarea></pre><marquee>",
    "comment": "comment<!-- --!> <![CDATA[",
    "entity": "entity&amp;&lt;marquee&gt;&#60;marquee&#62;",
    "url": "url](javascript:window.pwned=1) ![x](http://198.51.100.1/x.png)",
    "override": "override\u202egnp.exe\u202c",
    "isolate": "isolate\u2066\u2067x\u2069",
    "mark": "mark\u200f\u061c\u200b",
    "arabic": "arabic\u0627\u0628\u062c 12",
    "long": "long" + "x" * 10_000,
    "wide": "wide" + " y" * 5_000,
    "colour": f"colour{ESC}[31mred{ESC}[2J{ESC}[0m{CSI}32m",
    "title": f"title{ESC}]0;owned{BEL}{ESC}]8;;http://198.51.100.1\x1b\\",
    "return": "return\rerror: forged",
    "line": "line\npass: all agree\n\nerror: forged",
    "separator": "separator\u2028\u2029\x85\x0b\x0c",
    "nul": "nul\0after",
    "surrogate": "surrogate\udcff\ud800",
    "maths": r"maths $\frac{ $x_2$ $$y$$ \(z\)",
    "markdown": "markdown **b** # h\t|a|b|",
    "braces": "braces{0}{name!r}{{7*7}}{% raw %}${window.pwned=1}",
    "percent": "percent%s%n%(x)d",
    "member": "{constructor}",
    "proto": "__proto__",
    "formula": "=cmd|' /C calc'!A0",
    "plus": "+1+1",
    "minus": "-2+3",
    "at": "@SUM(1)",
    "apostrophe": "'=1+1",
}
"""Key → name."""

SHELL = "shell; $(touch pwned) `touch pwned` && 'x' > pwned"


def controls(text: str) -> list[str]:
    """What of a text a terminal or the text around it would obey; line ends and tabs are ours to write."""
    return sorted({c for c in text if _obeyed(c)})


def _obeyed(character: str) -> bool:
    return (
        unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        and character not in "\n\t"
    )


def graph() -> Graph:
    """A chain of operators, one for every name: in name and scope, attributes, file and line of the source."""
    net = Net()
    value: Any = net.feed(f"x{NAMES['script']}")
    for number, (key, name) in enumerate(NAMES.items()):
        attrs = {name: name, "k": (name, 1)}
        value = net.op("Neg", value, name=f"Default/{name}-Cell/{name}/Neg-op{number}", attrs=attrs)
        frame = SourceFrame(f"/home/{name}.py", number + 1, f"x = call({name!r}, '{name}')")
        net.ops[-1] = replace(net.ops[-1], frames=(frame,), op_type=KINDS.get(key, "Neg"))
    return replace(net.graph(), name=NAMES["script"] + NAMES["colour"])


KINDS = {key: NAMES[key] for key in ("script", "colour", "override", "long", "member", "proto")}
"""Key → type of the operator of that name."""

GUILTY = "end"
"""Key of the operator that is off."""


def shots(made: Graph, *, off: bool = False, fits: Callable[[str], bool] = bool) -> list[Shot]:
    """A run of the graph: every operator negates, one of them badly."""
    data = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
    found = []
    for number, (op, key) in enumerate(zip(made.ops, NAMES, strict=True)):
        read, data = data, -data
        if off and key == GUILTY:
            data = data * np.float32(1.5)
        name = sanitize(op.name)
        if fits(name) and fits(op.op_type):
            time = START + 10 * number
            found.append(Shot(op.op_type, name, "input", 0, read, time=time, net_name=NET))
            found.append(Shot(op.op_type, name, "output", 0, data, time=time, net_name=NET))
    return found


NET = "net<marquee onclick=1>\x1b[31m\u202e\udcff"
"""Folder of the network in a tree."""


def map_file() -> Overrides:
    """A map file in which names and reasons are of that kind."""
    last = [name for name in NAMES.values() if len(name) < 4000]
    matches = (Match((last[-1],), (last[-2],)), Match(("a" + last[0], "b"), (last[3],)))
    ignored = tuple(Ignore(f"nothing {name}", "target", name) for name in last)
    tolerated = tuple(Tolerance(0.5, name, name=f"nothing {name}") for name in last)
    return Overrides(matches, ignored, tolerated, path=f"/maps/{NAMES['script']}.json")


def comparison() -> wb.Comparison:
    """Both runs of the graph, compared in memory."""
    made = graph()
    info = {**CPU, "note": NAMES["script"] + NAMES["colour"]}
    sides = [in_memory(shots(made, off=off), made, info=info) for off in (True, False)]
    sides = [
        replace(side, path=f"/dumps/{''.join(NAMES.values())[:3000]}/{n}")
        for n, side in enumerate(sides)
    ]
    return wb.compare(*sides, map_file=map_file())


class Page(HTMLParser):
    """What a browser makes of HTML: elements, attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.wrong: list[str] = controls(text)
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ACTIVE:
            self.wrong.append(f"<{tag}>")
        for name, value in attrs:
            odd = name.startswith("on") or not re.fullmatch(r"[a-z][a-z:-]*\d?", name)
            link = name in ("href", "src", "xlink:href", "action") and not (value or "").startswith(
                INNER
            )
            style = name in ("style", "class", "id") and "pwned" in (value or "")
            if odd or link or style:
                self.wrong.append(f"<{tag} {name}={value!r}>")

    def handle_data(self, data: str) -> None:
        self.text += data

    def unknown_decl(self, data: str) -> None:
        self.wrong.append(f"<![{data}")

    def handle_comment(self, data: str) -> None:
        self.wrong.append(f"<!--{data}")


ACTIVE = ("script", "img", "iframe", "object", "embed", "link", "base", "form", "marquee")
"""Elements that no page of ours has, but names here; `Page` is not for what has its own script."""

INNER = ("#", "data:image/png", "data:text/plain")


def shown(name: str) -> str:
    """How a name must read on a page or a terminal, as far as it is short: by the rules of a Python literal."""
    return "".join(
        c.encode("unicode_escape").decode() if _obeyed(c) or c == "\n" else c for c in name
    )


def blaming(name: str) -> Result:
    """A result whose one finding blames an operator of that name."""
    from kit.build.sample_results import make_finding, make_result, make_row

    row = make_row(op_name=name, status="fail", error=0.5)
    return make_result(verdict="fail", rows=(row,), findings=(make_finding(op_name=name),))


def trees(root: Path) -> tuple[Path, Path]:
    """Both runs as MindSpore's CPU trees in folders of such names, without names that no file can have."""
    made = graph()

    def fits(name: str) -> bool:
        return not set(name) & set("/\0\ud800") and len(name.encode("utf-8", "replace")) < 200

    sides = []
    for number, off in enumerate((True, False)):
        side = root / f"tree{number} <marquee>\x1b[31m\u202e\udcff\nerror: forged"
        on_disk(side, shots(made, off=off, fits=fits), info={**CPU, "note": NAMES["colour"]})
        path = side / "rank_0/graphs/ms_output_trace_code_graph_0.ir"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded(write_ms_text(made)))
        sides.append(side)
    return sides[0], sides[1]
