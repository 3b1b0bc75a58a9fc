#!/usr/bin/env python3
"""Write src/tokenizer/unicode_tab.c: what characters are, for the patterns of tokenizers.

The reference is the regex engine inside the PyPI package `tokenizers` (Oniguruma, Unicode 16), asked
about every code point, since token ids must match that library and not the Unicode version of the
pcre2 or Python at hand. The PyPI package `regex` only says which names to ask for.

    python3 -m venv venv && venv/bin/pip install tokenizers==0.23.3 regex
    venv/bin/python tools/gen_unicode.py src/tokenizer/unicode_tab.c
"""
import re
import sys

import regex
import tokenizers
from regex import _regex_core
from tokenizers import Regex, pre_tokenizers as pt

POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
ALL = "".join(map(chr, POINTS))
CATEGORIES = "Cn Co Lo So Mn Ll Lu Po Sm Nd No Lm Mc Cc Cf Lt Me Nl Zs Zl Zp Pc Pd Ps Pe Pi Pf Sc Sk".split()


def rest(pattern, text):
    """The characters of text that the pattern leaves, in order."""
    pieces = pt.Split(Regex(pattern), "removed").pre_tokenize_str(text)
    return "".join(piece for piece, _ in pieces)


def members(pattern, text=ALL):
    return set(text) - set(rest(pattern, text))


def divide(names, pattern, text):
    """{character: name} and what no name took; each question is only about what is left."""
    of = {}
    for name in names:
        left = rest(pattern % name, text)
        for c in set(text) - set(left):
            of[c] = name
        text = left
    return of, text


def script_names():
    """{full name: short name}, as the reference takes them; those that have members by the long name."""
    values = _regex_core.PROPERTIES["SCRIPT"][1]
    by_id = {}
    for name, number in values.items():
        by_id.setdefault(number, set()).add(name)
    out = {}
    for names in by_id.values():
        short = sorted(n for n in names if len(n) == 4)
        full = max((n for n in names if len(n) != 4), key=len, default=short[0] if short else "")
        if full not in ("UNKNOWN", "KATAKANAORHIRAGANA"):
            out[full.lower()] = short[-1].lower() if short else full.lower()
    return out


def known(pattern):
    try:
        Regex(pattern)
        return True
    except Exception:  # the package raises nothing more precise
        return False


def case_orbits():
    """[sorted characters that are one when case is ignored]"""
    candidates = regex.findall(r"\p{CWCM}|\p{CWCF}|\p{Cased}", ALL)
    text = "\0".join(candidates)
    seen, orbits = set(), []
    for c in candidates:
        if c in seen:
            continue
        orbit = members(f"(?i:\\x{{{ord(c):x}}})", text)
        seen |= orbit
        if len(orbit) > 1:
            orbits.append(sorted(map(ord, orbit)))
    return orbits


def case_runs(orbits):
    """[first, last, step, delta]: c in first, first + step, ... last is followed in its orbit by c + delta"""
    following = {}
    for orbit in orbits:
        following |= dict(zip(orbit, orbit[1:] + orbit[:1]))
    runs = []
    for c in sorted(following):
        delta = following[c] - c
        # Two alternating runs (upper, lower, upper, ...) are open at once.
        for run in runs[-3:]:
            if run[3] == delta and (c - run[1] == run[2] or (run[0] == run[1] and c - run[1] in (1, 2))):
                run[2] = c - run[1]
                run[1] = c
                break
        else:
            runs.append([c, c, 1, delta])
    # Sorted by their first character a run may still reach into the next: readers scan them all.
    return runs


def multiple_folds():
    """[(character, what it becomes)] where case is ignored by comparing with several characters"""
    out = [(c, c.casefold()) for c in ALL if len(c.casefold()) > 1]
    for c, folded in out:
        assert not rest(f"(?i:{c})", folded), c
    return out


