#include "formats/quantized_in.h"

#include <stdio.h>
#include <string.h>
#include "base/num.h"
#include "formats/show.h"

#define CHUNK_BYTES ((size_t)64 << 10)

static const sl_quant_method *const methods[] = { &sl_method_compressed_tensors, &sl_method_gptq, &sl_method_awq,
                                                  &sl_method_fp8, &sl_method_mxfp4 };

/* ---- which method ---------------------------------------------------------------------------- */

static sl_status unknown(const sl_json *method, sl_err *err)
{
    char shown[SL_SHOW_MAX], known[256];
    size_t at = 0;
    for (size_t i = 0; i < SL_COUNT(methods) && at < sizeof known; i++)
        at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", i ? ", " : "", methods[i]->name);
    return sl_json_fail(err, SL_EUNSUPPORTED, method,
                        "checkpoints quantised by \"%s\" are not supported; those by %s are",
                        sl_show(shown, sl_json_bytes(method)), known);
}

/* The method of settings; where they do not say it, `otherwise` (NULL: they have to). */
static sl_status find_method(const sl_json *settings, const sl_quant_method *otherwise, const sl_quant_method **out,
                             sl_err *err)
{
    sl_bytes text = { 0 };
    const sl_json *method = sl_json_get(settings, "quant_method");
    if (!method && otherwise) {
        *out = otherwise;
        return SL_OK;
    }
    const sl_status rc = sl_json_get_str(settings, "quant_method", true, &text, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < SL_COUNT(methods); i++)
        if (sl_json_is(method, methods[i]->name))
            *out = methods[i];
    return *out ? SL_OK : unknown(method, err);
}

/* q->method and its settings as config.json has them; NULL: it has none. */
static sl_status read_config(sl_quantized *q, const sl_json *config, sl_err *err)
{
    const sl_json *now = sl_json_get(config, "quantization_config"), *old = sl_json_get(config, "compression_config");
    const sl_json *c = now ? now : old;
    if (!c)
        return SL_OK;
    if (c->kind != SL_JSON_OBJECT)
        return sl_json_fail(err, SL_EFORMAT, c, "should be an object");
    /* the first releases of compressed-tensors did not write their name */
    const bool nameless = sl_json_get(c, "config_groups") != NULL;
    const sl_status rc = find_method(c, nameless ? &sl_method_compressed_tensors : NULL, &q->method, err);
    return rc ? rc : q->method->open(q, c, err);
}

/* ---- parts of a module ------------------------------------------------------------------------- */

/* The part that a tensor's name says it is; SIZE_MAX: none. */
static size_t part_of(const sl_quant_method *m, sl_bytes name, sl_bytes *module)
{
    for (size_t i = 0; i < m->n_parts; i++) {
        const size_t n = strlen(m->parts[i].suffix);
        if (name.len > n && memcmp(name.data + name.len - n, m->parts[i].suffix, n) == 0) {
            *module = (sl_bytes){ name.data, name.len - n };
            return i;
        }
    }
    return SIZE_MAX;
}

/* Whether a tensor of this name is found in quantised checkpoints only: a part whose name plain weights do not have. */
static bool is_sign(const sl_quant_method *m, sl_bytes name, bool leading, sl_bytes *module, const char **suffix)
{
    const size_t i = part_of(m, name, module);
    if (i == SIZE_MAX || strcmp(m->parts[i].suffix, m->result) == 0 || (leading && !m->parts[i].leads))
        return false;
    *suffix = m->parts[i].suffix;
    return true;
}

/* The first such tensor, of those that hold numbers if there are any: its module. *suffix stays NULL: there is none. */
static sl_bytes find_sign(const sl_shards *s, const char **suffix)
{
    sl_bytes module = { 0 };
    for (int leading = 1; leading >= 0; leading--)
        for (size_t i = 0; i < s->n_tensors; i++)
            for (size_t k = 0; k < SL_COUNT(methods); k++)
                if (is_sign(methods[k], s->name[i], leading, &module, suffix))
                    return module;
    return module;
}

