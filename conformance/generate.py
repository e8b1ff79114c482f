"""The configurations of the conformance suite, the same ones at every call.

A case is an ``id``, the ``text`` of the file (``None``: no such file; bytes that are no UTF-8 as
surrogate escapes), the ``file`` it is in (default ``data_dump.json``), the value of
``MINDSPORE_DUMP_CONFIG`` in ``variable`` (default: that file in ``/CASE``, the folder of the case)
and further environment variables in ``env``. Whether it is right is not said here: MindSpore says it.
"""

from __future__ import annotations

import copy
import json
import random
import re
import sys
from typing import Any

import files
import tables
from tables import ABSENT

Case = dict[str, Any]
Change = dict[str, Any]

VALID, PAIRS = 100, 140
SEED = 20260927


def cases() -> list[Case]:
    """Every case; ids are unique."""
    found = [*_files(), *_settings(), *_valid(), *_pairs()]
    unique = {case["id"]: case for case in found}
    assert len(unique) == len(found), "ids must be unique"
    return found


def text(change: Change) -> str:
    """Text of the usual file after a change of keys; ``e2e.`` leads those of the second section."""
    form = {"common_dump_settings": dict(tables.COMMON), "e2e_dump_settings": dict(tables.E2E)}
    form = copy.deepcopy(form)
    for key, value in change.items():
        section, name = form["common_dump_settings"], key
        if key.startswith("e2e."):
            section, name = form["e2e_dump_settings"], key[4:]
        elif key.endswith(("_settings", "_setting")):
            section = form
        section[name] = value
    form = {name: _present(section) for name, section in _present(form).items()}
    return re.sub(r'"<<(.*?)>>"', r"\1", json.dumps(form))


def _present(section: Any) -> Any:
    if not isinstance(section, dict):
        return section
    return {key: value for key, value in section.items() if value != ABSENT}


def _label(change: Change) -> str:
    parts = []
    for key, value in change.items():
        shown = re.sub(r'"<<(.*?)>>"', r"\1", json.dumps(value, ensure_ascii=False))
        parts.append(f"{key}={shown if len(shown) < 70 else f'{shown[:50]}… ({len(shown)})'}")
    return " ".join(parts)


def _case(kind: str, change: Change, env: dict[str, str] | None = None) -> Case:
    label = f"{kind}: {_label(change)}" + "".join(f" ${k}={v}" for k, v in (env or {}).items())
    return {"id": label, "text": text(change)} | ({"env": env} if env else {})


def _files() -> list[Case]:
    found: list[Case] = [{"id": f"text: {name}", "text": t} for name, t in files.TEXTS.items()]
    for name in files.NAMES:
        label = name if len(name) < 70 else f"{name[:10]}… ({len(name)})"
        found.append({"id": f"name: {label}", "text": files.GOOD, "file": name})
    found += [
        {"text": files.GOOD, **place, "id": f"place: {place['id']}"} for place in files.PLACES
    ]
    return found


def one_way() -> list[Change]:
    """Changes of one key, apart from those of ``path``, ``iteration`` and ``kernels`` with their own tables."""
    found = [{key: value} for key, values in tables.COMMON_VALUES.items() for value in values]
    found += [{f"e2e.{key}": v} for key, values in tables.E2E_VALUES.items() for v in values]
    return found + tables.SECTIONS


def _settings() -> list[Case]:
    found = [_case("one", change) for change in one_way()]
    found += [_case("path", {"path": value}, env) for value, env in tables.PATHS]
    found += [_case("iteration", {"iteration": value}) for value in tables.ITERATIONS]
    found += [_case("kernels", {"dump_mode": 1, "kernels": k}) for k in tables.KERNELS]
    found += [_case("env", {}, env) for env in tables.ENVIRONMENTS]
    return found + [_case("several", change) for change in tables.COMBINATIONS]


def _valid() -> list[Case]:
    rng = random.Random(SEED)
    found = {}
    while len(found) < VALID:
        change = {key: rng.choice(values) for key, values in tables.VALID_COMMON.items()}
        change |= {f"e2e.{key}": rng.choice(values) for key, values in tables.VALID_E2E.items()}
        if rng.random() < 0.06:
            change["e2e_dump_settings"] = ABSENT
            change = {key: value for key, value in change.items() if not key.startswith("e2e.")}
        found.setdefault(text(change), f"valid: {len(found)}")
    return [{"id": label, "text": t} for t, label in found.items()]


def _pairs() -> list[Case]:
    """Two keys at once, drawn from the changes of one; never the same key twice."""
    rng = random.Random(SEED + 1)
    pool = [change for change in one_way() if not _slow(change)]
    pool += [{"path": value} for value, env in tables.PATHS if not env]
    pool += [{"iteration": value} for value in tables.ITERATIONS]
    pool += [{"kernels": value} for value in tables.KERNELS]
    found: dict[str, Case] = {}
    while len(found) < PAIRS:
        first, second = rng.sample(pool, 2)
        keys = [next(iter(change)) for change in (first, second)]
        if keys[0] != keys[1] and not any(key.endswith("_settings") for key in keys):
            case = _case("pair", first | second)
            found.setdefault(case["id"], case)
    return list(found.values())


def _slow(change: Change) -> bool:
    return "e2e_dump_settings" in change


if __name__ == "__main__":
    json.dump(cases(), sys.stdout, indent=1)
