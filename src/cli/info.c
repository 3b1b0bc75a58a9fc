/* info.c - `sluice info`: what is in a model file, what memory it will take, which kernels run. */
#include <string.h>
#include <unistd.h>
#include "base/cpu.h"
#include "base/num.h"
#include "cli/classes.h"
#include "cli/deploy.h"
#include "cli/session.h"

#define NAME_WIDTH_MAX 80 /* a longer name pushes its own line only */

static void shape_text(const sl_tensor_info *t, char *out, size_t size)
{
    size_t used = 0;
    *out = '\0';
    for (uint32_t d = t->n_dims; d-- > 0 && used < size;) /* as code writes it: outermost first */
        used += (size_t)snprintf(out + used, size - used, "%s%llu", used ? ", " : "", (unsigned long long)t->dims[d]);
}

static void print_tensors(const sl_model *m, size_t n_tensors)
{
    sl_tensor_info t;
    size_t name = 36, format = 10;
    printf("\ntensors\n");
    for (size_t i = 0; i < n_tensors; i++) {
        sl_model_tensor(m, i, &t);
        name = SL_MAX(name, SL_MIN(strlen(t.name), (size_t)NAME_WIDTH_MAX));
        format = SL_MAX(format, strlen(t.format));
    }
    for (size_t i = 0; i < n_tensors; i++) {
        char shape[96];
        sl_model_tensor(m, i, &t);
        shape_text(&t, shape, sizeof shape);
        printf("  %-*s %-*s [%s]  %s%s\n", (int)name, t.name, (int)format, t.format, shape, sl_bytes_text(t.bytes).text,
               t.supported ? "" : "  not supported");
    }
}

static void print_classes(const sl_model *m, size_t n_tensors)
{
    sl_classes c = { 0 };
    for (size_t i = 0; i < n_tensors; i++) {
        sl_tensor_info t;
        sl_model_tensor(m, i, &t);
        sl_classes_add(&c, &t);
    }
    printf("\nweights\n");
    sl_classes_print(&c);
}

static void print_sampling(const sl_model *m)
{
    sl_model_sampling s;
    sl_model_get_sampling(m, &s);
    if (s.recommended)
        printf("  sampling      temp %g, top-k %u, top-p %g, min-p %g, repeat-penalty %g (generation_config.json)\n",
               (double)s.temperature, s.top_k, (double)s.top_p, (double)s.min_p, (double)s.repeat_penalty);
}

static void print_model(const sl_model *m, const sl_model_info *i)
{
    printf("%s\n", i->path);
    printf("  name          %s\n", i->name);
    printf("  architecture  %s: %zu layer%s, width %zu, feed-forward %zu\n", i->arch, i->n_layers,
           sl_cli_s(i->n_layers), i->d_model, i->d_ff);
    if (i->n_experts)
        printf("  experts       %zu of width %zu, %zu for each token, weights %s\n", i->n_experts, i->d_expert,
               i->n_experts_used, i->experts_renorm ? "divided by their sum" : "as the router scores");
    printf("  attention     %zu head%s of %zu, ", i->n_heads, sl_cli_s(i->n_heads), i->head_dim);
    if (i->latent_rank)
        printf("latent: one row of %zu + %zu numbers for keys and values", i->latent_rank, i->latent_rope);
    else
        printf("%zu for keys and values", i->n_kv_heads);
    if (i->window)
        printf("; a window of %zu position%s", i->window, sl_cli_s(i->window));
    if (i->n_window_layers < i->n_layers && i->window)
        printf(" in %zu layer%s", i->n_window_layers, sl_cli_s(i->n_window_layers));
    printf("%s\n", i->attention_sinks ? "; a sink for each head" : "");
    printf("  vocabulary    %zu%s\n", i->n_vocab, i->tied ? ", output tied to the embedding" : "");
    sl_err why = { 0 };
    if (!sl_text_has_tokenizer(sl_model_text(m), &why))
        printf("                no tokenizer: %s\n", why.msg);
    printf("  context       %zu position%s in training\n", i->n_ctx_train, sl_cli_s(i->n_ctx_train));
    printf("  parameters    %s (%zu)\n", sl_count_text(i->n_params).text, i->n_params);
    printf("                %s (%zu) for one token, %s of the weights\n", sl_count_text(i->n_active).text, i->n_active,
           sl_bytes_text(i->active_bytes).text);
    printf("  file          %s, %zu tensor%s; chat template: %s\n", sl_bytes_text(i->file_bytes).text, i->n_tensors,
           sl_cli_s(i->n_tensors), sl_text_chat_template(sl_model_text(m), NULL) ? "yes" : "no");
    print_sampling(m);
}