/* The tensor `module` `suffix`; `room` is for its name. */
static const sl_weight_info *find_part(const sl_shards *s, sl_bytes module, const char *suffix, char *room)
{
    const size_t n = strlen(suffix);
    memcpy(room, module.data, module.len);
    memcpy(room + module.len, suffix, n);
    const size_t at = sl_names_find(&s->by_name, (sl_bytes){ room, module.len + n });
    return at == SIZE_MAX ? NULL : s->tensor[at];
}

typedef struct joining {
    sl_quantized *q;
    const sl_shards *s;
    char *room; /* for the longest name */
    sl_err *err;
} joining;

/* The weight whose leading part is part `lead` of this module. */
static sl_status join(const joining *j, sl_bytes module, size_t lead)
{
    const sl_quant_method *m = j->q->method;
    sl_weight_info *out = &j->q->tensor[j->q->n];
    sl_parts p = { .module = module };
    char shown[SL_SHOW_MAX];
    uint64_t bytes = 0;
    for (size_t i = 0; i < m->n_parts; i++) {
        p.part[i] = find_part(j->s, module, m->parts[i].suffix, j->room);
        bytes += p.part[i] ? p.part[i]->bytes : 0; /* of tensors that do not overlap: no larger than the files */
        if (p.part[i] && m->parts[i].leads && i != lead)
            return sl_fail(j->err, SL_EFORMAT, "module %s has both %s and %s", sl_show(shown, module),
                           m->parts[lead].suffix + 1, m->parts[i].suffix + 1);
    }
    *out = *p.part[lead];
    out->bytes = bytes;
    find_part(j->s, module, m->result, j->room);
    out->name = sl_arena_strndup(&j->q->arena, j->room, module.len + strlen(m->result));
    if (!out->name)
        return sl_fail(j->err, SL_ENOMEM, "no memory for the name of a weight");
    const sl_status rc = m->join(j->q, &p, out, j->err);
    if (rc)
        return sl_fail_in(j->err, rc, "module %s", sl_show(shown, module));
    j->q->name[j->q->n++] = (sl_bytes){ out->name, strlen(out->name) };
    return SL_OK;
}

static sl_status check_companion(const joining *j, sl_bytes module, size_t part)
{
    const sl_quant_method *m = j->q->method;
    char shown[SL_SHOW_MAX];
    for (size_t i = 0; i < m->n_parts; i++)
        if (m->parts[i].leads && find_part(j->s, module, m->parts[i].suffix, j->room))
            return SL_OK;
    return sl_fail(j->err, SL_EFORMAT, "module %s has %s, but no numbers that it belongs to", sl_show(shown, module),
                   m->parts[part].suffix + 1);
}

static sl_status join_all(const joining *j)
{
    sl_quantized *q = j->q;
    for (size_t i = 0; i < j->s->n_tensors; i++) {
        sl_bytes module = { 0 };
        const size_t part = part_of(q->method, j->s->name[i], &module);
        sl_status rc = SL_OK;
        if (part == SIZE_MAX) {
            q->tensor[q->n] = *j->s->tensor[i];
            q->name[q->n++] = j->s->name[i];
        } else {
            rc = q->method->parts[part].leads ? join(j, module, part) : check_companion(j, module, part);
        }
        if (rc)
            return rc;
    }
    return SL_OK;
}

/* ---- open --------------------------------------------------------------------------------------- */

