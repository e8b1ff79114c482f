"""The JSON of a comparison: its schema, and the page that explains every key."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from generators.markdown import code, page, table
from workbench.comparison.explain.symptoms import SYMPTOMS
from workbench.comparison.explain.table import HYPOTHESES
from workbench.comparison.finding_kinds import KINDS
from workbench.comparison.result import Side, Status, Verdict
from workbench.comparison.trust import GROUNDS, ORDERS
from workbench.graph.graph import CERTAINTIES
from workbench.show.json_result import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = "comparison.schema.json"

TEXT: dict[str, Any] = {"type": "string"}
COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}
WHOLE: dict[str, Any] = {"type": "integer"}
FLAG: dict[str, Any] = {"type": "boolean"}
NUMBER: dict[str, Any] = {
    "anyOf": [{"type": ["number", "null"]}, {"enum": ["NaN", "Infinity", "-Infinity"]}]
}


class Key(NamedTuple):
    """A key of an object: what it holds, what it means, and whether it may be absent."""

    name: str
    holds: Any
    meaning: str
    optional: bool = False


def words(values: Any) -> dict[str, Any]:
    """Return the schema of one of several words."""
    return {"enum": list(values)}


def listing(keys: tuple[Key, ...]) -> dict[str, Any]:
    """Return the schema of a list of objects."""
    return {"type": "array", "items": keys}


PLACE = (
    Key("op_name", TEXT, "Full name of the operator (of the target if it has one)."),
    Key("op_type", TEXT, "Type of the operator."),
    Key("graph_id", WHOLE, "Number of the graph; 0 if the dump has none."),
    Key("iteration", WHOLE, "Iteration; -1 for constants that are dumped once."),
    Key("io", TEXT, "`input` or `output`; empty if the whole operator is meant."),
    Key("slot", WHOLE, "Number of the input or output."),
)
RANK = Key("rank", WHOLE, "Rank. Present if several ranks were compared.", optional=True)
OWN = "Local error: the error that the operator adds by itself, relative and without unit"
SPARED = "Absent if no row has one: where nothing differs it is not computed."
INHERITED = "Propagated error: the largest relative error among its inputs."
FLOOR = "Expected rounding error: what number formats and inputs explain."
SOURCE = (
    Key("file", TEXT, "File of the source line."),
    Key("line", WHOLE, "Line number."),
    Key("code", TEXT, "Text of the line."),
    Key("library", FLAG, "Whether the file belongs to an installed package."),
)
FRAME = (
    *SOURCE,
    Key(
        "certainty",
        words(CERTAINTIES),
        "`own`: the operator's line; `candidate`: one of several that it may be; `forward`: its forward operator's.",
    ),
)
SIDE = (
    Key("path", TEXT, "Folder of the dump."),
    Key("layout", TEXT, "[Layout](dump-formats.md) of the dump."),
    Key("tensors", COUNT, "Number of tensors: matched + unmatched + skipped."),
)
COVERAGE = (
    Key("matched", COUNT, "Compared pairs of tensors."),
    Key("unmatched_target", COUNT, "Tensors of the target without a match."),
    Key("unmatched_golden", COUNT, "Tensors of the golden without a match."),
    Key(
        "skipped",
        {"type": "object", "additionalProperties": COUNT},
        "Number of skipped tensors by `side:reason` ([reasons](coverage.md)).",
    ),
    Key("compared", COUNT, "Pairs with a usable figure."),
    Key(
        "explained",
        {"type": "object", "additionalProperties": COUNT},
        "Number of tensors that need not be compared, by `side:rule` ([rules](coverage.md#explained)).",
    ),
    Key(
        "gaps",
        {"type": "object", "additionalProperties": COUNT},
        "Number of tensors that should have been compared, by `side:reason` ([gaps](coverage.md#gaps)).",
    ),
    Key(
        "outputs",
        {"type": "array", "items": TEXT},
        "Operators that give a result of the network which was not compared.",
    ),
    Key(
        "dont_care",
        {"type": "object", "additionalProperties": COUNT},
        "Number of excluded elements of compared tensors, by reason ([reasons](coverage.md#excluded-elements)). "
        "Absent if there are none.",
        optional=True,
    ),
    Key(
        "shared",
        COUNT,
        "Matched inputs whose golden is half of another pair, too: the output of their producer, where the golden "
        "has outputs alone. Absent if there are none.",
        optional=True,
    ),
)
ANOMALY = (
    Key("side", words(get_args(Side)), "Which dump."),
    Key("kind", TEXT, "[Kind](coverage.md#anomalies) of the anomaly."),
    Key("op_name", TEXT, "Operator or file."),
    Key("detail", TEXT, "What was found, in words."),
)

TRUST = (
    Key(
        "graph",
        words(GROUNDS),
        "The weaker of both sides: `own`, `borrowed` from the other side, `inferred` from equal bytes, `none`.",
    ),
    Key(
        "order",
        words(ORDERS),
        "What says which operator comes first: `dataflow`, `time` of the files, or `unknown`.",
    ),
)

FAULT_KINDS = sorted(
    {name for name, one in HYPOTHESES.items() if one.made_from != "handed"}
    | {one.fault for one in KINDS.values() if one.fault}
    | {"aicore-exception"}
)
SYMPTOM = (
    Key("kind", words(SYMPTOMS), "[Kind](findings.md#symptoms) of the symptom."),
    Key("where", TEXT, "Where in the tensor."),
    Key("detail", TEXT, "What is seen there."),
)
CAUSE = (
    Key(
        "kind",
        words(FAULT_KINDS),
        "One of the [simulator's faults](simulator.md#faults) or another.",
    ),
    Key("probability", NUMBER, "Confidence, 0 to 1."),
    Key("evidence", {"type": "array", "items": TEXT}, "What speaks for it, one sentence each."),
)
FINDING = (
    Key("kind", words(KINDS), "[Kind](findings.md) of the finding."),
    *PLACE,
    Key("score", NUMBER, "Confidence that this is a cause, 0 to 1."),
    Key("own_error", NUMBER, f"{OWN}; `null` if unknown."),
    Key("inherited_error", NUMBER, INHERITED),
    Key("noise_floor", NUMBER, FLOOR),
    Key("evidence", {"type": "array", "items": TEXT}, "Observations, one sentence each."),
    Key("advice", TEXT, "The next step."),
    Key(
        "symptom",
        (SYMPTOM, None),
        "What is certain about the wrong tensor, whatever the cause; `null` if nothing is.",
        optional=True,
    ),
    Key(
        "causes",
        listing(CAUSE),
        "Kinds of faults that explain it, the likeliest first; empty if none may be said.",
        optional=True,
    ),
    Key(
        "trust",
        TRUST,
        "What the finding rests on. Absent in files of earlier releases.",
        optional=True,
    ),
    Key("source", (SOURCE, None), "Source line; `null` if unknown."),
    Key(
        "frames",
        listing(FRAME),
        "The user's source lines, innermost first; of installed packages only where no line is the user's.",
        optional=True,
    ),
    Key("fault", words(FAULT_KINDS), "Kind of the first of `causes`.", optional=True),
    Key("probability", NUMBER, "Confidence of `fault`, 0 to 1.", optional=True),
    RANK,
)
MATCH = (
    Key("rule", TEXT, "[Match rule](findings.md#match-rules)."),
    Key("score", NUMBER, "Confidence of the match, 0 to 1."),
)
OPERATOR = (
    *PLACE,
    Key("golden_op_name", TEXT, "Matched operator of the golden."),
    Key("match", MATCH, "How the match was made."),
    Key("status", words(get_args(Status)), "[Status](findings.md#statuses) of the pair."),
    Key("reason", TEXT, "Reason of the status; empty if there is nothing to add."),
    Key(
        "metrics",
        {"type": "object", "additionalProperties": NUMBER},
        "[Metrics](metrics.md) by name.",
    ),
    Key("source", (SOURCE, None), "Source line; `null` if unknown."),
    RANK,
    Key(
        "own_error",
        NUMBER,
        f"{OWN}; `null` if unknown. {SPARED}",
        optional=True,
    ),
    Key(
        "envelope",
        NUMBER,
        "Error over what rounding of the inputs moves ([measured noise](../concepts/noise.md)); `null` if unknown. "
        "Absent without an envelope.",
        optional=True,
    ),
    Key("envelope_slice", NUMBER, "The same of the worst slice along any axis.", optional=True),
    Key(
        "between_runs",
        NUMBER,
        "Largest relative difference between runs of the target that counts as noise "
        "([measured noise](../concepts/noise.md#repeated-runs)); `null` if there is none. Absent without `--repeat`.",
        optional=True,
    ),
    Key(
        "dont_care",
        COUNT,
        "Excluded elements, whose values are undefined; the metrics are those of the others. "
        "Absent if no row has any.",
        optional=True,
    ),
)
ITERATION = (
    Key("rank", WHOLE, "Rank."),
    Key("iteration", WHOLE, "Iteration."),
    Key(
        "part",
        words(("parameters", "forward", "backward", "optimizer")),
        "Phase of the step; `parameters` are those it reads first.",
    ),
    Key("tensors", COUNT, "Compared pairs of tensors."),
    Key("equal", COUNT, "Pairs that are equal."),
    Key("warned", COUNT, "Pairs with status `warn`."),
    Key("failed", COUNT, "Pairs with status `fail`."),
    Key("op_name", TEXT, "Operator with the worst pair."),
    Key("status", words(get_args(Status)), "Status of the worst pair."),
    Key("error", NUMBER, "Error of the worst pair."),
    Key("inherited_error", NUMBER, INHERITED),
    Key("noise_floor", NUMBER, FLOOR),
)
OVERRIDE = (
    Key(
        "kind",
        words(("pair", "group", "ignore", "tolerance", "missing", "dont-care")),
        "Kind of the entry; a `group` is a pair of several operators.",
    ),
    Key("what", TEXT, "The entry."),
    Key("reason", TEXT, "Its reason."),
    Key("operators", COUNT, "Number of operators that it fits."),
    Key("tensors", COUNT, "Number of tensors that it decided."),
)
REPEAT = (
    Key("path", TEXT, "Folder of the run."),
    Key("tensors", COUNT, "Tensors that it has in common with the target."),
    Key("differing", COUNT, "Tensors of these that are not equal."),
    Key(
        "uncounted",
        COUNT,
        "Tensors of these whose difference excuses nothing: what their operators read differs, or is not known.",
    ),
    Key(
        "used",
        {"type": "boolean"},
        "Whether it is another run of the same network on the same data.",
    ),
    Key("reason", TEXT, "Why it is not used, or what is odd about it; empty if nothing is."),
)
NOT_DETERMINISTIC = (
    Key("op_name", TEXT, "Operator of the target."),
    Key("op_type", TEXT, "Its type."),
    Key("rank", WHOLE, "Rank."),
    Key("graph_id", WHOLE, "Graph."),
    Key("iteration", WHOLE, "Iteration of the largest difference."),
    Key("slot", WHOLE, "Output of the largest difference."),
    Key(
        "error", NUMBER, "Largest relative difference between runs that its inputs do not explain."
    ),
)
COMPARISON = (
    Key("schema", {"const": SCHEMA}, "Name and version of this format."),
    Key("verdict", words(get_args(Verdict)), "[Verdict](findings.md#verdicts)."),
    Key("sentence", TEXT, "The result in one sentence."),
    Key("target", SIDE, "The dump under test."),
    Key("golden", SIDE, "The trusted dump."),
    Key("coverage", COVERAGE, "Every tensor is counted once."),
    Key("anomalies", listing(ANOMALY), "Mislabeled or unusable data."),
    Key("findings", listing(FINDING), "Causes, the most likely first."),
    Key("operators", listing(OPERATOR), "One entry for each compared pair of tensors."),
    Key(
        "iterations",
        listing(ITERATION),
        "One entry for each phase of each iteration. Present for training runs.",
        optional=True,
    ),
    Key("overrides", listing(OVERRIDE), "What a map file changed. Present with one.", optional=True),
    Key(
        "repeats",
        listing(REPEAT),
        "Other runs of the target ([measured noise](../concepts/noise.md#repeated-runs)). Present with `--repeat`.",
        optional=True,
    ),
    Key(
        "not_deterministic",
        listing(NOT_DETERMINISTIC),
        "Operators that differ between these runs. Present with `--repeat`.",
        optional=True,
    ),
)  # fmt: skip

INTRODUCTION = f"""\
`workbench compare --json FILE` (or `-` for stdout) and `comparison.write_json(path)` write one object.
[{FILE}]({FILE}) is its JSON Schema, for editors and validators; the tests validate results with it.

