"""GGUF v3, as much of it as measuring needs: what a file holds (no numpy), and a writer
that takes the tensors one after another. Not for hostile files: those are the engine's
business.

Layout: magic, version, number of tensors, number of keys; keys; tensor infos (name,
dimensions innermost first, type, offset); padding; data, each tensor on a multiple of 32.
"""
import struct
from dataclasses import dataclass
from math import prod

MAGIC = b"GGUF"
ALIGN = 32

# name -> (number in the file, elements in a block, bytes of a block)
TYPES = {
    "F32": (0, 1, 4),
    "F16": (1, 1, 2),
    "Q4_0": (2, 32, 18),
    "Q4_1": (3, 32, 20),
    "Q5_0": (6, 32, 22),
    "Q8_0": (8, 32, 34),
    "Q4_K": (12, 256, 144),
    "Q5_K": (13, 256, 176),
    "Q6_K": (14, 256, 210),
    "IQ4_NL": (20, 32, 18),
    "BF16": (30, 1, 2),
}
TYPE_NAMES = {number: name for name, (number, _, _) in TYPES.items()}
# general.file_type, by the type of most tensors
FILE_TYPES = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 7, "Q5_0": 8, "Q4_K": 14, "Q5_K": 16, "Q6_K": 18, "IQ4_NL": 25,
              "BF16": 32}

# kinds of metadata values
U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
_SCALARS = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "?",
            U64: "Q", I64: "q", F64: "d"}


@dataclass
class Tensor:
    name: str
    shape: tuple  # outermost first: (rows, columns)
    type: str

    @property
    def elements(self):
        return prod(self.shape)

    @property
    def bytes(self):
        _, block, size = TYPES[self.type]
        return self.elements // block * size


def _text(s):
    raw = s.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(kind, v):
    return _text(v) if kind == STRING else struct.pack("<" + _SCALARS[kind], v)


class Header:
    """Collects metadata and tensor infos; `bytes()` is everything before the data."""

    def __init__(self):
        self.keys, self.n_keys, self.tensors = [], 0, []

    def add(self, key, kind, v):
        self.keys.append(_text(key) + struct.pack("<I", kind) + _value(kind, v))
        self.n_keys += 1

    def add_array(self, key, kind, values):
        self.keys.append(_text(key) + struct.pack("<IIQ", ARRAY, kind, len(values)))
        self.keys.append(b"".join(_value(kind, v) for v in values))
        self.n_keys += 1

    def add_tensor(self, tensor):
        _, block, _ = TYPES[tensor.type]
        if tensor.shape[-1] % block:
            raise ValueError(f"{tensor.name}: rows of {tensor.shape[-1]} are no multiple of the "
                             f"{block} that a block of {tensor.type} holds")
        self.tensors.append(tensor)

    def bytes(self):
        parts = [MAGIC, struct.pack("<IQQ", 3, len(self.tensors), self.n_keys), *self.keys]
        offset = 0
        for t in self.tensors:
            parts.append(_text(t.name) + struct.pack("<I", len(t.shape)))
            parts.append(struct.pack(f"<{len(t.shape)}Q", *reversed(t.shape)))
            parts.append(struct.pack("<IQ", TYPES[t.type][0], offset))
            offset += t.bytes + -t.bytes % ALIGN
        head = b"".join(parts)
        return head + bytes(-len(head) % ALIGN)


class _Reader:
    def __init__(self, f):
        self.f = f

    def take(self, fmt):
        v = struct.unpack("<" + fmt, self.f.read(struct.calcsize("<" + fmt)))
        return v[0] if len(v) == 1 else v

    def text(self):
        return self.f.read(self.take("Q")).decode(errors="replace")

    def value(self, kind):
        if kind == STRING:
            return self.text()
        if kind != ARRAY:
            return self.take(_SCALARS[kind])
        inner, n = self.take("IQ")
        if inner == STRING:
            return [self.text() for _ in range(n)]
        fmt = f"<{n}{_SCALARS[inner]}"
        return list(struct.unpack(fmt, self.f.read(struct.calcsize(fmt))))


def read(path):
    """(metadata as a dict, list of Tensor); a tensor of another type keeps its number as "type N"."""
    with open(path, "rb") as f:
        r = _Reader(f)
        if f.read(4) != MAGIC:
            raise ValueError(f"{path}: no GGUF file")
        version, n_tensors, n_keys = r.take("IQQ")
        if version not in (2, 3):
            raise ValueError(f"{path}: GGUF version {version}, 2 or 3 expected")
        meta = {}
        for _ in range(n_keys):
            key = r.text()
            meta[key] = r.value(r.take("I"))
        tensors = []
        for _ in range(n_tensors):
            name = r.text()
            dims = [r.take("Q") for _ in range(r.take("I"))]
            number, _ = r.take("IQ")
            tensors.append(Tensor(name, tuple(reversed(dims)), TYPE_NAMES.get(number, f"type {number}")))
        return meta, tensors