static sl_status join_shards(sl_quantized *q, const sl_shards *s, sl_err *err)
{
    size_t longest = 0, twice = SIZE_MAX;
    sl_status rc;
    for (size_t i = 0; i < s->n_tensors; i++)
        longest = SL_MAX(longest, s->name[i].len);
    size_t suffix = strlen(q->method->result);
    for (size_t i = 0; i < q->method->n_parts; i++)
        suffix = SL_MAX(suffix, strlen(q->method->parts[i].suffix));
    q->tensor = sl_arena_alloc(&q->arena, s->n_tensors, sizeof *q->tensor);
    q->name = sl_arena_alloc(&q->arena, s->n_tensors, sizeof *q->name);
    const joining j = { q, s, sl_arena_alloc(&q->arena, longest + suffix + 1, 1), err };
    if (!q->tensor || !q->name || !j.room)
        return sl_fail(err, SL_ENOMEM, "no memory for a list of %zu tensors", s->n_tensors);
    if ((rc = join_all(&j)))
        return rc;
    if (sl_names_init(&q->by_name, q->name, q->n, &twice))
        return sl_fail(err, SL_ENOMEM, "no memory for the names of %zu tensors", q->n);
    return twice == SIZE_MAX ? SL_OK : sl_fail(err, SL_EFORMAT, "weight %s is there twice", q->tensor[twice].name);
}

/* A folder whose config.json says nothing of a quantisation: it has none, or is older than that key. */
static sl_status look_beside(sl_quantized *q, const char *dir, const sl_shards *s, sl_err *err)
{
    static const struct {
        const char *file;
        const sl_quant_method *method; /* of the program that writes it */
    } old[] = { { "quantize_config.json", &sl_method_gptq }, { "quant_config.json", &sl_method_awq } };
    const char *suffix = NULL;
    const sl_bytes module = find_sign(s, &suffix);
    char shown[SL_SHOW_MAX];
    if (!suffix)
        return SL_OK;
    const bool columns = strcmp(suffix, old[0].method->parts[0].suffix) == 0;
    for (size_t i = 0; columns && i < SL_COUNT(old); i++) {
        sl_status rc = sl_small_json_open(&q->file, dir, old[i].file, err);
        if (rc)
            return rc; /* names the file */
        if (!q->file.root)
            continue;
        if (!(rc = find_method(q->file.root, old[i].method, &q->method, err)))
            rc = q->method->open(q, q->file.root, err);
        return rc ? sl_fail_in(err, rc, "%s", q->file.path) : SL_OK;
    }
    return sl_fail(err, SL_EFORMAT, "%s: module %s has %s, but config.json has no quantization_config%s", dir,
                   sl_show(shown, module), suffix + 1,
                   columns ? ", and there is no quantize_config.json or quant_config.json" : "");
}

sl_status sl_quantized_open(sl_quantized *q, const char *dir, const sl_shards *s, const sl_small_json *config,
                            sl_err *err)
{
    *q = (sl_quantized){ 0 };
    sl_arena_init(&q->arena, CHUNK_BYTES);
    sl_status rc = read_config(q, config->root, err);
    if (rc)
        rc = sl_fail_in(err, rc, "%s", config->path);
    else if (!q->method)
        rc = look_beside(q, dir, s, err);
    if (!rc && q->method && (rc = join_shards(q, s, err)))
        rc = sl_fail_in(err, rc, "%s", dir);
    if (rc)
        sl_quantized_close(q);
    return rc;
}

void sl_quantized_close(sl_quantized *q)
{
    if (q->method && q->method->close)
        q->method->close(q);
    sl_names_fini(&q->by_name);
    sl_arena_fini(&q->arena);
    sl_small_json_close(&q->file);
    *q = (sl_quantized){ 0 };
}

const char *sl_quantized_suffix(const sl_quantized *q)
{
    const sl_quant_method *m = q->method;
    return m && strcmp(m->parts[0].suffix, m->result) != 0 ? m->parts[0].suffix : NULL;
}

const sl_weight_info *sl_quantized_find(const sl_quantized *q, const char *name)
{
    const size_t at = sl_names_find(&q->by_name, (sl_bytes){ name, strlen(name) });
    return at == SIZE_MAX ? NULL : &q->tensor[at];
}

