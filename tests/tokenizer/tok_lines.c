/* tok_lines.c - for differential.py: a tokenizer.json and a pre-tokenizer's name; one JSON string
 * per line in, one line of ids out, special tokens in the text recognised. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tokenizer/tokenizer.h"
#include "vocab_json.h"

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s TOKENIZER.json PRE <LINES\n", argv[0]);
        return 2;
    }
    vocab_json j = { 0 };
    sl_tokenizer *t = NULL;
    sl_err err = { 0 };
    sl_ids ids = { 0 };
    char *line = NULL;
    size_t cap = 0;
    int rc = 0;
    vocab_json_load(&j, argv[1], argv[2]);
    if (sl_tokenizer_create(&t, &j.v, &err) != SL_OK) {
        fprintf(stderr, "%s\n", err.msg);
        rc = 1;
    }
    while (rc == 0 && getline(&line, &cap, stdin) > 0) {
        json_error_t e;
        json_t *text = json_loads(line, JSON_DECODE_ANY | JSON_ALLOW_NUL, &e);
        ids.n = 0;
        if (!json_is_string(text) || sl_tokenize(t, json_string_value(text), json_string_length(text),
                                                 SL_TOK_PARSE_SPECIAL, &ids, &err) != SL_OK) {
            fprintf(stderr, "%s\n", json_is_string(text) ? err.msg : e.text);
            rc = 1;
        }
        for (size_t i = 0; i < ids.n; i++)
            printf("%s%d", i ? " " : "", (int)ids.data[i]);
        putchar('\n');
        json_decref(text);
    }
    free(line);
    sl_ids_fini(&ids);
    sl_tokenizer_destroy(t);
    vocab_json_free(&j);
    return rc;
}
