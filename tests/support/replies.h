/* replies.h - scripted replies: a vocabulary made by hand, and what the parser makes of its ids.
 *
 * In a reply's text the byte 0x02 stands before a tag that is one token; where the vocabulary has
 * no such token, it means nothing and the tag is letters. All else is a token for each byte. */
#ifndef TESTS_SUPPORT_REPLIES_H
#define TESTS_SUPPORT_REPLIES_H

#include "chat/reply.h"

#define T "\x02"

enum { REPLY_MAX_TOKENS = 4096, REPLY_EOS = 256 };

/* Bytes are ids 0 to 255, then comes "</s>", which ends answers, then `tags`: control tokens, or
 * added by a user where their text begins with '+' (left out); then `words`, ordinary tokens. */
sl_tokenizer *replies_tokenizer(const char *const *tags, size_t n_tags, const sl_bytes *words, size_t n_words);

/* Tags of all formats; those of Qwen's kind are user tokens, as there. The first replies_n_tags are
 * those of models that are no gpt-oss. */
extern const char *const replies_all_tags[];
extern const size_t replies_n_all_tags, replies_n_tags;

void replies_ids(const sl_tokenizer *t, const char *text, size_t len, sl_ids *out);

/* What a reply came to, in one line: {reasoning}{content}[name id arguments]... An id that was made
 * up is "-"; without a reasoning or a content there is nothing between the braces. */
void replies_line(const sl_reply_whole *w, sl_str *out);

/* What these ids come to, with or without the reply's end; each event is held against the rules
 * (UTF-8, never empty, calls in order), and the program aborted if it breaks one. on_event and user
 * of *o are set here. */
void replies_collect(const sl_reply_options *o, const int32_t *ids, size_t n, bool ended, sl_reply_whole *out);
/* The line of a whole reply; to be freed. */
char *replies_run(const sl_reply_options *o, const int32_t *ids, size_t n);

bool replies_is_utf8(const char *s, size_t n);

#endif
