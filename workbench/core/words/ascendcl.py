"""What `workbench.ascendcl` says: name → sentence."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # AscendCL
    "acl-repeated": "{call} was called twice",
    "acl-other-config": "{got!r} differs from the configuration of the first aclInit",
    "acl-order": "{call} needs {before} first",
    "acl-after-dump": "{call} is not allowed after an aclInit that configured a dump",
    "acl-no-path": "aclmdlSetDump needs the path of a configuration",
    "acl-config-missing": "{got!r} does not lead to a file: {why}",
    "acl-config-kind": "{got!r} is not a regular file",
    "acl-config-size": "{got!r} has {size:count byte}, more than the limit of {limit:count}",
    "acl-config-unreadable": "cannot read {got!r}: {why}",
    "acl-config-trailing": "text after the end of the configuration",
    "acl-model-id": "no model {got!r} is loaded (loaded: {known:list})",
    "acl-device-id": "device_id {got!r} does not exist (0 to {last})",
    "acl-model-missing": "{got!r} is not a model: name a file, 'file.py:Name' or one of {known:list}",
    "acl-control-flow": "graph {name!r} has subgraphs; control flow cannot be executed",
    "acl-inputs": "the model has {expected:count input} ({names:list}), got {got}",
    "acl-inputs-misfit": "the inputs do not fit the model: {why}",
    "acl-operator": "unknown operator type {got!r}",
    "acl-attributes": "{op_type} has no attribute {got:list} (it has {known:list})",
    "acl-attribute-missing": "{op_type} needs the attribute {name!r}, got only {got:list}",
    "acl-operator-inputs": "{op_type} has {expected:count input}, got {got}",
    "acl-exception": "an exception at {op} on the device",
    # simulate
    "detail-device": "aic_err_detail_dump needs one of the devices {known:list}, got {got!r}",
}