def spans(chars):
    out = []
    for c in sorted(map(ord, chars)):
        if out and out[-1][1] + 1 == c:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def runs_of(of, numbers, default):
    """Packed code point << 8 | number, where the number changes. Surrogates: like what is before."""
    out, last = [], None
    for c in POINTS:
        number = numbers[of[chr(c)]] if chr(c) in of else default
        if number != last:
            out.append(c << 8 | number)
            last = number
    return out


def rust_set(outside):
    """Characters that a step of the library which asks Rust, not the regex engine, splits off an `a`."""
    return {chr(c) for c in POINTS if outside(f"a{chr(c)}")}


def check_derived(gc, extra):
    """What unicode.c derives from categories must be what the reference says by name."""
    def of(*categories):
        return {c for c in ALL if any(gc[c].startswith(k) for k in categories)}

    spaces = of("Z") | set("\t\n\v\f\r\x85")
    alphabetic = of("L", "Nl") | extra["alphabetic"]
    hidden = of("Cc", "Cn")
    for name, want in {
        r"\s": spaces, r"[[:space:]]": spaces, r"\p{White_Space}": spaces, r"\d": of("Nd"), r"[[:digit:]]": of("Nd"),
        r"\w": alphabetic | of("M", "Nd", "Pc") | set("\xb2\xb3\xb9\xbc\xbd\xbe"),
        r"[\w]": alphabetic | of("M", "Nd", "Pc"), r"[[:word:]]": alphabetic | of("M", "Nd", "Pc"),
        r"[[:alpha:]]": alphabetic, r"[[:alnum:]]": alphabetic | of("Nd"), r"[[:upper:]]": of("Lu") | extra["uppercase"],
        r"[[:lower:]]": of("Ll") | extra["lowercase"], r"[[:blank:]]": of("Zs") | {"\t"}, r"[[:cntrl:]]": of("Cc"),
        r"[[:graph:]]": set(ALL) - spaces - hidden, r"[[:print:]]": set(ALL) - (spaces - of("Zs")) - hidden,
        r"[[:punct:]]": of("P", "S"), r"\p{Punct}": of("P"), r"[[:xdigit:]]": set("0123456789abcdefABCDEF"), r"\h": set("0123456789abcdefABCDEF"),
        r"[[:ascii:]]": set(map(chr, range(128))), r"\p{Any}": set(ALL), r"\p{Assigned}": set(ALL) - of("Cn"),
        r"\p{LC}": of("Lu", "Ll", "Lt"), r"\p{L}": of("L"), r"\p{P}": of("P"), r"\p{S}": of("S"), r"\p{M}": of("M"),
        r"\p{N}": of("N"), r"\p{Z}": of("Z"), r"\p{C}": of("C"),
    }.items():
        got = members(name)
        if got != want:
            print(f"{name}: {len(got - want)} more, {len(want - got)} fewer than derived: {spans(got ^ want)[:12]}")


def numbers(lines, values, per_line, form="0x{:08x}"):
    for i in range(0, len(values), per_line):
        lines.append("    " + " ".join(form.format(v) + "," for v in values[i : i + per_line]))


def ranges(lines, name, chars):
    found = spans(chars)
    lines.append(f"static const sl_unicode_range {name}[] = {{")
    for i in range(0, len(found), 7):
        lines.append("    " + " ".join(f"{{ 0x{a:04x}, 0x{b:04x} }}," for a, b in found[i : i + 7]))
    lines += ["};", ""]


