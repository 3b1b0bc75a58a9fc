#include "toy.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"

static sl_bytes text(const char *s)
{
    return (sl_bytes){ s, strlen(s) };
}

/* GPT-2's table, written independently of the library's: list what prints, number the rest. */
static void byte_spelling(unsigned b, char out[4])
{
    unsigned c = 0x100;
    for (unsigned k = 0; k <= b; k++) {
        const bool prints = (k > ' ' && k < 127) || (k > 160 && k != 173);
        if (k == b)
            c = prints ? b : c;
        else
            c += !prints;
    }
    if (c < 0x80)
        snprintf(out, 4, "%c", (int)c);
    else
        snprintf(out, 4, "%c%c", (int)(0xc0 | c >> 6), (int)(0x80 | (c & 0x3f)));
}

void toy_fill(toy *y, const char *pre)
{
    static const char *const tail[] = { "ab",   "cd",           "abcd",       "\u0120a",          "bc",     "<s>",
                                        "</s>", "<|im_start|>", "<|im_end|>", "<|im_start|>user", "<think>" };
    static const char *const merges[][2] = {
        { "a", "b" }, { "c", "d" }, { "ab", "cd" }, { "\u0120", "a" }, { "b", "c" }
    };
    *y = (toy){ 0 };
    for (unsigned b = 0; b < 256; b++) {
        byte_spelling(b, y->text[b]);
        y->tokens[b] = text(y->text[b]);
    }
    for (size_t i = 0; i < SL_COUNT(tail); i++) {
        y->tokens[256 + i] = text(tail[i]);
        y->kinds[256 + i] = 256 + i < TOY_BOS     ? SL_TOKEN_NORMAL
                            : 256 + i < TOY_THINK ? SL_TOKEN_CONTROL
                                                  : SL_TOKEN_USER;
        if (256 + i >= TOY_BOS)
            y->added[y->v.n_added++] = (sl_added_token){ .id = (int32_t)(256 + i), .special = 256 + i < TOY_THINK };
    }
    for (size_t i = 0; i < SL_COUNT(merges); i++)
        y->merges[i] = (struct sl_vocab_merge){ text(merges[i][0]), text(merges[i][1]) };
    y->v = (sl_vocab){ .pre = pre,
                       .n_added = y->v.n_added,
                       .added = y->added,
                       .n_tokens = TOY_N,
                       .tokens = y->tokens,
                       .kinds = y->kinds,
                       .n_merges = SL_COUNT(merges),
                       .merges = y->merges,
                       .bos = TOY_BOS,
                       .eos = TOY_EOS,
                       .eot = -1,
                       .unk = -1,
                       .pad = -1 };
}

void toy_surround(toy *y, int32_t before, int32_t behind)
{
    y->around[0] = before;
    y->around[1] = behind;
    y->v.prefix = y->around;
    y->v.suffix = y->around + 1;
    y->v.n_prefix = before >= 0;
    y->v.n_suffix = behind >= 0;
}
