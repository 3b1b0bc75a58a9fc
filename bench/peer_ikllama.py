#!/usr/bin/env python3
"""Keeps ik_llama.cpp loaded with one model and answers speed tests, one line each.

  peer_ikllama.py MODEL.gguf [--threads N] [--kv f16] [--venv DIR]

The protocol and the rules are those of peer_llamacpp.py. ik_llama.cpp comes from PyPI's
ik-llama-cpp-python at the version below, whose wheel is built for AVX2, FMA and F16C: a
peer for SLUICE_CPU=avx2 alone.
"""
import ctypes

import peer_llama

PACKAGE = peer_llama.Package(engine="ik_llama.cpp", package="ik-llama-cpp-python", module="ik_llama_cpp", version="0.1.5",
                             script=__file__, cmake={"avx2": None})


class Library:
    def __init__(self):
        import ik_llama_cpp._ctypes_api as L
        self.L, c = L, L._lib
        quiet = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
        self.silence = quiet(lambda level, text, data: None)  # kept: C holds the pointer
        c.llama_log_set(self.silence, None)
        # The package declares what it uses itself; these three it does not.
        c.llama_synchronize.argtypes, c.llama_synchronize.restype = [ctypes.c_void_p], None
        c.llama_kv_cache_seq_rm.argtypes = [ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.c_int32]
        c.llama_kv_cache_seq_rm.restype = ctypes.c_bool
        c.llama_print_system_info.argtypes, c.llama_print_system_info.restype = [], ctypes.c_char_p
        self.c = c

    def adjust(self, params, seqs):
        params.flash_attn = seqs == 1  # with several sequences this version aborts in its flash attention

    def clear(self, context):
        self.L.llama_kv_cache_clear(context)

    def truncate(self, context, sequence, depth):
        self.c.llama_kv_cache_seq_rm(context, sequence, depth, -1)

    def synchronize(self, context):
        self.c.llama_synchronize(context)

    def system_info(self):
        return self.c.llama_print_system_info().decode(errors="replace").strip()


if __name__ == "__main__":
    peer_llama.main(PACKAGE, Library, __doc__)