def main():
    gc, left = divide(CATEGORIES, r"\p{%s}+", ALL)
    assert not left, left[:10]
    assigned = "".join(c for c in ALL if gc[c] not in ("Cn", "Co"))
    scripts = {full: short for full, short in script_names().items() if known(f"\\p{{{full}}}")}
    by_script, left = divide(scripts, r"\p{%s}+", assigned)
    assert not left, left[:10]
    order = sorted(scripts)
    extra = {
        "alphabetic": {c for c in members(r"\p{Alphabetic}") if gc[c][0] != "L" and gc[c] != "Nl"},
        "lowercase": {c for c in members(r"\p{Lowercase}") if gc[c] != "Ll"},
        "uppercase": {c for c in members(r"\p{Uppercase}") if gc[c] != "Lu"},
        "rust_numeric": rust_set(lambda t: len(pt.Digits(individual_digits=True).pre_tokenize_str(t)) == 2),
        "rust_punctuation": rust_set(lambda t: len(pt.Punctuation().pre_tokenize_str(t)) == 2),
        "rust_word": set(ALL) - rust_set(lambda t: [p for p, _ in pt.Whitespace().pre_tokenize_str(t)] != [t]),
    }
    check_derived(gc, extra)
    print({name: len(chars) for name, chars in extra.items()})

    lines = [
        "/* unicode_tab.c - generated by tools/gen_unicode.py from PyPI tokenizers " + tokenizers.__version__ + ": its",
        " * regex engine (Unicode 16); what begins with rust from its steps that ask Rust. Do not edit: run the script",
        " * again. */",
        '#include "tokenizer/unicode_tab.h"',
        "",
        '#include "base/num.h"',
        "",
        "/* clang-format off */",
        "const uint32_t sl_unicode_categories[] = {",
    ]
    numbers(lines, runs_of(gc, {n: i for i, n in enumerate(CATEGORIES)}, 0), 10)
    lines += ["};", "const size_t sl_unicode_n_categories = SL_COUNT(sl_unicode_categories);", ""]
    lines.append("const char sl_unicode_category_names[][3] = {")
    numbers(lines, CATEGORIES, 15, '"{}"')
    lines += ["};", "const size_t sl_unicode_n_category_names = SL_COUNT(sl_unicode_category_names);", ""]
    lines.append("const uint32_t sl_unicode_scripts[] = {")
    numbers(lines, runs_of(by_script, {n: i for i, n in enumerate(order)}, len(order)), 10)
    lines += ["};", "const size_t sl_unicode_n_scripts = SL_COUNT(sl_unicode_scripts);", ""]
    lines.append("const sl_unicode_script_name sl_unicode_script_names[] = {")
    for i in range(0, len(order), 4):
        lines.append("    " + " ".join(f'{{ "{n}", "{scripts[n]}" }},' for n in order[i : i + 4]))
    lines += ["};", "const size_t sl_unicode_n_script_names = SL_COUNT(sl_unicode_script_names);", ""]
    for name, chars in extra.items():
        ranges(lines, name, chars)
    lines.append("const sl_unicode_set sl_unicode_sets[] = {")
    lines += [f'    {{ "{name.replace("_", "")}", {name}, SL_COUNT({name}) }},' for name in extra]
    lines += ["};", "const size_t sl_unicode_n_sets = SL_COUNT(sl_unicode_sets);", ""]
    lines.append("const sl_unicode_case_run sl_unicode_case_runs[] = {")
    runs = case_runs(case_orbits())
    for i in range(0, len(runs), 5):
        lines.append("    " + " ".join("{{ 0x{:04x}, 0x{:04x}, {}, {} }},".format(*r) for r in runs[i : i + 5]))
    lines += ["};", "const size_t sl_unicode_n_case_runs = SL_COUNT(sl_unicode_case_runs);", ""]
    lines.append("const uint32_t sl_unicode_folds[][4] = {")
    folds = multiple_folds()
    for i in range(0, len(folds), 4):
        lines.append("    " + " ".join("{ " + ", ".join(f"0x{ord(x):04x}" for x in c + f) + " }," for c, f in folds[i : i + 4]))
    lines += ["};", "const size_t sl_unicode_n_folds = SL_COUNT(sl_unicode_folds);", "/* clang-format on */", ""]
    assert all(re.fullmatch(r"[\x20-\x7e]*", line) for line in lines)
    with open(sys.argv[1], "w", encoding="ascii") as f:
        f.write("\n".join(lines))


main()
