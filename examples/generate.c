/* generate.c - continues a prompt of token ids with the likeliest tokens.
 *
 *   cc generate.c -o generate $(pkg-config --cflags --libs sluice)
 *   ./generate model.gguf 1 450 338
 */
#include <sluice/sluice.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool print_token(void *user, const sl_event *event)
{
    (void)user;
    if (event->kind == SL_EVENT_TOKEN)
        printf("%d\n", event->token);
    return true;
}

static int fail(const sl_err *err)
{
    fprintf(stderr, "%s\n", err->msg);
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    sl_err err;
    sl_model *model = NULL;
    sl_engine *engine = NULL;
    sl_engine_options options;
    sl_request request;
    int32_t prompt[64];
    if (argc < 3 || argc > 66)
        return fprintf(stderr, "usage: generate MODEL ID... (at most 64)\n"), EXIT_FAILURE;
    for (int i = 2; i < argc; i++)
        prompt[i - 2] = (int32_t)atoi(argv[i]);
    memset(&options, 0, sizeof options); /* zero is each option's default */
    memset(&request, 0, sizeof request);
    request.prompt = prompt;
    request.n_prompt = (size_t)argc - 2;
    request.n_predict = 16;
    request.on_event = print_token;
    if (sl_model_open(&model, argv[1], &err) || sl_engine_create(&engine, model, &options, &err) ||
        sl_engine_submit(engine, &request, NULL, &err))
        return fail(&err);
    while (sl_engine_busy(engine))
        if (sl_engine_step(engine, &err))
            return fail(&err);
    sl_engine_destroy(engine);
    sl_model_close(model);
    return EXIT_SUCCESS;
}
