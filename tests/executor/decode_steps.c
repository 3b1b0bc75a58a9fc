/* decode_steps.c MODEL N - N greedy decode steps on one thread and nothing else, for counting instructions. */
#include <stdio.h>
#include <stdlib.h>
#include "sluice/sluice.h"

int main(int argc, char **argv)
{
    sl_model *m = NULL;
    sl_engine *e = NULL;
    sl_err err = { 0 };
    const int32_t prompt[] = { 1 };
    if (argc != 3) {
        fprintf(stderr, "usage: decode_steps MODEL.gguf N\n");
        return 2;
    }
    const sl_engine_options options = { .n_threads = 1, .n_ctx = 512 };
    const sl_request request = {
        .prompt = prompt, .n_prompt = 1, .n_predict = strtoul(argv[2], NULL, 10), .ignore_eos = true, .top_p = 1
    };
    if (sl_model_open(&m, argv[1], &err) || sl_engine_create(&e, m, &options, &err) ||
        sl_engine_submit(e, &request, NULL, &err)) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    while (sl_engine_busy(e))
        if (sl_engine_step(e, &err)) {
            fprintf(stderr, "%s\n", err.msg);
            return 1;
        }
    sl_engine_destroy(e);
    sl_model_close(m);
    return 0;
}
