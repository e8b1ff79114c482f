"""``workbench convert``: binary dumps as files that NumPy reads."""

from __future__ import annotations

from typing import Annotated

import typer

from workbench.cli.terminal import Exit, print_lines, progress
from workbench.core.words import Message


def convert(
    dump: Annotated[str, typer.Argument(help="Dump file or folder.")],
    out: Annotated[str, typer.Option(metavar="DIR", help="Output folder, new or empty.")],
    format_: Annotated[
        str, typer.Option("--format", metavar="F", help="Host format, e.g. NCHW.")
    ] = "",
    type_: Annotated[
        str, typer.Option("--type", metavar="npy|bin|msnpy", help="Output file type.")
    ] = "npy",
) -> int:
    """Convert binary dumps to npy, in a host format if asked; overflow records to JSON."""
    from workbench.dump.convert import convert as run

    result = run(dump, out, format=format_, type=type_, progress=progress("files"))
    for line in result.remark_lines():
        print_lines(line, err=True)
    counts = {"files": result.files, "written": len(result.written)}
    print_lines(Message("cli/converted", **counts, out=result.out, remarks=len(result.remarks)))
    return Exit.TROUBLE if result.unread else Exit.DONE
