#include "cli/session.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cpu.h"
#include "base/num.h"
#include "cli/deploy.h"
#include "cli/find.h"

#define FORMATS_MAX 16

static void tell_check(void *user, const char *tensor, uint64_t done, uint64_t total)
{
    (void)user;
    sl_cli_progress("checking %s, %.0f %%", tensor, 100.0 * (double)done / (double)total);
}

static void tell_read(void *user, uint64_t done, uint64_t total)
{
    (void)user;
    sl_cli_progress("reading the weights, %.0f %%", 100.0 * (double)done / (double)total);
}

static sl_exit open_found(sl_session *s, const sl_args *args, bool text_only)
{
    const bool in_file = !args->no_mmap && !args->repack && (!args->weights || strcmp(args->weights, "map") == 0);
    sl_err err = { 0 };
    const double begin = sl_cli_now();
    const sl_model_options o = { .text = { .pretokenizer = args->override_pretokenizer,
                                           .overrides = args->override_kv.data,
                                           .n_overrides = args->override_kv.n },
                                 .check_tensors = args->check_tensors,
                                 .on_check = sl_cli_progress_wanted(args->quiet) ? tell_check : NULL,
                                 .huge_pages = args->huge_pages && strcmp(args->huge_pages, "thp") == 0 && in_file,
                                 .on_read = sl_cli_progress_wanted(args->quiet) ? tell_read : NULL };
    struct stat sb;
    sl_exit code = sl_find_model(args->model, &s->path);
    if (code)
        sl_str_clear(&s->path);
    if (!code && sl_cli_progress_wanted(args->quiet)) /* seen only where disk or network are slow */
        sl_cli_progress("opening %s", s->path.data);
    if (!code && (text_only ? sl_text_open(&s->text, s->path.data, &o.text, &err)
                            : sl_model_open_with(&s->model, s->path.data, &o, &err))) {
        sl_cli_progress_end();
        code = err.code == SL_EINVAL ? sl_cli_usage("%s", err.msg) : sl_cli_failed("%s", err.msg);
    }
    sl_cli_progress_end();
    if (!code && stat(s->path.data, &sb))
        code = sl_cli_failed("%s: %s", s->path.data, strerror(errno));
    if (!code) {
        s->model_dev = sb.st_dev;
        s->model_ino = sb.st_ino;
    }
    s->load_s = sl_cli_now() - begin;
    return code;
}

sl_exit sl_session_open(sl_session *s, const sl_args *args)
{
    sl_err err = { 0 };
    const sl_exit code = open_found(s, args, false);
    if (!code && args->deploy && sl_deploy_check(args->deploy, s->model, &err))
        return sl_cli_fail(&err);
    return code;
}

sl_exit sl_session_open_text(sl_session *s, const sl_args *args)
{
    return open_found(s, args, true);
}

void sl_session_sampling(const sl_session *s, sl_args *args)
{
    sl_model_sampling m;
    sl_model_get_sampling(s->model, &m);
    if (args->temp < 0.0)
        args->temp = (double)m.temperature;
    if (args->top_k < 0)
        args->top_k = m.top_k;
    if (args->top_p < 0.0)
        args->top_p = (double)m.top_p;
    if (args->min_p < 0.0)
        args->min_p = (double)m.min_p;
    if (args->repeat_penalty < 0.0)
        args->repeat_penalty = (double)m.repeat_penalty;
}

static const sl_text *text_of(const sl_session *s)
{
    return s->text ? s->text : sl_model_text(s->model);
}

const sl_text *sl_session_text(const sl_session *s)
{
    sl_err why = { 0 };
    const sl_text *t = text_of(s);
    if (sl_text_has_tokenizer(t, &why))
        return t;
    sl_cli_failed("%s%s", why.msg,
                  strstr(why.msg, "pre-tokenizer \"") ? " (--override-pretokenizer NAME takes one of them)" : "");
    return NULL;
}

sl_exit sl_session_check_ids(const sl_session *s, const sl_ids *ids, const char *what)
{
    sl_model_info info = { 0 };
    if (s->model)
        sl_model_describe(s->model, &info);
    else
        info.n_vocab = sl_text_n_tokens(s->text);
    for (size_t i = 0; i < ids->n; i++)
        if (ids->data[i] < 0 || (size_t)ids->data[i] >= info.n_vocab)
            return sl_cli_usage("%s: id %d is outside the vocabulary (0 to %zu)", what, ids->data[i], info.n_vocab - 1);
    return SL_EXIT_OK;
}

