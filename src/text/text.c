/* text.c - the public sl_text: made from what the readers of files found. */
#include "text/text.h"

#include <string.h>
#include "formats/text_files.h"
#include "tokenizer/tokenizer.h"

struct sl_text {
    sl_tokenizer *tokenizer; /* NULL: no_vocab says why */
    sl_err no_vocab;
    sl_text_files files; /* the templates; its vocabulary is empty once the tokenizer is made */
};

/* A vocabulary that cannot be used is told when it is asked for. */
static sl_status make_tokenizer(sl_text *t, const char *path, const sl_text_options *o)
{
    sl_vocab *v = &t->files.vocab;
    if (t->files.no_vocab) {
        t->no_vocab = t->files.why;
        return t->files.no_vocab;
    }
    if (o && o->pretokenizer)
        v->pre = o->pretokenizer;
    const sl_status rc = sl_tokenizer_create(&t->tokenizer, v, &t->no_vocab);
    sl_text_files_drop_vocab(&t->files);
    return rc ? sl_fail_in(&t->no_vocab, rc, "%s", path) : SL_OK;
}

static sl_status finish(sl_text **out, sl_text *t, const char *path, sl_status rc, const sl_text_options *o,
                        sl_err *err)
{
    if (!rc && make_tokenizer(t, path, o) == SL_ENOMEM)
        rc = sl_fail(err, SL_ENOMEM, "%s", t->no_vocab.msg);
    if (rc)
        sl_text_close(t);
    else
        *out = t;
    return rc;
}

static sl_text *begin(const char *path, sl_err *err)
{
    sl_text *t = sl_mem_zalloc(1, sizeof *t);
    if (!t)
        sl_fail(err, SL_ENOMEM, "%s: no memory for its texts", path);
    return t;
}

sl_status sl_text_open(sl_text **out, const char *path, const sl_text_options *o, sl_err *err)
{
    *out = NULL;
    const sl_overrides overrides = { o ? o->overrides : NULL, o ? o->n_overrides : 0 };
    sl_text *t = begin(path, err);
    return t ? finish(out, t, path, sl_text_files_open(&t->files, path, &overrides, err), o, err) : SL_ENOMEM;
}

sl_status sl_text_of_weights(sl_text **out, const sl_weights *w, const sl_text_options *o, sl_err *err)
{
    *out = NULL;
    const char *path = sl_weights_path(w);
    sl_text *t = begin(path, err);
    return t ? finish(out, t, path, sl_text_files_of_weights(&t->files, w, err), o, err) : SL_ENOMEM;
}

void sl_text_close(sl_text *t)
{
    if (!t)
        return;
    sl_tokenizer_destroy(t->tokenizer);
    sl_text_files_fini(&t->files);
    sl_mem_free(t);
}

const sl_tokenizer *sl_text_tokenizer(const sl_text *t, sl_err *why)
{
    if (!t->tokenizer && why)
        *why = t->no_vocab;
    return t->tokenizer;
}

bool sl_text_has_tokenizer(const sl_text *t, sl_err *why)
{
    return sl_text_tokenizer(t, why) != NULL;
}

const char *sl_text_chat_template(const sl_text *t, const char *name)
{
    for (size_t i = 0; i < t->files.n_templates; i++)
        if (strcmp(t->files.templates[i].name, name ? name : "default") == 0)
            return t->files.templates[i].source;
    return NULL;
}

size_t sl_text_n_chat_templates(const sl_text *t)
{
    return t->files.n_templates;
}

const char *sl_text_chat_template_name(const sl_text *t, size_t i)
{
    return t->files.templates[i].name;
}
