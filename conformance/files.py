"""Files that are odd as files: text around and inside the JSON, names, environment variable."""

from __future__ import annotations

import json
from typing import Any

from tables import COMMON, E2E

# fmt: off
GOOD = json.dumps({"common_dump_settings": COMMON, "e2e_dump_settings": E2E})
_INDENTED = json.dumps(json.loads(GOOD), indent=2)
_REST = GOOD[1:]


def _raw(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _extra(value: str, key: str = '"x"') -> str:
    return f"{{{key}: {value}, {_REST}"


TEXTS: dict[str, str] = {
    "empty": "",
    "blank": " \n",
    "good": GOOD,
    "indented": _INDENTED,
    "crlf": _INDENTED.replace("\n", "\r\n"),
    "cr": _INDENTED.replace("\n", "\r"),
    "tabs": _INDENTED.replace("  ", "\t"),
    "form feed": "\f" + GOOD,
    "no-break space": "\u00a0" + GOOD,
    "bom": "\ufeff" + GOOD,
    "two boms": "\ufeff\ufeff" + GOOD,
    "bom after blank": " \ufeff" + GOOD,
    "half a bom": _raw(b"\xef\xbb") + GOOD,
    "utf-16": _raw(GOOD.encode("utf-16")),
    "utf-32": _raw(GOOD.encode("utf-32")),
    "trailing word": GOOD + "\nxyz",
    "trailing brace": GOOD + "}",
    "trailing comma": GOOD + ",",
    "second object": GOOD + GOOD.replace('"dump_mode": 0', '"dump_mode": 9'),
    "trailing bytes": GOOD + _raw(b"\xff\xfe"),
    "trailing nul": GOOD + "\0",
    "nul first": "\0" + GOOD,
    "nul inside": GOOD.replace(", ", ",\0", 1),
    "invalid utf-8 in a value": _extra(_raw(b'"\xff"')),
    "invalid utf-8 in a key": _extra("0", _raw(b'"\xff"')),
    "overlong utf-8": _extra(_raw(b'"\xc0\xaf"')),
    "surrogate in utf-8": _extra(_raw(b'"\xed\xa0\x80"')),
    "utf-8": _extra('"größe 网"'),
    "lone surrogate escape": _extra('"\\ud800"'),
    "swapped surrogate escapes": _extra('"\\udc00\\ud800"'),
    "surrogate pair": _extra('"\\ud83d\\ude00"'),
    "noncharacter": _extra('"\\uffff"'),
    "escaped nul": _extra('"\\u0000"'),
    "bad escape": _extra('"\\x41"'),
    "control character in a string": _extra('"a\tb"'),
    "del in a string": _extra('"\x7f"'),
    "escaped key": GOOD.replace('"dump_mode"', '"dump\\u005fmode"'),
    "nul in a key": GOOD.replace('"dump_mode"', '"dump_mode\\u0000"'),
    "line comment": GOOD.replace(", ", ", // all\n", 1),
    "block comment": GOOD.replace(", ", ", /* all */ ", 1),
    "hash comment": "# dump\n" + GOOD,
    "comma at the end of an object": GOOD[:-1] + ",}",
    "comma at the end of a list": GOOD.replace("[0]", "[0,]"),
    "comma missing": GOOD.replace(", ", " ", 1),
    "colon missing": GOOD.replace(": 0", " 0", 1),
    "brace missing": GOOD[:-1],
    "cut in half": GOOD[: len(GOOD) // 2],
    "first brace missing": GOOD[1:],
    "single quotes": GOOD.replace('"', "'"),
    "typographic quotes": GOOD.replace('"', "\u201c"),
    "no quotes": GOOD.replace('"dump_mode"', "dump_mode"),
    "python words": GOOD.replace("true", "True"),
    "yaml": "common_dump_settings:\n  dump_mode: 0\n",
    "quoted": json.dumps(GOOD),
    "list": f"[{GOOD}]",
    "empty list": "[]",
    "empty object": "{}",
    "null": "null",
    "number": "5",
    "string": '"x"',
    "true": "true",
    "nan": _extra("NaN"),
    "infinity": _extra("-Infinity"),
    "number too big": _extra("1e999"),
    "number too small": _extra("1e-999"),
    "integer of 30 digits": _extra("1" * 30),
    "integer of 310 digits": _extra("1" * 310),
    "integer of 5000 digits": _extra("1" * 5000),
    "fraction of 400 digits": _extra("1." + "1" * 400),
    "leading zero": _extra("01"),
    "plus": _extra("+1"),
    "hexadecimal": _extra("0x1"),
    "no fraction": _extra("1."),
    "no integer": _extra(".5"),
    "minus alone": _extra("-"),
    "minus zero": _extra("-0"),
    "word nul": _extra("nul"),
    "duplicate section": f'{{"common_dump_settings": {{"dump_mode": 9}}, {_REST}',
    "duplicate section, bad one last": GOOD[:-1] + ', "common_dump_settings": {"dump_mode": 9}}',
    "duplicate key": GOOD.replace('"dump_mode": 0', '"dump_mode": 9, "dump_mode": 0'),
    "duplicate key, bad one last": GOOD.replace('"dump_mode": 0', '"dump_mode": 0, "dump_mode": 9'),
    "duplicate key, other last": GOOD.replace('"iteration"', '"iteration": "4", "iteration"'),
    "nesting 500": _extra("[" * 500 + "]" * 500),
    "nesting 2000": _extra("[" * 2000 + "]" * 2000),
    "nesting of objects 1100": _extra('{"":' * 1100 + "0" + "}" * 1100),
    "nesting 2000, open": _extra("[" * 2000),
    "nesting 2000 in kernels": GOOD.replace('"kernels": []', f'"kernels": {"[" * 2000 + "]" * 2000}'),
    "long string": _extra(f'"{"x" * 2000}"'),
    "empty key": _extra("0", '""'),
    "unknown section": _extra('{"enable": 5}', '"async_dump_settings"'),
    "sections swapped": json.dumps({"e2e_dump_settings": E2E, "common_dump_settings": COMMON}),
    "sections nested": json.dumps({"dump": {"common_dump_settings": COMMON, "e2e_dump_settings": E2E}}),
    "no sections": json.dumps(COMMON | E2E),
    "upper case": GOOD.replace("common_dump_settings", "Common_Dump_Settings"),
}

NAMES = ("data_dump.json", "a.b.json", "json", ".json", "dump.JSON", "dump.Json", "dump.txt", "dumpjson")
NAMES += ("dump.ajson", "dump.json5", "dump.json.bak", "dump", "dump.json ", "my dump.json", "größe.json")
NAMES += ("a,b;c.json", "dump.txt.json", "x" * 250 + ".json", "$HOME.json", "~.json", "dump.", "a.b.")

PLACES: list[dict[str, Any]] = [
    {"id": "unset", "variable": None},
    {"id": "empty variable", "variable": ""},
    {"id": "blank variable", "variable": " "},
    {"id": "missing file", "variable": "/CASE/none.json"},
    {"id": "missing folder", "variable": "/CASE/none/data_dump.json"},
    {"id": "folder", "variable": "/CASE"},
    {"id": "folder of the right name", "text": "", "file": "data_dump.json/x", "variable": "/CASE/data_dump.json"},
    {"id": "relative", "variable": "data_dump.json"},
    {"id": "relative with dot", "variable": "./data_dump.json"},
    {"id": "through a missing folder", "variable": "/CASE/none/../data_dump.json"},
    {"id": "through a folder", "file": "sub/x.json", "variable": "/CASE/sub/../sub/x.json"},
    {"id": "slash at the end", "variable": "/CASE/data_dump.json/"},
    {"id": "blank at the end", "variable": "/CASE/data_dump.json "},
    {"id": "home", "variable": "~/data_dump.json"},
    {"id": "file URL", "variable": "file:///CASE/data_dump.json"},
    {"id": "device", "variable": "/dev/null"},
    {"id": "path too long", "variable": "/CASE/" + "y/" * 2200 + "data_dump.json"},
]