/* ---- the engine ------------------------------------------------------------------ */

void sl_session_formats(const sl_model *m, sl_str *out)
{
    sl_model_info info;
    struct {
        const char *name;
        uint64_t bytes;
    } seen[FORMATS_MAX] = { 0 };
    size_t n = 0;
    sl_model_describe(m, &info);
    for (size_t i = 0; i < info.n_tensors; i++) {
        sl_tensor_info t;
        sl_model_tensor(m, i, &t);
        size_t k = 0;
        while (k < n && strcmp(seen[k].name, t.format) != 0)
            k++;
        if (k == FORMATS_MAX)
            continue;
        n = SL_MAX(n, k + 1);
        seen[k].name = t.format;
        seen[k].bytes += t.bytes;
    }
    for (size_t shown = 0; shown < n; shown++) {
        size_t most = 0;
        for (size_t k = 1; k < n; k++)
            if (seen[k].bytes > seen[most].bytes)
                most = k;
        sl_str_printf(out, "%s%s", shown ? " + " : "", seen[most].name);
        seen[most].bytes = 0;
    }
}

/* "A, B": which of these n formats matrices of the model have. */
static void formats_among(const sl_model *m, const char *const *formats, size_t n, char out[SL_FORMATS_TEXT_MAX])
{
    sl_model_info info;
    size_t used = 0;
    *out = '\0';
    sl_model_describe(m, &info);
    for (size_t f = 0; f < n; f++) {
        bool there = false;
        for (size_t i = 0; i < info.n_tensors && !there; i++) {
            sl_tensor_info t;
            sl_model_tensor(m, i, &t);
            there = t.n_dims > 1 && strcmp(t.format, formats[f]) == 0;
        }
        if (there && used < SL_FORMATS_TEXT_MAX)
            used += (size_t)snprintf(out + used, SL_FORMATS_TEXT_MAX - used, "%s%s", used ? ", " : "", formats[f]);
    }
}

void sl_session_f32_formats(const sl_model *m, char out[SL_FORMATS_TEXT_MAX])
{
    static const char *const formats[] = { "F32",   "F16",       "BF16",      "F8_E4M3",  "Q2_K",
                                           "NVFP4", "GPTQ4_ANY", "GPTQ8_ANY", "INT4_ANY", "INT8_ANY" };
    formats_among(m, formats, SL_COUNT(formats), out);
}

void sl_session_rounded_formats(const sl_model *m, char out[SL_FORMATS_TEXT_MAX])
{
    static const char *const formats[] = { "F8_E4M3_128", "F8_E4M3_UE8M0", "F8_E4M3_TOKEN" };
    formats_among(m, formats, SL_COUNT(formats), out);
}

/* Devices and pipes may be read and written at once. */
static bool names_file(const char *path, const struct stat *file)
{
    struct stat sb;
    return stat(path, &sb) == 0 && S_ISREG(sb.st_mode) && sb.st_dev == file->st_dev && sb.st_ino == file->st_ino;
}

sl_exit sl_session_check_output(const sl_session *s, const sl_args *args, const char *option, const char *path)
{
    struct stat sb;
    sl_err err = { 0 };
    if (stat(path, &sb))
        return SL_EXIT_OK; /* a new file; or opening it says what is wrong */
    if ((sb.st_dev == s->model_dev && sb.st_ino == s->model_ino) || (s->model && sl_model_has_file(s->model, path))) {
        sl_fail(&err, SL_EIO, "%s %s is the model's own file: not overwritten", option, path);
        return sl_cli_fail_option(args, &err);
    }
    bool is_input = (args->file && names_file(args->file, &sb)) || (args->base && names_file(args->base, &sb));
    for (size_t i = 0; i < args->tokens.n && !is_input; i++)
        is_input = !sl_cli_is_ids(args->tokens.data[i]) && names_file(args->tokens.data[i], &sb);
    if (is_input)
        sl_fail(&err, SL_EIO, "%s %s is an input of this command: not overwritten", option, path);
    return is_input ? sl_cli_fail_option(args, &err) : SL_EXIT_OK;
}

