"""Tensor formats: how a tensor's axes lie in memory, on the host and on the device; one row each.

Numbers are those of ``ge::Format`` (the dump container's ``format``; AscendCL has the same). Device
formats cut an axis into blocks: C0 channels in a cube unit's row, 16 rows; what does not fill a block is
zero. `workbench.core.device_shape` finds shapes, `workbench.core.transdata` moves data. Sources: GE
``format_transfers`` and metadef ``transfer_shape_utils``, MindSpore ``ms_device_shape_transfer``.
"""

from __future__ import annotations

from functools import lru_cache

from workbench._values import NamedTuple, dataclass
from workbench.core.errors import FormatError


@dataclass(frozen=True)
class Format:
    """A format.

    ``code`` is its GE number (-1: it has none). ``axes`` names the axes: of a host format in their
    order, of a device format those it takes (R, C: rows and columns of matrices). ``device`` writes
    the device shape: a word a dimension, ``X1`` the blocks of axis X, ``X0`` the places in a block, G
    groups of channels, P the plane H*W. ``c0`` is the C0 that its name fixes (0: the dtype's).
    """

    name: str
    code: int
    axes: str = ""
    device: str = ""
    c0: int = 0
    aliases: tuple[str, ...] = ()

    @property
    def is_host(self) -> bool:
        """Whether the axes are whole; formats that are known by name alone are neither host nor device."""
        return bool(self.axes) and not self.device


_MATRIX = "C1 R1 R0 C0"

FORMATS: dict[str, Format] = {
    row.name: row
    for row in (
        Format("DefaultFormat", -1, "*"),
        Format("NCHW", 0, "NCHW"),
        Format("NHWC", 1, "NHWC"),
        Format("ND", 2, "*"),
        Format("NC1HWC0", 3, "NCHW", "N C1 H W C0"),
        Format("FRACTAL_Z", 4, "NCHW", "G*C1*H*W N1 N0 C0", aliases=("FracZ",)),
        Format("NC1C0HWPAD", 5),
        Format("NHWC1C0", 6),
        Format("FSR_NCHW", 7),
        Format("FRACTAL_DECONV", 8),
        Format("C1HWNC0", 9),
        Format("FRACTAL_DECONV_TRANSPOSE", 10),
        Format("FRACTAL_DECONV_SP_STRIDE_TRANS", 11),
        Format("NC1HWC0_C04", 12, "NCHW", "N C1 H W C0", c0=4),
        Format("FRACTAL_Z_C04", 13, "NHWC", "P1 N1 N0 P0*C"),
        Format("CHWN", 14, "CHWN"),
        Format("FRACTAL_DECONV_SP_STRIDE8_TRANS", 15),
        Format("HWCN", 16, "HWCN"),
        Format("NC1KHKWHWC0", 17),
        Format("BN_WEIGHT", 18),
        Format("FILTER_HWCK", 19),
        Format("HASHTABLE_LOOKUP_LOOKUPS", 20),
        Format("HASHTABLE_LOOKUP_KEYS", 21),
        Format("HASHTABLE_LOOKUP_VALUE", 22),
        Format("HASHTABLE_LOOKUP_OUTPUT", 23),
        Format("HASHTABLE_LOOKUP_HITS", 24),
        Format("C1HWNCoC0", 25, "NCHW", "C1 H W N Co C0"),
        Format("MD", 26),
        Format("NDHWC", 27, "NDHWC"),
        Format("FRACTAL_ZZ", 28),
        Format("FRACTAL_NZ", 29, "RC", _MATRIX, aliases=("FracNZ",)),
        Format("NCDHW", 30, "NCDHW"),
        Format("DHWCN", 31, "DHWCN", aliases=("DHWCH",)),
        Format("NDC1HWC0", 32, "NCDHW", "N D C1 H W C0"),
        Format("FRACTAL_Z_3D", 33, "NCDHW", "G*D*C1*H*W N1 N0 C0"),
        Format("CN", 34, "CN"),
        Format("NC", 35, "NC"),
        Format("DHWNC", 36, "DHWNC"),
        Format("FRACTAL_Z_3D_TRANSPOSE", 37),
        Format("FRACTAL_ZN_LSTM", 38),
        Format("FRACTAL_Z_G", 39),
        Format("RESERVED", 40),
        Format("ALL", 41),
        Format("NULL", 42),
        Format("ND_RNN_BIAS", 43),
        Format("FRACTAL_ZN_RNN", 44),
        Format("NYUV", 45, aliases=("YUV",)),
        Format("NYUV_A", 46, aliases=("YUV_A",)),
        Format("NCL", 47, "NCL"),
        Format("FRACTAL_Z_WINO", 48),
        Format("C1HWC0", 49),
        Format("FRACTAL_NZ_C0_16", 50, "RC", _MATRIX, c0=16),
        Format("FRACTAL_NZ_C0_32", 51, "RC", _MATRIX, c0=32),
        Format("FRACTAL_NZ_C0_2", 52, "RC", _MATRIX, c0=2),
        Format("FRACTAL_NZ_C0_4", 53, "RC", _MATRIX, c0=4),
        Format("FRACTAL_NZ_C0_8", 54, "RC", _MATRIX, c0=8),
        Format("MAX", 255),
    )
}
"""Every format by name, in order of its number."""

