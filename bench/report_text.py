"""The report of a record: Markdown, the chart of its roofline, and the short table of a README."""
import re
import statistics

import chart
import kernels
import roof
import rounds

SERIES = ("prompts", "one stream", "at a depth", "several streams")


def kind(name):
    t = roof.parse_test(name)
    return 0 if t.kind == "pp" else 3 if t.seqs > 1 else 2 if t.depth else 1


def words(name):
    """A test's name as people say it."""
    t = roof.parse_test(name)
    if t.kind == "pp":
        return f"prompt of {t.n:,}"
    streams = "one stream" if t.seqs == 1 else f"{t.seqs} streams"
    return streams + (f", {t.depth:,} tokens before" if t.depth else "")


def in_order(entries):
    def place(item):
        t = roof.parse_test(item[0])
        return kind(item[0]), t.depth, t.seqs, t.n
    return sorted(((n, e) for n, e in entries.items() if e.get("summary") or e["failed"]), key=place)


def figure(v):
    return f"{v:,.0f}" if v >= 100 else f"{v:.1f}" if v >= 10 else f"{v:.2f}"


def with_quartiles(s, form=figure):
    return f"{form(s['median'])} ({form(s['q1'])}–{form(s['q3'])})"


def share(v):
    return f"{v:.2f}"


def row(*cells):
    return "| " + " | ".join(str(c).replace("|", "\\|") for c in cells) + " |"


def table(head, lines):
    return [row(*head), row(*["---"] * len(head)), *lines, ""]


def gb_s(s):
    return s["bytes"] / s["tokens"] * s["tok_s"]["ours"]["median"] * 1e-9


def count(s):
    return f"{s['rounds'] - s['discarded']} of {s['rounds']}"


# ---- tables ----------------------------------------------------------------------------

def machine_table(record):
    sessions = record["sessions"]
    lines = []
    for key in (k for k in sessions[0]["roofline_before"] if k.endswith(("GBs", "OPs"))):
        cells = [s[when].get(key) for s in sessions for when in ("roofline_before", "roofline_after") if s.get(when)]
        lines.append(row(f"`{key}`", *("–" if c is None else figure(c) for c in cells)))
    heads = [f"{when}, {s['started'][:16]}" for s in sessions for when in ("before", "after") if s.get(f"roofline_{when}")]
    return table(["", *heads], lines)


def alone_table(entries):
    lines = []
    for name, entry in entries:
        s = entry.get("summary")
        if entry["failed"]:
            lines.append(row(words(name), name, f"failed: {entry['failed']['ours']}", "", "", "", ""))
        elif not s["measurable"]:
            lines.append(row(words(name), name, "not measurable today", "", "", "", count(s)))
        else:
            lines.append(row(words(name), name, with_quartiles(s["tok_s"]["ours"]), figure(s["roof_tok_s"]),
                             "**" + share(s["share"]["ours"]["median"]) + "**", figure(gb_s(s)), count(s)))
    return table(["test", "", "tok/s (quartiles)", "the roof allows", "share", "GB/s", "rounds"], lines)


def peers_of(entries):
    names = [role for _, e in entries for r in e["rounds"] for role in r["tok_s"]] + [role for _, e in entries for role in e["failed"]]
    return [p for p in dict.fromkeys(names) if p != "ours"]


def peers_table(entries):
    peers, lines = peers_of(entries), []
    for name, entry in entries:
        s = entry.get("summary")
        if not s or not s["measurable"]:
            why = "not measurable today" if s else f"failed: {entry['failed'].get('ours', 'all peers')}"
            lines.append(row(words(name), why, *[""] * (2 * len(peers) + 2), count(s) if s else ""))
            continue
        lines.append(row(words(name), figure(s["tok_s"]["ours"]["median"]),
                         *(figure(s["tok_s"][p]["median"]) if p in s["tok_s"] else "failed" for p in peers),
                         "**" + with_quartiles(s["ratio"], share) + "**" if "ratio" in s else "–",
                         share(s["share"]["ours"]["median"]),
                         *(share(s["share"][p]["median"]) if p in s["share"] else "–" for p in peers), count(s)))
    return table(["test", "sluice tok/s", *(f"{p} tok/s" for p in peers), "ratio to the better (quartiles)", "share",
                  *(f"share of {p}" for p in peers), "rounds"], lines)


def kernel_table(cases):
    lines = []
    for i, c in enumerate(cases, 1):
        lines.append(row(i, c["case"], "memory" if kernels.in_memory(c) else "cache", figure(c["best_ns"] / 1000), figure(c["gb_s"]),
                         figure(c["gop_s"]), share(c["peak_share"]) if "peak_share" in c else "–", f"**{share(c['roof_share'])}**"))
    return table(["", "case", "reads from", "µs", "GB/s", "GOP/s", "of the peak", "of the bound"], lines)


# ---- the chart -------------------------------------------------------------------------

def peak_names(record, model):
    """The yardsticks that the tests of a model are held against."""
    isa, act = record["setup"]["isa"], record["setup"]["act"]
    used = {roof.yardstick(isa, act, t) for e in model["alone"].values() if e.get("summary") for t in e["summary"]["linear_ops"]}
    return used | {roof.YARDSTICKS[isa]["f32"]}