* Errors are relative and have no unit.
* JSON has no NaN and Inf; they are the strings `"NaN"`, `"Infinity"` and `"-Infinity"`.
* Names of keys are stable. On screen some have other names: see the [glossary](glossary.md)."""

SECTIONS = (
    ("Top level", COMPARISON),
    ("target, golden", SIDE),
    ("coverage", COVERAGE),
    ("anomalies", ANOMALY),
    ("findings", FINDING),
    ("findings: trust", TRUST),
    ("operators", OPERATOR),
    ("operators: match", MATCH),
    ("source", SOURCE),
    ("frames", FRAME),
    ("iterations", ITERATION),
    ("overrides", OVERRIDE),
    ("repeats", REPEAT),
    ("not_deterministic", NOT_DETERMINISTIC),
)


def schema_of(holds: Any) -> dict[str, Any]:
    """Return the JSON Schema of what a key holds: keys of an object, ``(keys, None)``, a list, or a schema."""
    if isinstance(holds, dict):
        items = holds.get("items")
        return holds | {"items": schema_of(items)} if items is not None else holds
    if holds[-1] is None:
        return {"anyOf": [schema_of(holds[0]), {"type": "null"}]}
    return {
        "type": "object",
        "properties": {key.name: _described(key) for key in holds},
        "required": [key.name for key in holds if not key.optional],
        "additionalProperties": False,
    }


def _described(key: Key) -> dict[str, Any]:
    text = "".join(_without_links(key.meaning))
    return {"description": text, **schema_of(key.holds)}


def _without_links(text: str) -> Iterator[str]:
    """Words of Markdown without the targets of its links."""
    for number, part in enumerate(text.split("](")):
        yield (part.partition(")")[2] if number else part).replace("[", "")


def schema() -> str:
    """Return the text of the schema file."""
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA,
        "title": "Result of workbench compare",
    }
    return json.dumps(head | schema_of(COMPARISON), indent=1, ensure_ascii=False) + "\n"


def comparison_json() -> str:
    """Return the page."""
    parts = []
    for title, keys in SECTIONS:
        rows = [(code(key.name), _type(key), key.meaning) for key in keys]
        parts += [f"## {title}", table(("Key", "Type", "Meaning"), rows)]
    return page("Comparison JSON", INTRODUCTION, *parts)


def _type(key: Key) -> str:
    holds = key.holds
    if not isinstance(holds, dict):
        return "object or null" if holds[-1] is None else "object"
    if holds is NUMBER:
        return "number or null"
    if "enum" in holds and len(holds["enum"]) <= 6:
        return ", ".join(map(code, holds["enum"]))
    return str(holds.get("type", "word" if "enum" in holds else "string"))