/* ---- what methods share -------------------------------------------------------------------------- */

const char *sl_part_shape(char out[SL_SHAPE_TEXT_MAX], const sl_weight_info *part)
{
    size_t used = 0;
    out[used++] = '[';
    for (uint32_t d = part->n_dims; d-- > 0;)
        used += (size_t)snprintf(out + used, SL_SHAPE_TEXT_MAX - used, "%llu%s", (unsigned long long)part->dims[d],
                                 d ? ", " : "");
    snprintf(out + used, SL_SHAPE_TEXT_MAX - used, "]");
    return out;
}

sl_status sl_part_check(const sl_weight_info *part, const char *suffix, const char *dtype, size_t rows, size_t cols,
                        sl_err *err)
{
    const sl_tensor *t = &part->tensor;
    char is[SL_SHAPE_TEXT_MAX], want[2][24] = { "?", "?" };
    if (strcmp(part->type, dtype) != 0)
        return sl_fail(err, SL_EFORMAT, "%s is %s, not %s", suffix + 1, part->type, dtype);
    if ((part->n_dims == 2 || (part->n_dims < 2 && rows == 1)) && (rows == SIZE_MAX || t->rows == rows) &&
        (cols == SIZE_MAX || t->cols == cols))
        return SL_OK;
    if (rows != SIZE_MAX)
        snprintf(want[0], sizeof want[0], "%zu", rows);
    if (cols != SIZE_MAX)
        snprintf(want[1], sizeof want[1], "%zu", cols);
    const bool flat = rows == 1 && part->n_dims < 2;
    return sl_fail(err, SL_EFORMAT, "%s is %s, where [%s%s%s] is wanted", suffix + 1, sl_part_shape(is, part),
                   flat ? "" : want[0], flat ? "" : ", ", want[1]);
}

sl_status sl_part_scale_type(const sl_weight_info *part, const char *suffix, sl_scale_type *out, sl_err *err)
{
    switch (part->tensor.format) {
    case SL_FORMAT_F32:
        *out = SL_SCALE_F32;
        return SL_OK;
    case SL_FORMAT_F16:
        *out = SL_SCALE_F16;
        return SL_OK;
    case SL_FORMAT_BF16:
        *out = SL_SCALE_BF16;
        return SL_OK;
    default:
        return sl_fail(err, SL_EFORMAT, "%s is %s; scales are F32, F16 or BF16", suffix + 1, part->type);
    }
}

sl_status sl_part_groups(const sl_weight_info *part, const char *suffix, size_t cols, size_t groups, size_t group,
                         const void **out, sl_err *err)
{
    bool plain = true;
    size_t none = 0, bad = SIZE_MAX;
    const sl_status rc = sl_part_check(part, suffix, "I32", 1, cols, err);
    if (rc)
        return rc;
    const uint8_t *list = part->tensor.data;
    for (size_t c = 0; c < cols; c++) {
        const uint32_t g = sl_load_le32(list + 4 * c);
        plain = plain && g == c / group;
        none += g == UINT32_MAX;
        bad = g >= groups && bad == SIZE_MAX ? c : bad;
    }
    if (bad != SIZE_MAX && none != cols)
        return sl_fail(err, SL_EFORMAT, "%s: column %zu is in group %d of %zu", suffix + 1, bad,
                       (int)sl_load_le32(list + 4 * bad), groups);
    *out = plain || none == cols ? NULL : list;
    return SL_OK;
}

void sl_part_matrix(sl_weight_info *out, sl_format format, size_t rows, size_t cols)
{
    out->type = sl_format_name(format);
    out->tensor = (sl_tensor){ .format = format, .rows = rows, .cols = cols };
    out->n_dims = 2;
    out->dims[0] = cols;
    out->dims[1] = rows;
    out->dims[2] = out->dims[3] = 1;
}
