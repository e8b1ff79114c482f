"""What each exit status means. tests/test_docs.py runs the example of every row."""

from __future__ import annotations

from typing import NamedTuple

from generators.cli import commands
from generators.markdown import code, page, table


class Case(NamedTuple):
    """A command, its status, what the status means, and a command line that ends with it (empty: none that ends)."""

    command: str
    status: int
    meaning: str
    example: str


CPU = "sample_dumps/real_pair/dump_a"
NPU = "sample_dumps/real_pair/dump_b"
SHORT = "short"
"""A copy of CPU without the file of its last output."""
FORM = "sample_dumps/data_dump.json"

COMPARE = (
    Case("compare", 0, "The verdict is `pass` or `warn`.", f"compare {CPU} {CPU}"),
    Case("compare", 1, "The verdict is `fail`: at least one defect.", f"compare {NPU} {CPU}"),
    Case(
        "compare",
        2,
        "The comparison was interrupted, or an error.",
        f"compare {NPU} nowhere",
    ),
    Case(
        "compare",
        3,
        "The verdict is `incomplete` or `inconclusive`: not decided.",
        f"compare {CPU} {SHORT}",
    ),
)
CHECK = (
    Case("config check", 0, "Accepted. Warnings and hints are possible.", f"config check {FORM}"),
    Case(
        "config check",
        1,
        "Refused: the vendor's software would report an error.",
        "config check refused.json",
    ),
    Case(
        "config check", 2, "Not readable as a configuration.", "config check README.md"
    ),
)  # fmt: skip
SIMULATE = (
    Case(
        "simulate",
        0,
        "At least one tensor was dumped, or a run without overflow was asked for overflow.",
        f"simulate --graph lenet --config {FORM} --out build/simulated",
    ),
    Case(
        "simulate",
        1,
        "No tensor was dumped: the configuration selects nothing that ran.",
        "simulate --graph lenet --config unselected.json --out build/unselected",
    ),
    Case("simulate", 2, "An error.", f"simulate --graph no --config {FORM} --out build/nothing"),
)
DEMO = (
    Case("demo", 0, "The injected fault was found.", "demo --out build/demo"),
    Case("demo", 2, "The injected fault was not found, or an error.", f"demo --out {CPU}"),
)
GOLDEN = (
    Case(
        "golden",
        0,
        "Every intermediate tensor of the model was written.",
        "golden net.onnx --shape x=2,4 --out build/golden",
    ),
    Case(
        "golden",
        2,
        "An error, or some operators could not be computed; the tensors of the others are there.",
        "golden net.onnx --out build/none",
    ),
)
EXAMPLES = {
    "inspect": (f"inspect {CPU}", "inspect nowhere"),
    "convert": ("convert containers --out build/converted", "convert nowhere --out build/none"),
    "envelope": (
        "envelope mlp --out build/envelope.json",
        "envelope nowhere --out build/none.json",
    ),
    "order write": ("order write --n 8 --out build/probes", "order write --n 1 --out build/none"),
    "order read": ("", "order read nowhere"),
    "lab": ("", "lab README.md"),
    "config new": ("config new acl", "config new nowhere"),
    "config explain": ("config explain acl", "config explain nowhere"),
    "config preview": (
        f"config preview {FORM} --graph lenet",
        f"config preview {FORM} --graph nowhere",
    ),
    "config convert": (f"config convert {FORM} --to acl", f"config convert {FORM} --to nowhere"),
    "config code": (f"config code {FORM}", "config code nowhere"),
    "config schema": ("config schema acl", "config schema nowhere"),
}
"""Commands that give 0 or 2: a command line for each."""

CASES = (
    *COMPARE,
    *CHECK,
    *DEMO,
    *SIMULATE,
    *GOLDEN,
    *(
        Case(name, status, meaning, example)
        for name, pair in EXAMPLES.items()
        for status, meaning, example in zip((0, 2), ("Done.", "An error."), pair, strict=True)
    ),
)
"""Every status of every command."""

INTRODUCTION = """\
`workbench compare` follows `diff`: 0 means the runs agree, 1 means they diverge, 2 means trouble.
It adds 3: not decided.
With status 2, one line on stderr states the reason."""

SCRIPT = """\
A script that stops on errors must expect status 1:

```bash
workbench compare sample_dumps/real_pair/dump_b sample_dumps/real_pair/dump_a --json build/result.json || test $? -eq 1
```"""


def exit_status() -> str:
    """Return the page; raises LookupError for a command without statuses."""
    known = {case.command for case in CASES}
    named = {name.removeprefix("workbench ") for name, _ in commands()}
    if known != named:
        raise LookupError(f"exit statuses and commands differ: {sorted(known ^ named)}")
    first = [case for case in CASES if case.command not in EXAMPLES]
    rows = [(code(f"workbench {case.command}"), case.status, case.meaning) for case in first]
    rows += [("all other commands", 0, "Done."), ("all other commands", 2, "An error.")]
    return page("Exit status", INTRODUCTION, table(("Command", "Status", "Meaning"), rows), SCRIPT)
