/* toy_folder.h - a Hugging Face folder made by hand: bytes are ids 0 to 255, then come the tags. */
#ifndef TESTS_API_TOY_FOLDER_H
#define TESTS_API_TOY_FOLDER_H

enum { TOY_START = 256, TOY_END, TOY_THINK, TOY_THINK_END, TOY_CALL, TOY_CALL_END, TOY_TURN, TOY_N };

/* The path of a new folder; its template ends turns with TOY_TURN, which no file names as an end. TOY_END is eos. */
const char *toy_folder(void);
void toy_folder_remove(void);

#endif
