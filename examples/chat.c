/* chat.c - answers a conversation: JSON messages in, text out as it is said, reasoning on stderr.
 *
 *   cc chat.c -o chat $(pkg-config --cflags --libs sluice)
 *   ./chat model.gguf '{"messages": [{"role": "user", "content": "Why is the sky blue?"}]}'
 */
#include <sluice/sluice.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void show(void *user, const sl_part *part)
{
    (void)user;
    fwrite(part->text.data, 1, part->text.len, part->kind == SL_PART_REASONING ? stderr : stdout);
    fflush(stdout);
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
    sl_chat *chat = NULL;
    sl_parser *parser = NULL;
    sl_engine *engine = NULL;
    sl_ids prompt = { NULL, 0, 0 };
    sl_engine_options options;
    sl_request request;
    sl_parser_options parsing;
    sl_event event;
    sl_request_id id;
    if (argc != 3)
        return fprintf(stderr, "usage: chat MODEL REQUEST\n"), EXIT_FAILURE;
    memset(&options, 0, sizeof options); /* zero is each option's default */
    memset(&request, 0, sizeof request);
    memset(&parsing, 0, sizeof parsing);
    if (sl_model_open(&model, argv[1], &err) || sl_chat_create(&chat, sl_model_text(model), NULL, &err) ||
        sl_chat_tokenize(chat, argv[2], strlen(argv[2]), &prompt, &err) ||
        sl_engine_create(&engine, model, &options, &err))
        return fail(&err);
    parsing.chat = chat; /* knows how replies begin and turns end */
    parsing.tools = "none";
    parsing.prompt = request.prompt = prompt.data;
    parsing.n_prompt = request.n_prompt = prompt.n;
    parsing.on_part = show;
    request.n_predict = 256;
    request.poll = true;
    if (sl_parser_create(&parser, sl_model_text(model), &parsing, &err) ||
        sl_engine_submit(engine, &request, &id, &err))
        return fail(&err);
    while (sl_engine_busy(engine)) {
        if (sl_engine_step(engine, &err))
            return fail(&err);
        while (sl_engine_poll(engine, &event))
            if (event.kind == SL_EVENT_TOKEN && sl_parser_feed(parser, event.token, &err))
                return fail(&err);
        if (sl_parser_get_state(parser) != SL_PARSER_OPEN) /* the template's own end of a turn */
            sl_engine_cancel(engine, id);
    }
    if (sl_parser_end(parser, &err))
        return fail(&err);
    putchar('\n');
    sl_parser_destroy(parser);
    sl_engine_destroy(engine);
    sl_chat_destroy(chat);
    sl_ids_fini(&prompt);
    sl_model_close(model);
    return EXIT_SUCCESS;
}
