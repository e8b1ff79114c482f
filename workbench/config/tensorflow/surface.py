"""TensorFlow on Ascend (npu_bridge) as a surface."""

from __future__ import annotations

import re
from typing import Any

from workbench.config.surface import Surface
from workbench.config.tensorflow.code import code, notes
from workbench.config.tensorflow.hints import RULES
from workbench.config.tensorflow.keys import JUDGED
from workbench.config.tensorflow.lint import TEXT_RULES, decode
from workbench.config.tensorflow.plan import from_plan, plan, template
from workbench.config.tensorflow.reading import reading
from workbench.config.tensorflow.settings import ATTRS, TensorFlowForm, misread
from workbench.config.tensorflow.write import encode

_SIGNS = re.compile(
    r"\b(NpuOptimizer|npu_bridge|npu_device|DumpConfig\s*\(|NPURunConfig)"
    r"|parameter_map\s*\[\s*[\"'](enable_dump|dump_)"
)

_CHOICE_CODES = {
    "dump_mode": "FATAL",
    "dump_debug_mode": "FATAL",
    "op_select_implmode": "FATAL",
    "dump_data": "Internal",
    "precision_mode": "InvalidArgument",
    "precision_mode_v2": "InvalidArgument",
}
"""What becomes of text that is no choice: an error status, or the process aborts."""


def recognises(text: Any) -> bool:
    """Whether a script sets options of npu_bridge."""
    return isinstance(text, str) and "torchair" not in text and bool(_SIGNS.search(text))


def value_code(key: str, value: Any) -> str:
    """Error of a setting: the status of npu_bridge's C++ part, or the exception of its Python."""
    if key == "dump":
        return "ValueError"
    if key == "dump_path" and value is None:
        return "Internal"
    if key in _CHOICE_CODES and (isinstance(value, str) or misread(value, JUDGED[key])):
        return _CHOICE_CODES[key]
    known = key in JUDGED or key.startswith("DUMP_G") or value is None
    return "TypeError" if known else ""


TENSORFLOW = Surface(
    name="tensorflow",
    title="TensorFlow script for Ascend (npu_bridge)",
    product="npu_bridge of CANN",
    version="8.5",
    source=ATTRS,
    language="python",
    model=TensorFlowForm,
    rules=(*TEXT_RULES, *RULES),
    reading=reading,
    template=template,
    plan=plan,
    from_plan=from_plan,
    notes=notes,
    code=code,
    recognises=recognises,
    decode=decode,
    encode=encode,
    value_code=value_code,
    path_key="dump.dump_path",
)
