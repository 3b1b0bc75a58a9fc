/* cases.h - texts and ids of a reference, one JSON object per line: text, ids, and `decoded`
 * where the ids do not give the text back. */
#ifndef TESTS_TOKENIZER_CASES_H
#define TESTS_TOKENIZER_CASES_H

#include "tokenizer/tokenizer.h"

/* Fails the test at the first difference, in ids or in text (id by id, control tokens shown).
 * `skip_changed`: leave out texts that the reference normalises. Returns how many were run. */
size_t cases_run(const sl_tokenizer *t, const char *path, bool skip_changed);

#endif