static void print_memory(const sl_memory *m, const sl_engine_options *o, bool copied, const sl_model_info *i)
{
    const size_t n_seqs = SL_MAX(o->n_seqs, (size_t)1);
    printf("\nmemory for %zu position%s x %zu sequence%s\n", m->n_ctx, sl_cli_s(m->n_ctx), n_seqs, sl_cli_s(n_seqs));
    printf("  weights       %s (%s)\n", sl_bytes_text(m->weights).text,
           copied ? "copied into memory of their own" : "mapped, shared with the page cache");
    printf("  KV cache      %s (%s, %s, taken as it fills)\n", sl_bytes_text(m->kv).text,
           o->kv_type ? o->kv_type : "f16",
           i->latent_rank ? "latent rows"
           : o->kv_layout ? o->kv_layout
                          : "grouped");
    printf("  workspace     %s\n", sl_bytes_text(m->workspace).text);
    printf("  rest          %s\n", sl_bytes_text(m->rest).text);
    printf("  total         %s\n", sl_bytes_text(m->weights + m->kv + m->workspace + m->rest).text);
    if (m->available_by)
        printf("  to be had     %s (%s): %s\n", sl_bytes_text(m->available).text, m->available_by,
               !m->fits                                 ? "does not fit"
               : m->streamed                            ? "the weights do not stay in memory, each token reads the disk"
               : !o->n_ctx && m->n_ctx < i->n_ctx_train ? "the context is cut to fit"
                                                        : "fits");
}

/* Of the KV cache, read by a token that sees n positions: layers with a window see no more than that. */
static size_t kv_read(const sl_model_info *i, size_t position_bytes, size_t n)
{
    const size_t layer = position_bytes / SL_MAX(i->n_layers, (size_t)1);
    return layer * ((i->n_layers - i->n_window_layers) * n + i->n_window_layers * SL_MIN(i->window, n));
}

static void print_kernels(const sl_engine_info *e, const sl_model *m, const sl_engine_options *o)
{
    char floats[SL_FORMATS_TEXT_MAX], rounded[SL_FORMATS_TEXT_MAX];
    const bool some = strcmp(e->act, "int8") == 0, asked = o->act && strcmp(o->act, "int8") == 0;
    sl_session_f32_formats(m, floats);
    sl_session_rounded_formats(m, rounded);
    printf("  kernels       %s, activations %s", e->isa, e->act);
    if (some && *floats)
        printf(" (f32 for %s weights)", floats);
    if (some && *rounded) /* not by default */
        printf(" (%s for %s weights)", asked ? "f32 rounded to FP8" : "f32", rounded);
    printf("\n");
}

static void print_engine(const sl_engine_info *e, const sl_model *m, const sl_model_info *i, const sl_engine_options *o)
{
    printf("\nexecution\n");
    print_kernels(e, m, o);
    char why[256];
    sl_cpu_use use;
    sl_cpu_get_use(&use);
    sl_cpu_use_text(&use, why, sizeof why);
    if (e->n_threads == use.n_threads)
        printf("  threads       %s\n", why);
    else
        printf("  threads       %zu, as asked (default would be %s)\n", e->n_threads, why);
    printf("  positions     %zu bytes each in the KV cache, all layers (%s, %s)\n", e->kv_position_bytes, e->kv_type,
           e->mla ? "latent rows" : e->kv_layout);
    printf("  one token     reads %s of weights and, at %zu position%s, %s of the KV cache\n",
           sl_bytes_text(i->active_bytes).text, e->n_ctx, sl_cli_s(e->n_ctx),
           sl_bytes_text(kv_read(i, e->kv_position_bytes, e->n_ctx)).text);
    printf("  mode          %s, attention %s%s%s, steps of up to %zu token%s\n", e->mode, e->attn,
           e->mla ? ", latents " : "", e->mla ? e->mla : "", e->n_ubatch, sl_cli_s(e->n_ubatch));
    if (strcmp(e->prefetch, "on") == 0)
        printf("  prefetch      on: weights asked for ahead, experts once they are picked\n");
}