_BY_CODE = {row.code: row for row in FORMATS.values() if row.code >= 0}
_BY_WORD = {word.lower(): row for row in FORMATS.values() for word in (row.name, *row.aliases)}
_PREFIXES = ("acl_format_", "format_", "acl_")

_C0 = {
    **dict.fromkeys(("int8", "uint8"), 32),
    **dict.fromkeys(("float8_e5m2", "float8_e4m3fn", "float8_e8m0", "float8_e8m0fnu"), 32),
    "hifloat8": 32,
    "int4": 64,
    **dict.fromkeys(("int2", "uint2"), 128),
    "uint1": 256,
}
"""C0 of the dtypes where it is not 16: 32 bytes a row (``[DtypeMKN]``). bool and float32 have 16 there."""


class FormatWord(NamedTuple):
    """A format as a producer states it: name, groups (GE's sub format), C0 (``None``: not stated)."""

    name: str
    groups: int = 1
    c0: int | None = None


def read_format(value: int | str) -> FormatWord:
    """Return what a format number or name says; raises FormatError if there is no such format.

    A number is GE's 32-bit word: primary format in bits 0-7, groups in 8-23, log2(C0) + 1 in 24-27. A
    name may have its groups behind a colon, as in GE's graph texts, and any producer's spelling.

    >>> read_format(0x05002004), read_format("FRACTAL_Z:32"), read_format("FracZ").name
    (FormatWord(name='FRACTAL_Z', groups=32, c0=16), FormatWord(name='FRACTAL_Z', groups=32, c0=None), 'FRACTAL_Z')
    """
    if isinstance(value, str):
        return _read_word(value)
    row = _BY_CODE.get(value & 0xFF) if 0 <= value < 1 << 28 else None
    if row is None:
        known = max(_BY_CODE.keys() - {255})
        raise FormatError("core/format-number", got=value, last=known)
    code = value >> 24
    return FormatWord(row.name, value >> 8 & 0xFFFF or 1, 1 << code - 1 if code else None)


@lru_cache(maxsize=1024)
def _read_word(text: str) -> FormatWord:
    word, colon, groups = text.strip().partition(":")
    low = word.lower()
    low = next((low.removeprefix(head) for head in _PREFIXES if low.startswith(head)), low)
    if low not in _BY_WORD:
        raise FormatError("core/choice", subject="format", got=text, known=list(FORMATS))
    if colon and not (groups.isascii() and groups.isdigit() and len(groups) <= 5):
        raise FormatError("core/groups", got=text)
    return FormatWord(_BY_WORD[low].name, checked_groups(int(groups or 1) or 1))


def format_number(word: FormatWord) -> int:
    """Return GE's 32-bit number of a format; raises FormatError if it has none."""
    row = row_of(word.name)
    if row.code < 0:
        raise FormatError("core/format-without-number", got=word.name)
    groups = checked_groups(word.groups) if word.groups > 1 else 0
    code = checked_c0(word.c0).bit_length() if word.c0 is not None else 0
    return row.code | groups << 8 | code << 24


def format_text(word: FormatWord) -> str:
    """Return the spelling of GE's graph texts: ``FRACTAL_Z:32``; one group and C0 are not shown."""
    return f"{word.name}:{word.groups}" if word.groups > 1 else word.name


def c0_of(dtype: str) -> int:
    """Return C0, the elements of a cube unit's row, of a dtype's name.

    float32 has 16 like all others; 8 is only ever stated by the producer. Of a dump, the last
    dimension of the device shape tells.
    """
    return _C0.get(dtype, 16)


def row_of(name: str) -> Format:
    """Return the row of any spelling of a format; raises FormatError if there is none."""
    return FORMATS[read_format(name).name]


def checked_groups(groups: int) -> int:
    """Return ``groups``; raises FormatError if a sub format cannot hold it."""
    if not 1 <= groups <= 0xFFFF:
        raise FormatError("core/groups", got=groups)
    return groups


def checked_c0(c0: int | None) -> int:
    """Return ``c0``; raises FormatError if it is not a power of two that a format number can hold."""
    if c0 is None or not 1 <= c0 <= 1 << 14 or c0 & c0 - 1:
        raise FormatError("core/c0", got=c0)
    return c0
