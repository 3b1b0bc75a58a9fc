/* chrome.c - the spans as a file for chrome://tracing and Perfetto.
 * Source: "Trace Event Format", the JSON array form with complete ("X") events. */
#include "trace/trace.h"
#include "trace/trace_in.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/num.h"

/* Names are ours and ASCII; whatever else got in must not break the file. */
static void write_text(FILE *f, const char *s)
{
    for (; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fputc('\\', f);
        fputc(c < 0x20 || c >= 0x7f ? '?' : c, f);
    }
}

/* Nanoseconds as microseconds, exactly. */
static void write_us(FILE *f, const char *key, uint64_t ns)
{
    fprintf(f, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

static void write_span(FILE *f, const sl_span *s, size_t thread, uint64_t zero_ns)
{
    static const char *const kinds[] = { [SL_SPAN_OP] = "op",
                                         [SL_SPAN_BARRIER] = "barrier",
                                         [SL_SPAN_STEP] = "step",
                                         [SL_SPAN_DISK] = "disk",
                                         [SL_SPAN_SERIAL] = "serial" };
    const uint64_t ns = s->end_ns - s->begin_ns;
    fputs("{\"name\":\"", f);
    write_text(f, s->name);
    fprintf(f, "\",\"cat\":\"%s\",\"ph\":\"X\"", kinds[s->kind]);
    write_us(f, "ts", s->begin_ns - zero_ns);
    write_us(f, "dur", ns);
    fprintf(f, ",\"pid\":1,\"tid\":%zu,\"args\":{", thread);
    if (s->step > 0)
        fprintf(f, "\"step\":%" PRIu32 ",", s->step);
    if (s->layer >= 0)
        fprintf(f, "\"layer\":%" PRId32 ",", s->layer);
    fprintf(f, "\"tokens\":%" PRIu32 ",\"bytes\":%" PRIu64 ",\"ops\":%" PRIu64, s->n_tokens, s->bytes, s->ops);
    const sl_span_experts *x = &s->experts;
    if (x->hit > 0)
        fprintf(f,
                ",\"experts\":%" PRIu32 ",\"expert_tokens\":{\"least\":%" PRIu32 ",\"mean\":%.2f,\"most\":%" PRIu32
                "},\"expert_bytes\":%" PRIu64,
                x->hit, x->least, (double)x->picks / (double)x->hit, x->most, x->bytes);
    if (ns > 0) /* bytes per nanosecond are GB/s */
        fprintf(f, ",\"GB/s\":%.3f,\"GFLOP/s\":%.3f", (double)s->bytes / (double)ns, (double)s->ops / (double)ns);
    fputs("}}", f);
}

/* What the thread is called where it is shown; metadata ("M") events. */
static void write_thread_name(FILE *f, size_t thread)
{
    fprintf(f, "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%zu,\"args\":{\"name\":\"%s %zu\"}}", thread,
            thread ? "sluice" : "caller", thread);
}

/* Whole counts of one layer, at the end of time. */
static void write_picks(FILE *f, const sl_expert_picks *p, size_t layer, uint64_t at_ns)
{
    const uint64_t *picks = p->picks + layer * p->n_experts;
    const sl_expert_load l = sl_expert_load_of(picks, p->n_experts);
    fputs("{\"name\":\"expert picks\",\"ph\":\"I\",\"s\":\"g\",\"pid\":1,\"tid\":0", f);
    write_us(f, "ts", at_ns);
    fprintf(f, ",\"args\":{\"layer\":%zu,\"used\":%zu,\"most\":%zu,\"most_share\":%.6f,\"entropy_bits\":%.4f", layer,
            l.used, l.most, l.most_share, l.entropy);
    for (size_t e = 0; e < p->n_experts; e++)
        fprintf(f, "%s%" PRIu64, e ? "," : ",\"picks\":[", picks[e]);
    fputs("]}}", f);
}

/* Viewers count in doubles: times start at the first span, not at boot. */
static uint64_t first_begin(const sl_trace *t)
{
    uint64_t first = UINT64_MAX;
    for (size_t thread = 0; thread < t->n_threads; thread++)
        for (size_t i = 0; i < sl_trace_kept(t, thread); i++)
            first = SL_MIN(first, sl_trace_span(t, thread, i)->begin_ns);
    return first;
}

static uint64_t last_end(const sl_trace *t)
{
    uint64_t last = 0;
    for (size_t thread = 0; thread < t->n_threads; thread++)
        if (sl_trace_kept(t, thread))
            last = SL_MAX(last, sl_trace_span(t, thread, sl_trace_kept(t, thread) - 1)->end_ns);
    return last;
}

sl_status sl_trace_write(const sl_trace *t, FILE *f, sl_err *err)
{
    const uint64_t zero_ns = first_begin(t);
    const char *separator = "[\n";
    for (size_t thread = 0; thread < t->n_threads; thread++) {
        fputs(separator, f);
        write_thread_name(f, thread);
        separator = ",\n";
    }
    for (size_t thread = 0; thread < t->n_threads; thread++)
        for (size_t i = 0; i < sl_trace_kept(t, thread); i++) {
            fputs(separator, f);
            write_span(f, sl_trace_span(t, thread, i), thread, zero_ns);
        }
    const sl_expert_picks *p = &t->experts;
    for (size_t layer = 0; layer < p->n_layers; layer++)
        if (sl_expert_load_of(p->picks + layer * p->n_experts, p->n_experts).picks) {
            fputs(separator, f);
            write_picks(f, p, layer, last_end(t) - zero_ns);
        }
    fputs("\n]\n", f);
    if (fflush(f) != 0 || ferror(f))
        return sl_fail(err, SL_EIO, "writing the trace: %s", strerror(errno));
    return SL_OK;
}