static json_t *tensor_json(const sl_tensor_info *t)
{
    json_t *dims = json_array();
    for (uint32_t d = t->n_dims; d-- > 0;)
        json_array_append_new(dims, json_integer((json_int_t)t->dims[d]));
    return json_pack("{s:o, s:s, s:b, s:o, s:I}", "name", sl_cli_json_text(t->name, strlen(t->name)), "format",
                     t->format, "supported", t->supported, "shape", dims, "bytes", (json_int_t)t->bytes);
}

static json_t *tensors_json(const sl_model *m, size_t n_tensors)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n_tensors; i++) {
        sl_tensor_info t;
        sl_model_tensor(m, i, &t);
        json_array_append_new(list, tensor_json(&t));
    }
    return list;
}

static json_t *memory_json(const sl_memory *m)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s?, s:b, s:b}", "weights", (json_int_t)m->weights, "kv",
                     (json_int_t)m->kv, "workspace", (json_int_t)m->workspace, "rest", (json_int_t)m->rest, "total",
                     (json_int_t)(m->weights + m->kv + m->workspace + m->rest), "needed", (json_int_t)m->needed,
                     "available", m->available_by ? (json_int_t)m->available : -1, "available_by", m->available_by,
                     "fits", m->fits, "streamed", m->streamed);
}

/* What one token reads, the last one of a full context. */
static json_t *token_json(const sl_model_info *i, const sl_engine_info *e)
{
    return json_pack("{s:I, s:I, s:I}", "weights", (json_int_t)i->active_bytes, "kv",
                     (json_int_t)kv_read(i, e->kv_position_bytes, e->n_ctx), "positions", (json_int_t)e->n_ctx);
}

static json_t *engine_json(const sl_engine_info *e)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s?, s:s, s:I, s:I, s:I, s:I, s:I, s:o}", "isa", e->isa, "act",
                     e->act, "kv_type", e->kv_type, "kv_layout", e->kv_layout, "mode", e->mode, "attn", e->attn, "mla",
                     e->mla, "prefetch", e->prefetch, "kv_position_bytes", (json_int_t)e->kv_position_bytes, "threads",
                     (json_int_t)e->n_threads, "ctx_size", (json_int_t)e->n_ctx, "ubatch_size", (json_int_t)e->n_ubatch,
                     "kv_page", (json_int_t)e->kv_page, "memory", memory_json(&e->memory));
}

