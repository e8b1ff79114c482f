"""How fast GE graph text is read, against one plain pass over the same text.

The yardstick is ``text.split("\\n")``. Reading and yardstick take turns, a ratio is taken inside a
round, and the median counts. ``python benchmarks/ge_text.py --help`` shows the sizes; the usual file has
10,000 operators of about 9 KB: thirty attributes, three tensor descriptors, long lists, escapes.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from workbench.graph_files.ge.text import parse_ge_text

MB = 1_000_000
GOAL = 20
PLANES = ((112, 112), (56, 56), (28, 28), (14, 14), (7, 7))
VALUES = ("b: true", "i: 12345", 's: "AIcoreEngine"', "list { i: 0 i: 1 val_type: VT_LIST_INT }")
ESCAPED = r"\n\010GatherV2\022\021\n\006params\"\007Tparams\022\023" * 3


def spread(text: str, indent: int) -> str:
    """Lay ``a { b: 1 c: 2 }`` out as GE does; values may hold no blanks."""
    lines, words = [], text.split()
    at = 0
    while at < len(words):
        if words[at] == "}":
            indent -= 2
            lines.append(" " * indent + "}")
            at += 1
        else:
            lines.append(" " * indent + words[at] + " " + words[at + 1])
            indent += 2 * (words[at + 1] == "{")
            at += 2
    return "\n".join(lines) + "\n"


def attribute(key: str, value: str) -> str:
    return f'attr {{ key: "{key}" value {{ {value} }} }} '


def integers(numbers) -> str:
    return "list { " + "".join(f"i: {n} " for n in numbers) + "val_type: VT_LIST_INT }"


def tensor(tag: str, chance: random.Random, origin: str) -> str:
    """A descriptor with the attributes that a real one has."""
    shape = [chance.choice((1, 8)), chance.choice((4, 8, 16, 32)), *chance.choice(PLANES), 16]
    text = f"{tag} {{ dtype: DT_FLOAT16 shape {{ "
    text += "".join(f"dim: {n} " for n in shape) + '} layout: "NC1HWC0" '
    if origin:
        text += attribute("_datadump_origin_format", 's: "NCHW"')
        text += attribute("_datadump_origin_name", f's: "{origin}"')
        text += attribute("_datadump_origin_output_index", "i: 0")
    text += attribute("format_for_int", "i: 3") + attribute("origin_data_type", 's: "DT_FLOAT"')
    text += attribute("origin_format", 's: "NCHW"') + attribute("origin_format_for_int", "i: 0")
    text += attribute("origin_shape", integers(shape[:4]))
    ranges = "".join(f"list_list_i {{ list_i: {n} list_i: {n} }} " for n in shape)
    text += attribute("shape_range", f"list_list_int {{ {ranges}}}")
    return text + f'has_out_attr: true size: {chance.randint(100, 10**7)} device_type: "NPU" }} '


def operator(number: int, chance: random.Random) -> str:
    name = f"network/layer_{number // 10}/conv{number}/Conv2D"
    text = f'op {{ name: "{name}" type: "Conv2D" '
    for back in (1, 2):
        before = max(0, number - back)
        text += f'input: "network/layer_{before // 10}/conv{before}/Conv2D:0" '
    text += attribute(
        "_datadump_original_op_names", f's: "{name}"' if number % 9 else "list { s: bn }"
    ).replace("s: bn", f's: "bn{number}" s: "{name}" val_type: VT_LIST_STRING')
    text += attribute("_fe_imply_type", "i: 6")
    text += attribute("_kernelname", f's: "te_conv2d_{chance.getrandbits(64):x}__kernel0"')
    text += attribute("_no_task", "b: true") if number % 10 == 0 else ""
    text += attribute("alpha", "f: 0.01") + attribute("op_def", f's: "{ESCAPED}"')
    text += "".join(attribute(f"setting_{k:02d}", chance.choice(VALUES)) for k in range(26))
    if number % 20 == 0:
        text += attribute("ub_atomic_params", integers(chance.randint(-1, 999) for _ in range(300)))
    text += f"has_out_attr: true id: {number} src_index: 0 dst_index: 0 output_i: {number * 512} "
    text += tensor("input_desc", chance, "") * 2 + tensor("output_desc", chance, name)
    return spread(text + "}", 2)


def model(operators: int) -> str:
    chance = random.Random(1)
    body = "".join(operator(number, chance) for number in range(operators))
    return f'graph {{\n  name: "ge_default_1"\n{body}}}\n'


def seconds(action) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def use(graph) -> int:
    """What an alignment asks of every operator."""
    return sum(
        len(op.attrs["_datadump_original_op_names"])
        + bool(op.attrs.get("_no_task"))
        + len(op.attrs["output_desc"][0]["attr"]["_datadump_origin_name"])
        for op in graph.ops
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--operators", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    text = model(options.operators)
    small = " ".join(text[: 8 * MB].rpartition("\n  op {")[0].split()) + " }"
    size, small_size = len(text) / MB, len(small) / MB
    print(f"{options.operators} operators, {size:.1f} MB; compact text {small_size:.1f} MB")
    rows: dict[str, list[tuple[float, float]]] = {"read": [], "read and use": [], "compact": []}
    for _ in range(options.rounds):
        floor = seconds(lambda: text.split("\n"))
        one_line = seconds(lambda: small.split(" "))
        graph = parse_ge_text(text)
        rows["read"].append((seconds(lambda: parse_ge_text(text)), floor))
        used = seconds(lambda: use(parse_ge_text(text)))
        rows["read and use"].append((used, floor))
        rows["compact"].append((seconds(lambda: parse_ge_text(small)), one_line))
    assert len(graph.ops) == options.operators
    assert graph.unknown_lines == 0
    for name, pairs in rows.items():
        amount = small_size if name == "compact" else size
        speed = amount / statistics.median(took for took, _ in pairs)
        ratio = statistics.median(took / base for took, base in pairs)
        goal = f"(goal {GOAL})" if name == "read" else ""
        print(f"{name:14} {speed:7.1f} MB/s {goal:10} {ratio:6.1f} times the plain pass")


if __name__ == "__main__":
    main()
