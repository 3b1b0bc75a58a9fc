/* chars.h - what the reference takes for a word's character, for white space, and how it maps
 * letters; where its Unicode differs from utf8proc's. */
#ifndef SL_TOKENIZER_CHARS_H
#define SL_TOKENIZER_CHARS_H

#include <stdbool.h>
#include <stdint.h>

#define SL_NO_CHAR UINT32_MAX /* nothing below is true of it */

bool sl_char_is_word(uint32_t c);         /* \w of Rust's regex crate */
bool sl_char_is_space(uint32_t c);        /* White_Space */
bool sl_char_is_python_space(uint32_t c); /* str.isspace: four more controls */
bool sl_char_is_accent(uint32_t c);       /* a mark, to StripAccents */
/* The reference's normaliser has an older Unicode: it leaves this character and its surroundings
 * alone, where utf8proc would decompose or reorder. */
bool sl_char_is_newer(uint32_t c);
/* Joins the grapheme of the character before it, to the reference's newer Unicode alone. */
bool sl_char_extends_newly(uint32_t c);
/* char::to_lowercase: one character, of one alone two (U+0130). */
unsigned sl_char_lower(uint32_t c, uint32_t out[2]);

#endif
