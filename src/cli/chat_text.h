/* chat_text.h - what a person writes in a chat, and the message that it means.
 *
 *   //x         at the beginning: /x, and no command
 *   @path       at the beginning of a word: the file's text, behind the message; @"a path" with spaces
 *   @@x         at the beginning of a word: @x
 */
#ifndef SL_CLI_CHAT_TEXT_H
#define SL_CLI_CHAT_TEXT_H

#include "base/status.h"
#include "base/str.h"

/* A file for people's eyes: whole, UTF-8 (a BOM is dropped), of at most `limit` bytes. A path in ~/ is in the user's
 * home. SL_ENOTFOUND, SL_EIO, SL_EUNSUPPORTED (no plain file, too large), SL_EFORMAT (no text), SL_ENOMEM. */
sl_status sl_chat_read_file(const char *path, size_t limit, sl_str *out, sl_err *err);
/* The path itself, with the home for ~/. */
void sl_chat_path(const char *path, sl_str *out);

/* Append the message that `typed` means; `typed` says it again through sl_chat_quote. Errors are those of a file. */
sl_status sl_chat_message(const char *typed, size_t len, sl_str *out, sl_err *err);

/* Make of lines what has to be typed so that they are sent as they are, at the beginning of a message or further on.
 * For a single line that was pasted nothing is changed: it may well be a command or a @path. */
void sl_chat_quote(sl_str *lines, bool at_start);

#endif
