"""What `workbench.dump` says: name → sentence."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # what is asked for
    "iterations": "the number of iterations must be 1 to {limit:count}, got {got}",
    "version": "{got!r} is not a MindSpore version; write it like 2.6.0",
    "version-old": "MindSpore {got} cannot be simulated; use 2.3 or newer",
    "net-name": "net_name may have letters, digits, '-' and '_' only, got {got!r}",
    "statistics": "{table} has no statistics {got:list} (choose from {known:list})",
    "statistics-md5": "msprobe writes md5 or other statistics, not both; got {got:list}",
    # folders and files that are written
    "out-file": "{got!r} is a file; choose a new or empty folder",
    "out-filled": "{got!r} is not empty; choose a new folder or empty this one",
    "out-interrupted": (
        "{got!r} has {files:count complete file} of an interrupted run; empty it to start again"
    ),
    "name-taken": "{got!r} is already written; names of files must differ",
    "name-outside": "{got!r} leads out of the folder",
    "operator-name": "{got!r} cannot be part of a file name; rename the operator",
    "folder-name": (
        "{got!r} cannot be a folder of the layout {layout} ({template}); no reader would find it"
    ),
    "negative-number": (
        "rank, graph, iteration and slot must be 0 or more, got {rank}, {graph_id}, {iteration}, {slot}"
    ),
    "not-computed": "the tensor has no data; run the operator first",
    "name-ids": "a file name of kind {kind!r} needs {missing:list}",
    # any file
    "file-end": (
        "{needed:count byte} expected from byte {start} on, found {held:count}; "
        "is the file still being written?"
    ),
    "file-memory": "the file has {got:count byte}, more than fit into memory",
    "data-end": "the data end at byte {end:count}, but the file has {held:count byte}",
    "dimensions": "{subject} has {got:count dimension}, more than the limit of {limit}",
    "shape-bytes": "a shape of {got:count byte} has more than {limit} dimensions",
    "shape-elements": "a tensor of shape {got} has too many elements (limit 2**59)",
    "json": "invalid JSON: {why}",
    "json-object": "{subject} must be a JSON object, got {got!r}",
    # containers
    "elf": "not a dump container: the file is an ELF core",
    "container-short": (
        "a dump container has more than 8 bytes, this file {held}; "
        "the operator wrote nothing or the file is truncated"
    ),
    "container-cut": (
        "the header declares {needed:count byte}, the file has {held:count}; "
        "it is truncated or a size is wrong"
    ),
    "container-size": (
        "the header declares {whole:count byte}, or {present:count} without the tensors that have no address; "
        "the file has {held:count}"
    ),
    "no-addresses": "{tensors:count tensor} without an address: no data in the file",
    "bytes-behind": "{bytes:count byte} after the last block",
    "cut-off": "truncated: the file has {held:count} of {needed:count byte}",
    "container-empty": "the container has no inputs or outputs",
    "header-size": "the header has {got:count byte}, expected 1 to {limit:count}",
    "version-1": "dump containers of version 1 are not supported",
    "version-unknown": "unknown container version {got!r}; read as {used}",
    "field-unused": "{name} must be 0 here, got {got!r}",
    "field-range": "{name} does not fit its field: {why}",
    "payload-size": "{needed:count byte} expected, got {got:count}",
    "tensors": "the operator has {got:count tensor}, more than the limit of {limit:count}",
    "data-type": "unknown data type {got} (known: 0 to {last})",
    "block-no-address": "the tensor has no address, so the device wrote no data",
    "block-lost": "position unknown: the sizes in the header do not add up to the file size",
    "block-short": "{dtype} of shape {shape} needs {needed:count byte}, the block has {held:count}",
    # npy files
    "npy-magic": "not an npy file: it begins with {got!r}",
    "npy-version": "unknown npy version {major}.{minor} (known: 1.0, 2.0, 3.0)",
    "npy-header": "invalid npy header: descr, fortran_order and shape expected, got {got!r}",
    "npy-header-cut": "the file ends within the npy header",
    "npy-descr": "unsupported dtype {got!r} in the npy header; a number type such as '<f4' is expected",
    "npy-shape": "invalid shape {got!r} in the npy header",
    "npy-shape-bytes": "shape {got} in the npy header needs 2**63 bytes or more",
    "npy-short": (
        "the header declares {needed:count byte}, the file has {held:count}; is it still being written?"
    ),
    "npy-elements": (
        "shape {shape} in {format} needs more than the {held:count element} in the file; "
        "is it still being written?"
    ),
    # core files and exception dumps
    "core-kind": "not a 64-bit little-endian ELF core",
    "core-machine": "ELF machine {got:#x} is not Ascend ({expected:#x})",
    "core-cut": "the {subject} lies outside the {held:count byte} of the file",
    "core-table": "damaged section table: {rows:count row} of {size:count byte}",
    "core-name": "a section name starts at byte {got} of a list of {held:count byte}",
    "core-descriptions": (
        "{got:count byte} of memory descriptions do not match the sections ({size} bytes each)"
    ),
    "core-section": "memory is described in section {got}, which is not a {expected} section",
    "core-memory": "the memory has {needed:count byte}, its section {held:count}",
    "exception-empty": "an exception dump needs an argument; a task without arguments has no file",
    "failed": "the operator failed; {inputs:count input} and {outputs:count output} dumped ({scene} scene)",
    "failed-log": (
        "the operator failed; {inputs:count input} and {outputs:count output} dumped ({scene} scene): {log}"
    ),
    # overflow records
    "overflow": "{unit}, task {task}, stream {stream}: {status:list}",
    "overflow-unreported": "the record reports no overflow",
    "overflow-none": "the container has no output, so there is no overflow record",
    "overflow-size": "an overflow record has {expected:count byte}, got {got:count}",
    "overflow-accelerator": "unknown accelerator {got} (known: 0 to {last})",
    "overflow-short": "no complete accelerator in {got:count byte} of the overflow record",
    "overflow-form": "{got} has no spelling for records with a magic number; use msaccucmp",
    "overflow-magic": "magic must be {expected}, got {got!r}",
    "overflow-status": "status must be a list of 4 numbers, got {got!r}",
    "overflow-number": "{name} must be an unsigned {bits}-bit number, got {got!r}",
    # slices
    "slices-joined": "joined from {slices:count slice}",
    "slices-apart": "slices not joined: {why}",
    "slices-missing": "slices 0 to {last} expected, got {got:list}",
    "slices-mixed": "the slices state different cuts",
    "slices-uneven": "the slices have different numbers of {io}s: {got:list}",
    "slices-types": "the slices differ in data type or format",
    "slices-data-type": "data type {got} cannot be decoded",
    "slices-threads": "the ranges of the threads are not stated",
    "slices-ranges": "invalid ranges of thread {thread}: {got!r}",
    "slices-rank": "the slices differ in rank: {got:list}",
    "slices-axis": "the cut axis is not stated",
    "slices-axes": "one cut axis expected; the shapes say {got}, the cut list {listed}",
    "slices-gap": "a slice at {got} does not follow on the one before, which ends at {end}",
    "slices-size": "shape {expected} expected, got {size:count byte} of shape {shape}",
    # files of PyTorch
    "pt-zip": "not a zip archive as torch.save writes since 1.6",
    "pt-magic": "damaged zip archive: {expected!r} expected, got {got!r}",
    "pt-pickles": "one data.pkl expected in the archive, got {got}",
    "pt-byteorder": "byte order {got!r} is not supported, little only",
    "pt-compressed": "entries compressed in this way are not supported; save with torch.save or numpy.savez",
    "pt-checksum": "{entry} does not match its checksum",
    "pt-missing": "the archive has no entry {entry!r}",
    "pt-storage": "the tensor needs {needed:count element}, its storage has {held:count}",
    "npz-damaged": "damaged entry of the archive: {why}",
    "npz-size": "the header of {entry} needs {needed:count byte}, the entry has {held:count}",
    "pt-elements": "the tensor has {got:count element}, its storage {held:count}",
    "pickle": "damaged pickle: {why}",
    "pickle-dictionary": "a dictionary is not supported; save a tensor or a list of tensors",
    "pickle-others": "the list holds other objects than tensors",
    "pickle-no-tensor": "the file holds no tensor",
    "pickle-opcode": "opcode {got} is not allowed: only tensors are read",
    "pickle-name": "{got!r} is not allowed: only tensors are read",
    "pickle-call": "a call that makes no tensor is not allowed",
    "pickle-lazy": "a conjugated or negated tensor is not supported; save a plain copy",
    "pickle-dtype": "the dtype of the tensor is unknown",
    "pickle-strides": "the tensor needs a size and a stride for each of at most {limit} axes",
    "pickle-parameter": "damaged pickle: a parameter without a tensor",
    "pickle-storage": "damaged pickle: a storage without class or key",
    "pickle-persistent": "damaged pickle: a persistent id that is no storage",
    "pickle-items": "damaged pickle: sets items of something other than a dictionary",
    # tables
    "mapping-row": "'given name,intended name' in the same folder expected, got {got!r}",
    "role-row": "'file,copy,of' or 'file,unread,' expected, both in the golden folder, got {got!r}",
    "mapping-more": "{more:count more row} cannot be read",
    "rows-more": "more rows cannot be read",
    "table-text": "not CSV: {why}",
    "table-line": "a line of {got:count character} is longer than the limit of {limit:count}",
    "table-header": "the header must begin with {expected}, got {got!r}",
    "table-columns": "the header lacks the columns {missing:list}",
    "statistics-name": (
        "not the name of a statistics table; it must be like MatMul.mm.3.1.1700000000000007.csv"
    ),
    "row-cells": "the row has {got:count cell}, the header {expected:count}",
    "cell-io": "{title} must be input or output, got {got!r}",
    "cell-number": "{title} must be a number, got {got!r}",
    # what is read of a folder
    "no-dump": "{got!r} is not a dump: no rank_N, no timestamp folder, no dump file (layouts: {known:list})",
    "not-a-folder": "{got!r} is a file; give the folder of the dump",
    "folder-empty": "{got!r} is empty",
    "folders": "{got!r} has more than {limit:count folder}; choose one of its subfolders",
    "layouts-fit": "{got!r} fits {known:list}; the workbench cannot tell which is right",
    "layout-unknown": (
        "{got!r} has dump files, but not in the folders of a known layout; "
        "choose the folder of the files"
    ),
    "dumps-several": "{got!r} has several dumps; choose one of: {dumps:list}",
    "unplaced": "the folder belongs to no known layout",
    "acl-form": "the configuration that MindSpore gave to AscendCL; no tensors",
    "no-tensor-file": "not a dump file; ignored",
    "name-unknown": "unknown kind of file name",
    "name-number": "the file name states {field} {got}, more than the limit of {limit}",
    "unmapped": "not listed in {file}",
    "mapped-unknown": "{file} gives {got!r}, an unknown kind of file name",
    "raw-type": "msprobe wrote raw bytes without their dtype",
    "too-old": ".bin files of MindSpore 1.0 to 1.2 have no header; use MindSpore 1.3 or newer",
    "golden-suffix": "golden data must be .npy or .pt, got .{got}",
    "watched": "dumped again after {after}",
    "graph-pb": "read from .pb (no readable .ir): device types and tensor constants are missing",
    "graph-excerpt": (
        "an excerpt of a graph without its header: {operators:count operator} read, what feeds them is not in the file"
    ),
    "graph-lines": "{lines:count line} of the graph not understood and skipped",
    "processes": "{folders:count timestamp folder} for ranks {ranks:list}",
    "processes-one-device": "device {device} was used by several processes at once: {folders:list}",
    "process-rank": "{folder} as rank {rank}",
    "runs": "rank {rank} dumped the same iteration in several runs: {folders:list}; the newest run is used",
    # models
    "model-unknown": "unknown model or operator {got!r} (models: {known:list})",
    "model-several": "operator {got!r} is in several models; choose from {models:list}",
    "model-chosen": "{how}; excluded: {others:list}",
    "model-asked": "selected by name",
    "model-operator": "the only model with operator {operator!r}",
    "model-graph": "named by {graph}, {how}",
    "model-networks": "{models:list} are networks: the graph file of each has an Iterator; name one to read it alone",
    "model-only-graph": "named by {graph}, the only graph of a dumped model",
    "model-largest": "most dump files ({files:count}); no graph file names the network",
    "model-largest-several": "most dump files ({files:count}); the graph files name several models",
    "model-other": "of model {model!r}; the network is {network!r}",
    "model-idle": "excluded timestamp folders: {folders:list} (only {models:list}, not {network})",
    # conversion
    "converted": "{files:count file}, {written:count} written, {remarks:count remark}",
    "convert-more": "… {more:count} more: {what}",
    "convert-nothing": "{why}; nothing was converted",
    "convert-unfinished": "unfinished files, skipped",
    "convert-link": "a link, skipped",
    "convert-text": "a {suffix} file, not a dump container; leave it out",
    "convert-bin": "the name says {stated}, as msaccucmp does; the elements are {held}",
    "convert-name": "{got!r} is not printable, so it cannot be listed in {file}",
    "convert-name-long": "the name of its file would be too long",
    "left-in": "left in {format}: {why}",
    "surplus": "{left:count byte} after the elements dropped",
    "elements-unknown": "the element size of {dtype} is unknown",
    "kept-as-bytes": "{why}; kept as bytes",
    "kept-flat": "{why}; kept without a shape",
    "shape-open": "shape {got} has open dimensions",
    "npy-already": "already an npy file, nothing to convert",
    "npy-order": "cannot be rearranged: not in C order, or not a NumPy type",
    "npy-original": "the npy file has the device shape only, the original shape is unknown",
    "route-axes": "the axes of ND have no names",
    "route-arrangement": "the arrangement of {format} is not documented",
    "route-original": "{format} needs the original shape, got {got}",
    "route-shape": "no host format turns the original shape {original} into {shape} in {format}",
    "route-doubt": "original shape {shape} read as {format}; {other} is as likely",
    # what a dump will hold
    "names-of-device": "GE graphs are not simulated: times and numbers in names will differ",
    "size-bound": "sizes of statistics depend on the values; shown is an upper bound",
    "fed": "data operators that feed selected operators are dumped too: {operators:list}",
    "numbers": (
        "{count:count operator} may have another number in file names: MindSpore 2.7 to 2.10 on a CPU numbers "
        "them anew ({own!r} becomes {name!r}), other releases and devices are not known"
    ),
    "numbers-before": (
        "operators are numbered through all graphs of the process, of which only {got:list} is given"
    ),
    "from-pb": "a .pb graph does not describe all constant inputs; use the .ir file beside it",
    "handed-over": (
        "inputs of {operators:list} may have no files: an output of the network takes their memory"
    ),
    "branches": "branches and loop counts are decided at run time; each is counted once",
    "flags": "operators that are skipped where {flags:list} is true are counted",
    "shapeless": "{files:count file} with unknown shapes; their sizes are not included",
    "beyond": "{listed:count iteration} listed; {more:count} more counted like the last one",
    "control-flow": "control flow has no kernel, so nothing is dumped",
    "tensor-empty": "the tensor is empty",
    "no-such-tensor": "the operator has no tensor of the requested kind",
    "no-bytes": "its tensors have no bytes",
    "npy-never": "MindSpore writes no npy file of type {dtype} on {device}",
    "overhead": "{copied:bytes} copied, {files:count file} written per iteration: {meaning}",
    "overhead-on-device": (
        "{copied:bytes} copied, {files:count file} written per iteration: {meaning}; "
        "each statistic is one more kernel on the device"
    ),
    "overhead-on-host": (
        "{copied:bytes} copied, {files:count file} written per iteration: {meaning}; "
        "for statistics on the host every tensor is copied"
    ),
    "overhead-none": "no tensor is written",
    "overhead-light": "step time hardly changes",
    "overhead-noticeable": "steps take clearly longer",
    "overhead-heavy": "writing takes most of the time",
    "overhead-extreme": "minutes per step; other ranks may time out",
}
