/* generate.c - continues a prompt with the likeliest tokens, as C or as C++.
 *   cc generate.c -o generate $(pkg-config --cflags --libs sluice)
 *   ./generate model.gguf "Once upon a time" */
#include <sluice/sluice.h>
#include <stdio.h>
#include <string.h>

static bool show(void *detokenizer, const sl_event *event)
{
    static sl_str text; /* whole characters only */
    text.len = 0;
    if (event->kind == SL_EVENT_TOKEN)
        sl_detokenizer_feed((sl_detokenizer *)detokenizer, event->token, &text, NULL);
    else
        sl_detokenizer_flush((sl_detokenizer *)detokenizer, &text, NULL);
    return printf("%.*s", (int)text.len, text.len ? text.data : "") >= 0; /* go on */
}

int main(int argc, char **argv)
{
    static sl_engine_options options; /* zero is the default of every option */
    static sl_request request;        /* temperature 0: the likeliest token */
    static sl_ids ids;
    sl_err err;
    sl_model *model = NULL;
    sl_engine *engine = NULL;
    sl_detokenizer *out = NULL;
    if (argc != 3)
        return fputs("usage: generate MODEL PROMPT\n", stderr), 2;
    sl_status rc = sl_model_open(&model, argv[1], &err);
    rc = rc ? rc : sl_engine_create(&engine, model, &options, &err);
    rc = rc ? rc : sl_detokenizer_create(&out, sl_model_text(model), false, &err);
    rc = rc ? rc : sl_text_tokenize(sl_model_text(model), argv[2], strlen(argv[2]), SL_TEXT_ADD_SPECIAL, &ids, &err);
    if (!rc) {
        sl_detokenizer_restart(out, ids.data, ids.n);
        request.prompt = ids.data;
        request.n_prompt = ids.n;
        request.n_predict = 32;
        request.on_event = show;
        request.user = out;
        rc = sl_engine_submit(engine, &request, NULL, &err);
    }
    while (!rc && sl_engine_busy(engine))
        rc = sl_engine_step(engine, &err);
    fprintf(rc ? stderr : stdout, "%s\n", rc ? err.msg : "");
    sl_detokenizer_destroy(out);
    sl_ids_fini(&ids);
    sl_engine_destroy(engine);
    sl_model_close(model);
    return rc ? 1 : 0;
}
