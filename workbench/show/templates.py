"""The templates of the pages: every value that comes into one is readable and escaped."""

from __future__ import annotations

import math
import re
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.core.text import brief, escape_whole, readable, shorten, visible
from workbench.core.words.translate import ENGLISH
from workbench.show import view, words
from workbench.show.assets import FOLDER, style_sheets
from workbench.show.columns import shown_status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import BytecodeCache, Environment
    from jinja2.bccache import Bucket

OPERATOR_STYLES = ("parts", "operator")
"""Style sheets of what stands beside an operator."""


def render(template: str, *, styles: Sequence[str] = (), **values: Any) -> str:
    """Return a page or fragment with its values, which carries these style sheets."""
    from markupsafe import Markup

    css = Markup(style_sheets(*styles))
    return _environment().get_template(template).render(css=css, **values)


@cache
def _environment() -> Environment:
    """Return the templates of this package; every value is readable and escaped, and no name may be missing."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=FileSystemLoader(FOLDER),
        bytecode_cache=_byte_code(),
        autoescape=True,
        finalize=_readable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        visible=visible,
        brief=brief,
        whole=lambda text: Markup(escape_whole(text)),
        exact=words.exact,
        shorten=shorten,
        shape=words.shape,
        shown_status=shown_status,
        numbered=lambda lines: [(one.number, one.text, one.here) for one in lines],
        ir_lines=_ir_lines,
        tensor_files=_tensor_files,
        number=words.number,
        leaf=words.leaf,
        meaning=view.finding_meaning,
        finding_link=view.finding_link,
        unbroken=_unbroken,
        named=_named,
        once=cache,  # of a macro: what it makes of the same values is made once
    )
    made.tests["odd_figure"] = lambda value: value is not None and not math.isfinite(value)
    made.globals.update(
        say=ENGLISH,
        verdicts=words.VERDICTS,
        status_codes=words.STATUS_WORDS,
        side_codes=words.SIDES,
        origin_codes=words.ORIGINS,
        certainty_codes=words.CERTAINTIES,
        value_codes=words.SIDE_VALUES,
        times=words.times,
        side_counts=view.side_counts,
        worst_caption=view.worst_caption,
    )
    return made


def _byte_code() -> BytecodeCache:
    """Keep compiled templates beside Python's own byte code, where that may be written.

    Compiling them takes longer than a report of 1,000 rows; it is done anew when they or this module change.
    """
    from jinja2 import FileSystemBytecodeCache

    class Beside(FileSystemBytecodeCache):
        def get_source_checksum(self, source: str) -> str:
            return super().get_source_checksum(source + Path(__file__).read_text(encoding="utf-8"))

        def dump_bytecode(self, bucket: Bucket) -> None:
            if not sys.dont_write_bytecode:
                with suppress(OSError):
                    super().dump_bytecode(bucket)

    return Beside(str(FOLDER / "__pycache__"), f"%s.{sys.implementation.cache_tag}.jinja")


def _readable(value: object) -> object:
    """Make every text readable that is not HTML of ours."""
    return value if hasattr(value, "__html__") else readable(str(value))


_HYPHENATED = re.compile(r"(?<![\w.&#-])\w[\w.]*(?:-[\w.]+)+")
_LONGEST = 60


def _unbroken(text: str) -> Any:
    """Keep names with hyphens on one line, as ``Conv2D-op0`` of a longer name; very long ones may break."""
    from markupsafe import Markup, escape

    def kept(found: re.Match[str]) -> str:
        name = found[0]
        return name if len(name) > _LONGEST else f'<bdi class="wb-id">{name}</bdi>'

    return Markup(_HYPHENATED.sub(kept, str(escape(readable(str(text))))))


def _named(name: object) -> Any:
    """Write an operator's name, which is cut before its last two parts where there is no room."""
    from markupsafe import Markup, escape

    shown = brief(name)
    last = words.leaf(shown)
    scope = escape(readable(shown[: len(shown) - len(last)]))
    return Markup(
        f'<span class="wb-name"><bdi class="wb-scope">{scope}</bdi>'
        f'<bdi class="wb-leaf">{_unbroken(last)}</bdi></span>'
    )


def _ir_lines(text: Any) -> list[tuple[int, str, bool]]:
    """Lines of a graph file with their numbers; those that were written anew have none."""
    start = text.first
    return [(start + n if start else 0, line, n in text.here) for n, line in enumerate(text.lines)]


def _tensor_files(view: Any) -> list[tuple[str, str, str]]:
    """Tensor, side and path of every file of an operator."""
    rows = [view.compared.rows[index] for index in view.tensors]
    return [
        (f"{row.io}:{row.slot}", side, path)
        for row in rows
        for side, path in (("target", row.target_path), ("golden", row.golden_path))
        if path
    ]
