"""Graphs of the graph engine, written down in a few words."""

from __future__ import annotations

import json

from workbench.ir.ge_text import parse_ge_text


def attr(key, value):
    kind, text = ("i", value) if isinstance(value, int) else ("s", json.dumps(value))
    if isinstance(value, bool):
        kind, text = "b", str(value).lower()
    if isinstance(value, list):
        items = "".join(f"s: {json.dumps(item)} " for item in value)
        return f'attr {{ key: "{key}" value {{ list {{ {items} val_type: VT_LIST_STRING }} }} }}'
    return f'attr {{ key: "{key}" value {{ {kind}: {text} }} }}'


def ge(*ops):
    return parse_ge_text('graph { name: "net" ' + " ".join(ops) + " }")
