"""Runs msaccucmp of msprobe's package where CANN is not installed: ``msaccucmp_alone.py FOLDER ARGUMENTS``.

The package has all of msaccucmp but a library of CANN, ``libascend_dump_parser.so``, whose one function writes the
header of a container as JSON. Google's library does it here, with the fields of ``dump_data.proto`` and the same
options; everything else is msaccucmp's own. Needs nothing of the workbench.
"""

from __future__ import annotations

import json
import runpy
import struct
import sys
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

MESSAGES = {
    "DumpData": "1 version string, 2 dump_time uint64, 3 output OpOutput*, 4 input OpInput*, 5 buffer OpBuffer*,"
    " 6 op_name string, 7 attr OpAttr*, 8 space Workspace*",
    "OpOutput": "1 data_type int32, 2 format int32, 3 shape Shape, 4 original_op OriginalOp, 5 data bytes,"
    " 6 size uint64, 7 original_shape Shape, 8 sub_format int32, 9 address uint64, 10 dim_range DimRange*,"
    " 11 offset uint64",
    "OpInput": "1 data_type int32, 2 format int32, 3 shape Shape, 4 data bytes, 5 size uint64,"
    " 6 original_shape Shape, 7 sub_format int32, 8 address uint64, 9 offset uint64",
    "Shape": "1 dim uint64*",
    "DimRange": "1 dim_start uint64, 2 dim_end uint64",
    "OriginalOp": "1 name string, 2 output_index uint32, 3 data_type int32, 4 format int32",
    "OpBuffer": "1 buffer_type int32, 2 data bytes, 3 size uint64",
    "OpAttr": "1 name string, 2 value string",
    "Workspace": "1 type int32, 2 data bytes, 3 size uint64",
}  # fmt: skip
"""Messages of ``dump_data.proto``; enumerations are numbers."""

Described = descriptor_pb2.FieldDescriptorProto
SCALARS = {
    "string": Described.TYPE_STRING,
    "bytes": Described.TYPE_BYTES,
    "int32": Described.TYPE_INT32,
    "uint32": Described.TYPE_UINT32,
    "uint64": Described.TYPE_UINT64,
}


def dump_data() -> Any:
    """Google's class of the header."""
    file = descriptor_pb2.FileDescriptorProto(name="dump_data.proto", syntax="proto3")
    for message, rows in MESSAGES.items():
        described = file.message_type.add(name=message)
        for row in rows.split(", "):
            number, name, kind = row.split()
            label = Described.LABEL_REPEATED if kind.endswith("*") else Described.LABEL_OPTIONAL
            field = described.field.add(name=name, number=int(number), label=label)
            field.type = SCALARS.get(kind.rstrip("*"), Described.TYPE_MESSAGE)
            if field.type == Described.TYPE_MESSAGE:
                field.type_name = "." + kind.rstrip("*")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("DumpData"))


def main() -> None:
    """Replace what calls the library, then run msaccucmp as its users do."""
    kind, folder = dump_data(), Path(sys.argv[1])
    sys.path.insert(0, str(folder))
    from dump_parse.big_dump_data import BigDumpDataParser

    def parse(self: Any) -> None:
        data = Path(self.dump_file_path).read_bytes()
        [length] = struct.unpack_from("<Q", data)
        text = json_format.MessageToJson(
            kind.FromString(data[8 : 8 + length]),
            preserving_proto_field_name=True,
            use_integers_for_enums=True,
            always_print_fields_with_no_presence=True,
        )
        self.dump_json_data = json.loads(text)

    BigDumpDataParser._parse_dump_to_json = parse
    sys.argv = [str(folder / "msaccucmp.py"), *sys.argv[2:]]
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
