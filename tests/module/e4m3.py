#!/usr/bin/env python3
"""Rows and what NumPy with PyPI ml_dtypes makes of them when they are rounded to E4M3, in groups of 128 columns, with
scales that are powers of two, and in whole rows: tests/data/e4m3, for test_act.

    python3 tests/module/e4m3.py FOLDER
"""
import sys
from pathlib import Path

import ml_dtypes
import numpy as np

COLS = 300  # two groups, and a third that is shorter


def rounded(x, power=False):
    """A group: the scale is its largest magnitude / 448, or the power of two that is not below it."""
    scale = np.abs(x).max() / np.float32(448)
    if scale == 0:
        return np.zeros_like(x)
    if power:
        mantissa, exponent = np.frexp(np.float64(scale))
        scale = np.float32(np.ldexp(1.0, max(exponent - int(mantissa == 0.5), -126)))
    codes = np.clip(x / scale, -448, 448).astype(ml_dtypes.float8_e4m3fn)
    return codes.astype(np.float32) * scale


def halfway():
    """Groups whose scale is 1: every number of E4M3, what lies halfway to the next, and right beside that."""
    codes = np.arange(127, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float32)
    middle = (codes[1:] + codes[:-1]) / 2
    every = np.concatenate([codes, middle, np.nextafter(middle, np.float32(0)), np.nextafter(middle, np.float32(999))])
    every[::2] *= -1
    return [np.concatenate([[np.float32(448)], part]) for part in np.array_split(every, 4)]


def main():
    rng = np.random.default_rng(1)
    uniform = lambda: rng.uniform(-1, 1, COLS).astype(np.float32)  # noqa: E731
    rows = [uniform() * np.float32(3),
            uniform() * np.exp2(rng.integers(-30, 10, COLS)).astype(np.float32),  # most are subnormal, or vanish
            uniform() * np.float32(3e38),
            uniform() * np.float32(1e-38),
            np.round(uniform() * 600).astype(np.float32) * np.float32(2.0**-149)]  # the scale is as coarse as can be
    zeros = uniform()
    zeros[:128] = 0
    zeros[200:] = -0.0
    rows.append(zeros)
    for part in halfway():
        rows.append(np.resize(part, COLS).astype(np.float32))
        rows[-1][128], rows[-1][256] = 448, -448
    rows = np.array(rows, dtype=np.float32)
    groups, powers = (np.array([np.concatenate([rounded(row[k:k + 128], power) for k in range(0, COLS, 128)])
                                for row in rows]) for power in (False, True))
    folder = Path(sys.argv[1])
    for name, values in (("rows", rows), ("groups", groups), ("powers", powers),
                         ("tokens", np.array([rounded(row) for row in rows]))):
        assert values.dtype == np.float32 and np.isfinite(values).all(), name
        np.save(folder / f"{name}.npy", values)


main()
