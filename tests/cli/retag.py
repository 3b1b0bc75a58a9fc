"""A copy of the tiny llama with another vocabulary: every byte, and the tags that a test names."""
import os
import sys

import cli

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench"))
import gguf  # noqa: E402

N_FIRST, N_BYTES, N_ALL = 3, 256, 288
CONTROL, USER, UNUSED = 3, 4, 5


def byte_id(b):
    return N_FIRST + b


def tag_id(i):
    return N_FIRST + N_BYTES + i


def write(path, tags, template=None, eos=True):
    """`tags`: control tokens; one that begins with + is a user's, without the +."""
    meta, tensors = gguf.read(cli.LLAMA)
    at = N_FIRST + N_BYTES
    names = meta["tokenizer.ggml.tokens"][:at] + [tag.lstrip("+") for tag in tags]
    kinds = meta["tokenizer.ggml.token_type"][:at] + [USER if tag.startswith("+") else CONTROL for tag in tags]
    assert len(names) <= N_ALL
    for i in range(len(names), N_ALL):
        names.append(f"unused{i}")
        kinds.append(UNUSED)
    meta.update({"tokenizer.ggml.tokens": names, "tokenizer.ggml.token_type": kinds})
    del meta["tokenizer.ggml.merges"]
    if not eos:
        del meta["tokenizer.ggml.eos_token_id"]
    if template is not None:
        meta["tokenizer.chat_template"] = template
    head = gguf.Header()
    for key, value in meta.items():
        if isinstance(value, list):
            head.add_array(key, gguf.STRING if isinstance(value[0], str) else gguf.I32, value)
        else:
            kind = {bool: gguf.BOOL, int: gguf.U32, float: gguf.F32, str: gguf.STRING}[type(value)]
            head.add(key, kind, value)
    head.add_array("tokenizer.ggml.merges", gguf.STRING, [])
    size = sum(t.bytes + -t.bytes % gguf.ALIGN for t in tensors)
    for t in tensors:
        head.add_tensor(t)
    with open(cli.LLAMA, "rb") as f:
        data = f.read()[-size:]
    with open(path, "wb") as f:
        f.write(head.bytes() + data)
