/* generate.c - continues a prompt with the likeliest tokens, as C or as C++.
 *
 *   cc generate.c -o generate $(pkg-config --cflags --libs sluice)
 *   ./generate model.gguf "Once upon a time"
 */
#include <sluice/sluice.h>
#include <sluice/text.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Called for each token: `user` is what the request says. Shows whole characters only. */
static bool show(void *user, const sl_event *event)
{
    sl_str text;
    memset(&text, 0, sizeof text);
    if (event->kind == SL_EVENT_TOKEN)
        sl_detokenizer_feed((sl_detokenizer *)user, event->token, &text, NULL);
    else if (event->kind == SL_EVENT_END)
        sl_detokenizer_flush((sl_detokenizer *)user, &text, NULL);
    if (text.len)
        fwrite(text.data, 1, text.len, stdout);
    sl_str_fini(&text);
    return true; /* go on */
}

static sl_status generate(sl_engine *engine, const sl_text *text, const char *prompt, sl_err *err)
{
    sl_ids ids;
    sl_request request;
    sl_detokenizer *detokenizer = NULL;
    memset(&ids, 0, sizeof ids);
    memset(&request, 0, sizeof request); /* temperature 0: the likeliest token */
    sl_status rc = sl_text_tokenize(text, prompt, strlen(prompt), SL_TEXT_ADD_SPECIAL, &ids, err);
    if (!rc)
        rc = sl_detokenizer_create(&detokenizer, text, false, err);
    if (!rc) {
        sl_detokenizer_restart(detokenizer, ids.data, ids.n);
        request.prompt = ids.data;
        request.n_prompt = ids.n;
        request.n_predict = 32;
        request.on_event = show;
        request.user = detokenizer;
        rc = sl_engine_submit(engine, &request, NULL, err);
    }
    while (!rc && sl_engine_busy(engine))
        rc = sl_engine_step(engine, err);
    sl_detokenizer_destroy(detokenizer);
    sl_ids_fini(&ids);
    return rc;
}

int main(int argc, char **argv)
{
    sl_err err;
    sl_model *model = NULL;
    sl_engine *engine = NULL;
    sl_engine_options options;
    memset(&options, 0, sizeof options); /* zero is the default of every option */
    if (argc != 3) {
        fprintf(stderr, "usage: generate MODEL PROMPT\n");
        return 2;
    }
    sl_status rc = sl_model_open(&model, argv[1], &err);
    if (!rc)
        rc = sl_engine_create(&engine, model, &options, &err);
    if (!rc)
        rc = generate(engine, sl_model_text(model), argv[2], &err);
    if (rc)
        fprintf(stderr, "generate: %s\n", err.msg);
    printf("\n");
    sl_engine_destroy(engine);
    sl_model_close(model);
    return rc ? EXIT_FAILURE : EXIT_SUCCESS;
}
