"""What `workbench.core` says, and what every area says alike: name → sentence."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # storages
    "fsspec": "URLs and archives need fsspec: pip install 'npu-accuracy-workbench[scale]'",
    "url": "cannot read {got!r}: {why}",
    "url-password": "a URL must not contain a password; give credentials to fsspec in its own configuration",
    "archive": "{got!r} is not an archive that can be read in place (choose from {known:list})",
    # alike everywhere: ``subject`` is the option, setting or file that is spoken of
    "choice": "unknown {subject} {got!r} (choose from {known:list})",
    "missing": "{got!r} does not exist",
    "unreadable": "cannot read the {subject}: {why}",
    "not-a-file": "cannot read the {subject}: it is a folder, a pipe or a device, not a file",
    "too-large": "the {subject} has {got:count byte}, more than the limit of {limit:count}",
    "unwritable": "cannot write the {subject}: {why}",
    "seed": "{subject} must be a whole number from 0 on, got {got!r}",
    # regular expressions in lists of operators
    "expression-invalid": "{got!r} is not a valid regular expression: {why}",
    "expression-repeats": (
        "{got!r} repeats a repetition and refers to its own groups, which can take forever; simplify it"
    ),
    "expression-nested": "{got!r} nests too many groups; simplify it",
    "expression-steps": "{got!r} needs more than {limit:count step} for {name!r}; simplify it",
    # formats and shapes
    "packing": "the packing of {dtype} is not documented; only its raw bytes are available",
    "format-number": "unknown format number {got!r}: its low byte must be 0-{last} or 255",
    "format-without-number": "{got!r} has no format number; use NCHW or ND",
    "groups": "the number of groups must be 1 to 65535, got {got!r}",
    "groups-divide": "{got} groups do not divide N = {rows}",
    "c0": "C0 must be a power of two from 1 to 16384, got {got}",
    "c0-of-format": "C0 of {format} must be {expected}, got {got}",
    "c0-too-small": "C0 of {format} must be at least 4, got {got}",
    "channels": "{format} holds at most 4 channels, got {got}; use FRACTAL_Z",
    "axes-differ": (
        "{source} and {target} do not name the same axes at rank {rank} ({source_axes} and {target_axes})"
    ),
    "axes-unnamed": (
        "an ND tensor of rank {got} cannot become {format}, which needs rank {expected}; name its axes, as in NCHW"
    ),
    "rank": "a tensor in {format} has at most {most} dimensions, got {got}",
    "no-conversion": (
        "no conversion between {host} and {device}: choose a host format ({hosts:list}) and a device format "
        "({devices:list}) that have the same axes"
    ),
    "shape": "not a shape: {got} (at most {most} dimensions, each 0 or more)",
    "shape-memory": "shape {got} with {itemsize} bytes an element does not fit into memory",
    "device-shape": "{shape} in {host} has the shape {expected} in {device}, but the array has {got}",
    "host-shape": "an array in {source} would have the shape {got} in {target}, not {expected}",
    "array-dtype": "cannot rearrange an array of dtype {got}: it holds no numbers",
}