/* e: NULL for a model that cannot be run, or not in this memory. */
static sl_exit print_json(const sl_session *s, const sl_args *args, const sl_model_info *i, const sl_engine_info *e)
{
    sl_str formats = { 0 };
    sl_session_formats(s->model, &formats);
    json_t *out = json_pack(
        "{s:o, s:s, s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:b, s:o}", "path",
        sl_cli_json_text(i->path, strlen(i->path)), "arch", i->arch, "name", sl_cli_json_text(i->name, strlen(i->name)),
        "formats", formats.data ? formats.data : "", "n_params", (json_int_t)i->n_params, "file_bytes",
        (json_int_t)i->file_bytes, "weights_bytes", (json_int_t)i->weight_bytes, "n_tensors", (json_int_t)i->n_tensors,
        "n_layers", (json_int_t)i->n_layers, "n_vocab", (json_int_t)i->n_vocab, "n_ctx_train",
        (json_int_t)i->n_ctx_train, "d_model", (json_int_t)i->d_model, "d_ff", (json_int_t)i->d_ff, "n_heads",
        (json_int_t)i->n_heads, "n_kv_heads", (json_int_t)i->n_kv_heads, "tied", i->tied, "tokenizer",
        sl_text_has_tokenizer(sl_model_text(s->model), NULL), "chat_template",
        sl_text_chat_template(sl_model_text(s->model), NULL) != NULL, "supported", !i->unsupported, "engine",
        e ? engine_json(e) : json_null());
    sl_model_sampling m;
    sl_memory memory;
    sl_err err = { 0 };
    sl_model_get_sampling(s->model, &m);
    if (out && !e && !i->unsupported && !sl_engine_estimate(s->model, &s->options, &memory, &err))
        json_object_set_new(out, "memory", memory_json(&memory));
    if (out) {
        json_object_set_new(out, "n_active_params", json_integer((json_int_t)i->n_active));
        json_object_set_new(out, "active_bytes", json_integer((json_int_t)i->active_bytes));
        json_object_set_new(out, "unsupported", i->unsupported ? json_string(i->unsupported) : json_null());
    }
    if (out && e)
        json_object_set_new(out, "bytes_read_per_token", token_json(i, e));
    if (out)
        json_object_set_new(out, "sampling",
                            json_pack("{s:f, s:I, s:f, s:f, s:f}", "temp", (double)m.temperature, "top_k",
                                      (json_int_t)m.top_k, "top_p", (double)m.top_p, "min_p", (double)m.min_p,
                                      "repeat_penalty", (double)m.repeat_penalty));
    if (out && i->n_experts)
        json_object_set_new(out, "experts",
                            json_pack("{s:I, s:I, s:I, s:I, s:I, s:b}", "count", (json_int_t)i->n_experts, "used",
                                      (json_int_t)i->n_experts_used, "width", (json_int_t)i->d_expert,
                                      "n_active_params", (json_int_t)i->n_active, "bytes_per_token",
                                      (json_int_t)i->active_bytes, "renormalised", i->experts_renorm));
    if (out && args->deploy)
        json_object_set_new(out, "deploy", sl_cli_deploy_json(args, s->model));
    if (out && args->tensors)
        json_object_set_new(out, "tensors", tensors_json(s->model, i->n_tensors));
    sl_str_fini(&formats);
    return sl_cli_print_json(out);
}

/* s->engine is NULL for a model that cannot be run, or not in this memory. */
static sl_exit show(const sl_session *s, const sl_args *args)
{
    sl_err err = { 0 };
    sl_model_info info;
    sl_engine_info engine;
    sl_memory memory;
    sl_model_describe(s->model, &info);
    if (s->engine)
        sl_engine_describe(s->engine, &engine);
    if (args->json)
        return print_json(s, args, &info, s->engine ? &engine : NULL);
    if (args->plan)
        return sl_engine_plan_write(s->engine, stdout, &err) ? sl_cli_failed("%s", err.msg) : SL_EXIT_OK;
    print_model(s->model, &info);
    if (args->tensors)
        print_tensors(s->model, info.n_tensors);
    else
        print_classes(s->model, info.n_tensors);
    if (args->deploy)
        sl_cli_deploy_print(args, s->model);
    if (!info.unsupported && !sl_engine_estimate(s->model, &s->options, &memory, &err))
        print_memory(&memory, &s->options, sl_session_copies(s), &info);
    if (s->engine)
        print_engine(&engine, s->model, &info, &s->options);
    else if (info.unsupported)
        printf("\nnot supported: tensor %s%s\n", info.unsupported, args->tensors ? "" : " (--tensors lists all)");
    return SL_EXIT_OK;
}

typedef struct stored {
    sl_stored_info info;
    sl_classes classes;
    json_t *tensors; /* NULL: not asked for */
} stored;

static void add_stored(void *user, const sl_tensor_info *t)
{
    stored *s = user;
    sl_classes_add(&s->classes, t);
    if (s->tensors)
        json_array_append_new(s->tensors, tensor_json(t));
}

static void print_stored(const stored *s, const char *path, const char *why)
{
    printf("%s\n  architecture  %s\n  file          %s, %zu tensor%s\n", path, s->info.arch,
           sl_bytes_text(s->info.file_bytes).text, s->info.n_tensors, sl_cli_s(s->info.n_tensors));
    printf("\nweights, as stored\n");
    sl_classes_print(&s->classes);
    printf("\ncannot be run: %s\n", why);
}