static sl_exit open_trace(sl_session *s, const sl_args *args)
{
    if (!args->trace)
        return SL_EXIT_OK;
    const sl_exit code = sl_session_check_output(s, args, "--trace", args->trace);
    if (code)
        return code;
    /* What an earlier run left there stays until there is something to put in its place. */
    s->trace_is_new = access(args->trace, F_OK) != 0;
    const int fd = open(args->trace, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    s->trace = fd < 0 ? NULL : fdopen(fd, "w");
    if (!s->trace && fd >= 0)
        close(fd);
    if (!s->trace) {
        sl_err err = { 0 };
        sl_fail(&err, SL_EIO, "--trace %s: %s", args->trace, strerror(errno));
        return sl_cli_fail_option(args, &err);
    }
    s->options.trace_spans = SL_TRACE_SPANS;
    return SL_EXIT_OK;
}

static void tell_copy(void *user, uint64_t done, uint64_t total)
{
    (void)user;
    sl_cli_progress("copying the weights, %.0f %%", 100.0 * (double)done / (double)total);
}

sl_exit sl_session_options(sl_session *s, const sl_args *args, size_t n_seqs, size_t n_outputs)
{
    s->options = (sl_engine_options){ .n_threads = (size_t)args->threads,
                                      .n_ctx = (size_t)args->ctx_size,
                                      .n_ubatch = (size_t)args->ubatch_size,
                                      .n_seqs = n_seqs,
                                      .n_outputs = n_outputs,
                                      .kv_page = (size_t)args->kv_page,
                                      .kv_type = args->kv_type,
                                      .kv_layout = args->kv_layout,
                                      .act = args->act,
                                      .mode = args->mode,
                                      .fusion = args->fusion,
                                      .attn = args->attn,
                                      .mla = args->mla,
                                      .attn_window = (size_t)args->attn_window,
                                      .weights = args->weights   ? args->weights
                                                 : args->no_mmap ? "copy"
                                                                 : NULL,
                                      .huge_pages = args->huge_pages,
                                      .numa = args->numa,
                                      .pin = args->pin,
                                      .prefetch = args->prefetch,
                                      .repack = args->repack,
                                      .mlock = args->mlock,
                                      .prefix_cache = args->prefix_cache && strcmp(args->prefix_cache, "on") == 0,
                                      .on_copy = sl_cli_progress_wanted(args->quiet) ? tell_copy : NULL };
    sl_err err = { 0 };
    if (args->deploy && !s->any_ranks && sl_deploy_runs(args->deploy, &err))
        return sl_cli_fail(&err);
    if (args->memory) {
        sl_cpu_info cpu;
        sl_cpu_describe(&cpu);
        if (!sl_read_size(args->memory, cpu.memory_bytes, &s->options.memory_max) || !s->options.memory_max) {
            sl_fail(&err, SL_EINVAL, "--memory %s: of %s that is no size", args->memory,
                    sl_bytes_text(cpu.memory_bytes).text);
            return sl_cli_fail_option(args, &err);
        }
    }
    return open_trace(s, args);
}

/* The file, and what it sets. */
static void tell_deploy(const sl_deploy *d)
{
    sl_deploy_info i;
    sl_deploy_option o;
    sl_deploy_describe(d, &i);
    fprintf(stderr, "deploy: %s", i.path);
    for (size_t k = 0; sl_deploy_option_at(d, k, &o); k++)
        fprintf(stderr, "%s%s %s", k ? ", " : " (", o.name, o.value);
    fprintf(stderr, "%s\n", sl_deploy_option_at(d, 0, &o) ? "; the command line wins)" : "");
}

/* How many threads and why; loudly, where they cannot be had. */
static void tell_threads(size_t asked)
{
    char why[256];
    sl_cpu_use use;
    sl_cpu_get_use(&use);
    sl_cpu_use_text(&use, why, sizeof why);
    const size_t quota = use.quota_milli == SL_CPU_NO_QUOTA ? use.n_cpus : use.quota_milli / 1000;
    const size_t most = SL_MAX(SL_MIN(use.n_cpus, quota), (size_t)1);
    if (!asked)
        fprintf(stderr, "threads: %s\n", why);
    else
        fprintf(stderr, "threads: %zu, as asked (default would be %s)\n", asked, why);
    if (asked > most)
        fprintf(stderr,
                "sluice: warning: %zu threads take turns on the %zu CPU%s that this process may use: that is slower "
                "than --threads %zu\n",
                asked, most, sl_cli_s(most), use.n_threads);
    else if (use.n_cpus == 1 && use.n_online > 1)
        fprintf(stderr,
                "sluice: warning: the affinity mask that this process was started with has 1 of the machine's %zu "
                "CPUs: all work is done there (taskset -p shows it)\n",
                use.n_online);
}

static void tell_pages(const char *what, const sl_page_use *u)
{
    fprintf(stderr, "%s: %s in memory of %s, %s in huge pages, %s locked", what, sl_bytes_text(u->resident).text,
            sl_bytes_text(u->bytes).text, sl_bytes_text(u->huge).text, sl_bytes_text(u->locked).text);
    for (size_t i = 0; i < u->n_nodes && u->n_nodes > 1; i++)
        fprintf(stderr, "%s%s", i ? ", " : "; on nodes ", sl_bytes_text(u->node[i]).text);
    fputc('\n', stderr);
}

static void tell_repacked(const sl_engine *e)
{
    sl_engine_info info;
    sl_engine_describe(e, &info);
    if (info.repacked_bytes)
        fprintf(stderr, "repack: %s of the weights have rows interleaved\n", sl_bytes_text(info.repacked_bytes).text);
    else
        fprintf(stderr, "sluice: warning: --repack changes nothing here: these weights have no interleaved form\n");
}

void sl_session_tell_placement(const sl_session *s, const sl_engine *e, const sl_args *args)
{
    const sl_engine_options *o = &s->options;
    const bool nodes =
        (o->numa && strcmp(o->numa, "interleave") == 0) || (o->weights && strcmp(o->weights, "copy-per-node") == 0);
    sl_page_use weights, kv, workspace;
    if (args->quiet)
        return;
    if (o->repack)
        tell_repacked(e);
    if (!o->weights && !o->huge_pages && !o->mlock && !o->numa)
        return;
    sl_engine_pages(e, &weights, &kv, &workspace);
    tell_pages("weights", &weights);
    tell_pages("KV cache", &kv);
    tell_pages("workspace", &workspace);
    if (nodes && weights.n_nodes == 1)
        fprintf(stderr, "numa: this machine has one node: nothing to place\n");
}

/* n_ctx_train: what the context would be if memory had no end; 0: it was asked for. */
static void tell_memory(const sl_session *s, const sl_memory *m, size_t n_ctx_train)
{
    const char *prefetch = s->options.prefetch;
    fprintf(stderr, "memory: weights %s (%s) + KV cache up to %s + workspace %s + other %s = %s\n",
            sl_bytes_text(m->weights).text, sl_session_copies(s) ? "copied" : "mapped", sl_bytes_text(m->kv).text,
            sl_bytes_text(m->workspace).text, sl_bytes_text(m->rest).text,
            sl_bytes_text(m->weights + m->kv + m->workspace + m->rest).text);
    if (m->n_ctx < n_ctx_train)
        fprintf(stderr,
                "context: %zu positions of the %zu that the model was trained with, since %s is %s (-c takes another "
                "number)\n",
                m->n_ctx, n_ctx_train, m->available_by, sl_bytes_text(m->available).text);
    if (m->streamed)
        fprintf(stderr, "sluice: warning: weights %s, %s to be had (%s): parts are read from disk for each token, %s\n",
                sl_bytes_text(m->weights).text, sl_bytes_text(m->available).text, m->available_by,
                prefetch && strcmp(prefetch, "off") == 0 ? "as they are used (--prefetch off)" : "asked for ahead");
}

/* Asked for by name, so that someone may think that all of it is. */
static void tell_act(const sl_model *m)
{
    char formats[SL_FORMATS_TEXT_MAX];
    sl_session_f32_formats(m, formats);
    if (*formats)
        fprintf(stderr, "activations: --act int8 has no effect on weights in %s, which are multiplied as f32\n",
                formats);
}

sl_exit sl_session_tell(sl_session *s, const sl_args *args)
{
    sl_err err = { 0 };
    sl_memory m;
    sl_model_info info;
    sl_str formats = { 0 };
    if (sl_engine_estimate(s->model, &s->options, &m, &err))
        return sl_cli_fail_option(args, &err);
    const bool chosen = !s->options.n_ctx;
    if (m.fits) /* what is told is what is made: a moment later less may be free */
        s->options.n_ctx = m.n_ctx;
    if (args->quiet)
        return SL_EXIT_OK;
    sl_model_describe(s->model, &info);
    sl_session_formats(s->model, &formats);
    fprintf(stderr, "%s (%s, %s parameters, %s)\n", info.name, info.arch, sl_count_text(info.n_params).text,
            formats.data ? formats.data : "?");
    if (args->deploy)
        tell_deploy(args->deploy);
    if (info.n_experts)
        fprintf(stderr, "experts: %zu of %zu for each token, weights %s\n", info.n_experts_used, info.n_experts,
                info.experts_renorm ? "divided by their sum" : "as the router scores");
    tell_memory(s, &m, chosen && m.fits ? info.n_ctx_train : 0);
    if (s->options.act && strcmp(s->options.act, "int8") == 0)
        tell_act(s->model);
    tell_threads(s->options.n_threads);
    if (info.n_ctx_train && s->options.n_ctx > info.n_ctx_train)
        fprintf(stderr,
                "sluice: warning: a context of %zu positions, the model was trained with %zu: beyond them its "
                "answers may be worthless\n",
                s->options.n_ctx, info.n_ctx_train);
    sl_str_fini(&formats);
    return SL_EXIT_OK;
}

sl_exit sl_session_start(sl_session *s, const sl_args *args, size_t n_seqs, size_t n_outputs)
{
    sl_err err = { 0 };
    const double begin = sl_cli_now();
    sl_exit code = sl_session_options(s, args, n_seqs, n_outputs);
    if (!code)
        code = sl_session_tell(s, args);
    if (!code) {
        const sl_status rc = sl_engine_create(&s->engine, s->model, &s->options, &err);
        if (s->options.on_copy && sl_session_copies(s))
            sl_cli_progress_end();
        code = rc ? sl_cli_fail_option(args, &err) : SL_EXIT_OK;
    }
    s->load_s += sl_cli_now() - begin;
    return code;
}

sl_exit sl_session_write_trace(sl_session *s, const sl_engine *e, const sl_args *args, sl_exit code)
{
    sl_err err = { 0 };
    if (!s->trace || !e || (code != SL_EXIT_OK && code != SL_EXIT_INTERRUPTED))
        return code;
    s->trace_is_new = false;
    sl_status rc = SL_OK;
    struct stat sb;
    if (fstat(fileno(s->trace), &sb) == 0 && S_ISREG(sb.st_mode) && ftruncate(fileno(s->trace), 0))
        rc = sl_fail(&err, SL_EIO, "%s", strerror(errno));
    if (!rc)
        rc = sl_engine_trace_write(e, s->trace, &err);
    if (!rc && fflush(s->trace))
        rc = sl_fail(&err, SL_EIO, "%s", strerror(errno));
    if (!rc && !args->quiet) {
        rc = sl_engine_trace_summary(e, stderr, &err);
        fprintf(stderr, "trace: %s\n", args->trace);
    }
    return rc ? sl_cli_failed("--trace %s: %s", args->trace, err.msg) : code;
}

bool sl_session_copies(const sl_session *s)
{
    return s->options.repack || (s->options.weights && strcmp(s->options.weights, "map") != 0);
}

sl_exit sl_session_end(sl_session *s, const sl_args *args, sl_exit code)
{
    if (s->engine)
        sl_session_tell_placement(s, s->engine, args);
    code = sl_session_write_trace(s, s->engine, args, code);
    if (s->trace) {
        fclose(s->trace);
        if (s->trace_is_new)
            unlink(args->trace);
    }
    sl_engine_destroy(s->engine);
    sl_text_close(s->text);
    sl_model_close(s->model);
    sl_str_fini(&s->path);
    *s = (sl_session){ 0 };
    return code;
}
