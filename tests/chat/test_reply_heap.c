/* test_reply_heap.c - a reply that goes on takes no more from the heap, whatever it holds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "support/heapcount.h"
#include "support/replies.h"

enum { WARM = 100, MORE = 2000 };

static size_t bytes_seen;

static void count(void *user, const sl_reply_event *e)
{
    (void)user;
    bytes_seen += e->text.len;
}

/* Heap calls of MORE repetitions of the text after WARM of them. */
static size_t heap_calls(const sl_tokenizer *t, const char *text, sl_stop *stop)
{
    sl_reply *r = NULL;
    sl_ids ids = { 0 };
    const sl_reply_options o = { .tokenizer = t, .tools = SL_TOOLS_ALL, .stop = stop, .on_event = count };
    replies_ids(t, text, strlen(text), &ids);
    if (sl_reply_create(&r, &o, NULL))
        abort();
    for (size_t n = 0; n < WARM + MORE; n++) {
        if (n == WARM)
            heapcount_restart();
        for (size_t i = 0; i < ids.n; i++)
            if (sl_reply_feed(r, ids.data[i], NULL))
                abort();
    }
    const size_t calls = heapcount_get().calls;
    sl_reply_destroy(r);
    sl_ids_fini(&ids);
    return calls;
}

int main(void)
{
    static const char *const texts[] = {
        "Some text,  `code` and 🏔.\n\n",
        T "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": [1, \"é\"]}}\n" T "</tool_call>\nand",
        T "<|tool_calls_section_begin|>" T "<|tool_call_begin|>functions.f:0" T "<|tool_call_argument_begin|>{}" T
          "<|tool_call_end|>" T "<|tool_calls_section_end|>",
        T "<tool_call> quoted, " T "</tool_call> " T "<think>\n",
    };
    const char *stop_text = "never seen";
    sl_stop *stop = NULL;
    int failed = 0;
    if (!heapcount_works()) {
        printf("skipped: another malloc counts nothing\n");
        return 77;
    }
    sl_tokenizer *t = replies_tokenizer(replies_all_tags, replies_n_tags, NULL, 0);
    if (sl_stop_create(&stop, &stop_text, 1, NULL))
        abort();
    for (size_t i = 0; i < SL_COUNT(texts); i++)
        for (int with_stop = 0; with_stop < 2; with_stop++) {
            const size_t calls = heap_calls(t, texts[i], with_stop ? stop : NULL);
            failed += calls > 0;
            printf("%s %zu heap calls in %d repetitions of text %zu%s\n", calls ? "FAILED" : "ok", calls, MORE, i,
                   with_stop ? ", with a stop string" : "");
            sl_stop_reset(stop);
        }
    sl_stop_destroy(stop);
    sl_tokenizer_destroy(t);
    return failed || bytes_seen == 0;
}