/* The keys that a model which can be run has, as far as they are known. */
static void print_stored_json(const stored *s, bool listed, const char *path, const char *why)
{
    json_t *out = json_pack("{s:o, s:s?, s:b, s:o, s:n}", "path", sl_cli_json_text(path, strlen(path)), "arch",
                            listed ? s->info.arch : NULL, "supported", false, "unsupported",
                            sl_cli_json_text(why, strlen(why)), "engine");
    if (out && listed) {
        json_object_set_new(out, "file_bytes", json_integer((json_int_t)s->info.file_bytes));
        json_object_set_new(out, "n_tensors", json_integer((json_int_t)s->info.n_tensors));
        if (s->tensors)
            json_object_set(out, "tensors", s->tensors);
    }
    sl_cli_print_json(out);
}

/* A model that is refused whatever the options, with the reason on stderr: what its files hold is shown all the same,
 * if they can be read. */
static void show_stored(const char *path, const sl_args *args)
{
    stored s = { .tensors = args->json && args->tensors ? json_array() : NULL };
    sl_model *m = NULL;
    sl_err why = { 0 }, err = { 0 };
    if (access(path, F_OK) == 0 && sl_model_open(&m, path, &why)) {
        const bool listed = !sl_stored_list(&s.info, path, add_stored, &s, &err);
        if (args->json)
            print_stored_json(&s, listed, path, why.msg);
        else if (listed)
            print_stored(&s, path, why.msg);
    }
    json_decref(s.tensors);
    sl_model_close(m);
}

/* Whether options were fine and what they need is known, though no engine could be made. */
static bool is_known(const sl_session *s)
{
    sl_memory memory;
    sl_err err = { 0 };
    return s->model && !s->engine && !sl_engine_estimate(s->model, &s->options, &memory, &err);
}

static sl_exit run(const sl_args *args)
{
    sl_session s = { .any_ranks = true };
    sl_model_info info;
    sl_args fitted = *args;
    fitted.quiet = true;
    if (args->plan && args->json)
        return sl_cli_usage("--plan and --json exclude each other");
    sl_exit code = sl_session_open(&s, args);
    if (code == SL_EXIT_FAILED && !s.model && s.path.len && !args->plan)
        show_stored(s.path.data, args);
    if (!code)
        sl_model_describe(s.model, &info);
    if (!code && (!info.unsupported || args->plan))
        code = sl_session_start(&s, &fitted, 1, 0);
    /* What does not fit into memory is refused, but its table is what was asked for. */
    const bool too_large = code == SL_EXIT_FAILED && !args->plan && is_known(&s);
    if (!code || too_large) {
        const sl_exit shown = show(&s, args);
        code = code ? code : shown;
    }
    return sl_session_end(&s, &fitted, code);
}

static const sl_opt own[] = {
    { "plan", NULL, NULL, "print the operations of a step, its barriers, the bytes it writes, and what fusion saves",
      SL_OPT_FLAG, SL_ARG(plan), 0, 0, NULL },
    { "tensors", NULL, NULL, "list every tensor", SL_OPT_FLAG, SL_ARG(tensors), 0, 0, NULL },
    { 0 },
};
static const sl_opt_group groups[] = {
    { "Options", own },         { "Context", sl_opts_context }, { "Engine", sl_opts_engine },
    { "Output", sl_opts_json }, { "Common", sl_opts_common },   { 0 },
};

const sl_command sl_cmd_info = {
    .name = "info",
    .usage = "sluice info MODEL [--plan | --tensors | --json] [OPTIONS]",
    .summary = "what is in a file or folder, what memory it will take, which kernels run",
    .text = "Weights are mapped, not copied; the KV cache is taken page by page as it fills.\n"
            "\n"
            "  sluice info model.gguf -c 32768          memory for a long context\n"
            "  sluice info model.gguf --plan --fusion none\n",
    .groups = groups,
    .run = run,
};
