#!/usr/bin/env python3
"""Keeps llama.cpp loaded with one model and answers speed tests, one line each.

  peer_llamacpp.py MODEL.gguf [--threads N] [--kv f16] [--isa avx2|native] [--venv DIR]

The protocol is that of README.md: {"test": "pp", "n": 512}, {"test": "tg", "n": 64,
"depth": 0, "seqs": 1}.

llama.cpp comes from PyPI's llama-cpp-python at the version below, compiled here on first
use (about 10 minutes on 2 cores) into a virtual environment of its own per --isa, under
$XDG_CACHE_HOME/sluice/peers. `avx2` leaves AVX-512 out: the peer for SLUICE_CPU=avx2.
"""
import ctypes

import peer_llama

PACKAGE = peer_llama.Package(
    engine="llama.cpp", package="llama-cpp-python", module="llama_cpp", version="0.3.36", script=__file__,
    cmake={"native": ["-DGGML_NATIVE=ON"],
           "avx2": ["-DGGML_NATIVE=OFF", "-DGGML_AVX=ON", "-DGGML_AVX2=ON", "-DGGML_FMA=ON", "-DGGML_F16C=ON",
                    "-DGGML_BMI2=ON", "-DGGML_AVX512=OFF"]})


class Library:
    def __init__(self):
        import llama_cpp as L
        self.L = L
        self.silence = L.llama_log_callback(lambda level, text, data: None)  # kept: C holds the pointer
        L.llama_log_set(self.silence, ctypes.c_void_p(0))

    def adjust(self, params, _seqs):
        params.no_perf = True

    def clear(self, context):
        self.L.llama_memory_clear(self.L.llama_get_memory(context), False)

    def truncate(self, context, sequence, depth):
        self.L.llama_memory_seq_rm(self.L.llama_get_memory(context), sequence, depth, -1)

    def synchronize(self, context):
        self.L.llama_synchronize(context)

    def system_info(self):
        return self.L.llama_print_system_info().decode(errors="replace").strip()


if __name__ == "__main__":
    peer_llama.main(PACKAGE, Library, __doc__)