def models_panel(record):
    dots, used, several = [], set(), len(record["models"]) > 1
    for i, (file, m) in enumerate(record["models"].items()):
        for name, e in in_order(m["alone"]):
            s = e.get("summary")
            if not s or not s["measurable"]:
                continue
            ops, used = sum(s["linear_ops"].values()) + s["attention_ops"], used | peak_names(record, m)
            tok_s = s["tok_s"]["ours"]["median"]
            dots.append(chart.Dot(ops / s["bytes"], ops / s["tokens"] * tok_s * 1e-9, name,
                                  f"{file} {name}: {figure(tok_s)} tok/s, share {share(s['share']['ours']['median'])}",
                                  i if several else kind(name)))
    best = rounds.best_roofline(record["sessions"])
    peaks = [(k.rsplit("_", 1)[0], v) for k, v in best.items() if k.endswith("OPs") and k.rsplit("_", 1)[0] in used]
    if not dots or not peaks:
        return None
    threads = record["setup"]["threads"]
    return chart.Panel(f"Whole models, {threads} thread{'s' if threads > 1 else ''}", [("memory", best["read_best_GBs"], False)],
                       peaks, dots, list(record["models"]) if several else list(SERIES))


def kernels_panel(cases):
    dots = [chart.Dot(c["gop_s"] / c["gb_s"], c["gop_s"], str(i), f"{i}: {c['case']}: share {share(c['roof_share'])}",
                      int(kernels.is_attention(c))) for i, c in enumerate(cases, 1) if c["gb_s"] > 0]
    peaks = {}
    for c in cases:
        if "peak" in c:
            peaks.setdefault(c["peak"], []).append(c["peak_gop_s"])
    memory = []
    for name, far in (("memory", True), ("cache", False)):
        rates = [c["read_gb_s"] for c in cases if kernels.in_memory(c) == far]
        if rates:
            memory.append((name, statistics.median(rates), not far))
    if not dots or not peaks:
        return None
    return chart.Panel("Kernels, one thread; numbers as in the report's table", memory,
                       [(name, statistics.median(rates)) for name, rates in sorted(peaks.items())], dots,
                       ["matrix products", "attention"])


def in_table_order(record):
    return sorted(record["kernels"].values(), key=kernels.order)


def svg(record):
    """The chart; None: nothing in the record has a place on it."""
    panels = [p for p in (models_panel(record), kernels_panel(in_table_order(record))) if p]
    return chart.svg(panels) if panels else None


# ---- whole texts -----------------------------------------------------------------------

def preamble(record):
    m, setup, last = record["machine"], record["setup"], record["sessions"][-1]
    lines = [f"# Speed on {m['cpu']}, {setup['isa']}", "",
             f"- {m['cpu']}, {m['cpus']} CPUs, Linux {m['kernel']}; kernels for {setup['isa']}, {setup['threads']} threads, "
             f"keys and values in {setup['kv']}, activations `{setup['act']}`",
             f"- {last['started'][:10]}, commit `{record['commit']}`, sluice {last['version']}",
             f"- load at the start: {', '.join(str(s['load1']) for s in record['sessions'])} (1 minute, each session)"]
    lines += [f"- `{line}`" for line in dict.fromkeys(s["command"] for s in record["sessions"])]
    if not record.get("finished"):
        lines.append("- **Unfinished:** the same command goes on with it.")
    return lines


def model_sections(record):
    lines = []
    for file, m in record["models"].items():
        lines += [f"## {file}", "", f"{m['bytes'] / 1e6:,.0f} MB, {m['types']}.", ""]
        alone, beside = in_order(m["alone"]), in_order(m["beside"])
        if alone:
            lines += alone_table(alone)
        lines += [f"Not measured: {name}, since {why}.\n" for name, why in m["skipped"].items()]
        if beside:
            lines += ["Beside the peers, in turn:", "", *peers_table(beside)]
            lines += [f"- {p}: {m['peers'][p]['version']}, `{m['peers'][p]['command']}`" for p in peers_of(beside) if p in m["peers"]]
            lines += [f"- {name}: {why}" for name, e in beside for role, why in e["failed"].items()]
            lines.append("")
    return lines


def markdown(record, picture, measuring):
    """picture: file name of the chart or None; measuring: where docs/measuring.md is, from the report."""
    lines = [*preamble(record), "", f"How it was measured, and what a share is: [measuring]({measuring})."]
    if picture:
        lines += ["", f"![operations per byte against operations a second]({picture})"]
    lines += ["", "## The machine", "", *machine_table(record), *model_sections(record)]
    cases = in_table_order(record)
    if cases:
        lines += ["## Kernels", "", "One thread, CPU time, best of many; the yardsticks were timed between the samples.", "",
                  *kernel_table(cases)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def readme(record):
    """The short table: what was measured beside peers, else what was measured alone."""
    lines, peers = [], list(dict.fromkeys(p for m in record["models"].values() for p in peers_of(in_order(m["beside"]))))
    for file, m in record["models"].items():
        name = re.sub(r"\.gguf$", "", file)
        for test, e in in_order(m["beside"] if peers else m["alone"]):
            s = e.get("summary")
            if not s or not s["measurable"]:
                lines.append(row(name, words(test), "not measurable today" if s else "failed", *[""] * (len(peers) + bool(peers) + 1)))
                name = ""
                continue
            speeds = [figure(s["tok_s"][p]["median"]) if p in s["tok_s"] else "–" for p in ("ours", *peers)]
            ratio = ["**" + with_quartiles(s["ratio"], share) + "**" if "ratio" in s else "–"] if peers else []
            lines.append(row(name, words(test), *speeds, *ratio, share(s["share"]["ours"]["median"])))
            name = ""
    head = ["model", "test", "sluice tok/s", *(f"{p} tok/s" for p in peers), *(["ratio to the better"] if peers else []),
            "share of the roof"]
    last = record["sessions"][-1]
    return "\n".join([*table(head, lines),
                      f"{last['started'][:10]}, {record['machine']['cpu']}, {record['setup']['isa']}, {record['setup']['threads']} threads, "
                      f"KV cache {record['setup']['kv']}, commit `{record['commit']}`: `{last['command']}`"]) + "\n"
