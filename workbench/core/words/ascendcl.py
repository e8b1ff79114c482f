"""What `workbench.ascendcl` says: name → sentence."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # AscendCL
    "repeated": "{call} was called twice",
    "other-config": "{got!r} differs from the configuration of the first aclInit",
    "order": "{call} needs {before} first",
    "after-dump": "{call} is not allowed after an aclInit that configured a dump",
    "no-path": "aclmdlSetDump needs the path of a configuration",
    "config-missing": "{got!r} does not lead to a file: {why}",
    "config-kind": "{got!r} is not a regular file",
    "config-size": "{got!r} has {size:count byte}, more than the limit of {limit:count}",
    "config-unreadable": "cannot read {got!r}: {why}",
    "config-trailing": "text after the end of the configuration",
    "model-id": "no model {got!r} is loaded (loaded: {known:list})",
    "device-id": "device_id {got!r} does not exist (0 to {last})",
    "model-missing": "{got!r} is not a model: name a file, 'file.py:Name' or one of {known:list}",
    "control-flow": "graph {name!r} has subgraphs; control flow cannot be executed",
    "inputs": "the model has {expected:count input} ({names:list}), got {got}",
    "inputs-misfit": "the inputs do not fit the model: {why}",
    "operator": "unknown operator type {got!r}",
    "attributes": "{op_type} has no attribute {got:list} (it has {known:list})",
    "attribute-missing": "{op_type} needs the attribute {name!r}, got only {got:list}",
    "operator-inputs": "{op_type} has {expected:count input}, got {got}",
    "exception": "an exception at {op} on the device",
    # simulate
    "detail-device": "aic_err_detail_dump needs one of the devices {known:list}, got {got!r}",
}
