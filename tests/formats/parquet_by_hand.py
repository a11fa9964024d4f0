"""Parquet files with false page headers, written by hand in Thrift's compact protocol because no library writes them."""

from pathlib import Path

import pyarrow as pa

I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12
PLAIN, RLE, DELTA_BYTE_ARRAY, RLE_DICTIONARY = 0, 3, 7, 8
BYTE_ARRAY, ZSTD, REPEATED = 6, 6, 2


def varint(number: int) -> bytes:
    """Write a number, seven bits in a byte."""
    head, rest = number & 0x7F, number >> 7
    return bytes([head | 0x80]) + varint(rest) if rest else bytes([head])


def i32(number: int) -> tuple[int, bytes]:
    """Write a number of a field."""
    return I32, varint(number << 1)


def i64(number: int) -> tuple[int, bytes]:
    """Write a long number of a field."""
    return I64, varint(number << 1)


def text(content: str) -> tuple[int, bytes]:
    """Write a text."""
    return BINARY, varint(len(content)) + content.encode()


def listed(*values: tuple[int, bytes]) -> tuple[int, bytes]:
    """Write a list of fewer than 15."""
    return LIST, bytes([len(values) << 4 | values[0][0]]) + b"".join(value for _kind, value in values)


def struct(**fields: tuple[int, bytes]) -> tuple[int, bytes]:
    """Write a structure with fields named f1, f2 and so on, in their order."""
    written, last = b"", 0
    for name, (kind, value) in fields.items():
        number = int(name[1:])
        written += bytes([(number - last) << 4 | kind]) + value
        last = number
    return STRUCT, written + b"\0"


def data_page(content: bytes, *, unpacked: int, values: int, encoding: int = PLAIN) -> bytes:
    """Return a packed page after a header that states any size and number of values."""
    packed: bytes = pa.Codec("zstd").compress(content, asbytes=True)
    about = struct(f1=i32(values), f2=i32(encoding), f3=i32(RLE), f4=i32(RLE))
    _kind, header = struct(f1=i32(0), f2=i32(unpacked), f3=i32(len(packed)), f5=about)
    return header + packed


def dictionary_page(content: bytes, *, values: int) -> bytes:
    """Return a packed dictionary after a header that states any number of entries."""
    packed: bytes = pa.Codec("zstd").compress(content, asbytes=True)
    about = struct(f1=i32(values), f2=i32(PLAIN))
    _kind, header = struct(f1=i32(2), f2=i32(len(content)), f3=i32(len(packed)), f7=about)
    return header + packed


def write_column(path: Path, pages: bytes, *, values: int, dictionary: int = 0, repetition: int = 0) -> Path:
    """Write a file of one column of texts, of one row group; its footer states next to nothing.

    Parameters
    ----------
    path
        Where.
    pages
        All pages with their headers.
    values
        How many the footer states.
    dictionary
        Bytes of the dictionary page at their beginning, if there is one.
    repetition
        0 for a required column, 2 for a repeated one.
    """
    column = struct(f1=i32(BYTE_ARRAY), f3=i32(repetition), f4=text("text"), f6=i32(0))
    schema = listed(struct(f4=text("schema"), f5=i32(1)), column)
    offsets = {"f9": i64(4 + dictionary), **({"f11": i64(4)} if dictionary else {})}
    meta = struct(
        f1=i32(BYTE_ARRAY),
        f2=listed(i32(PLAIN)),
        f3=listed(text("text")),
        f4=i32(ZSTD),
        f5=i64(values),
        f6=i64(100),
        f7=i64(len(pages)),
        **offsets,
    )
    group = struct(f1=listed(struct(f2=i64(4), f3=meta)), f2=i64(100), f3=i64(1 if repetition else values))
    footer = struct(f1=i32(2), f2=schema, f3=i64(1 if repetition else values), f4=listed(group))[1]
    path.write_bytes(b"PAR1" + pages + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    return path
