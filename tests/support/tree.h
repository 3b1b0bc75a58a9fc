/* tree.h - made-up /proc and /sys trees in a folder that a test shows to the code in place of "". */
#ifndef SL_TESTS_TREE_H
#define SL_TESTS_TREE_H

extern char tree_root[];

/* For cmocka's setup and teardown: an empty folder, taken away with all that is in it. */
int tree_make(void **state);
int tree_remove(void **state);
/* Write tree_root/path, its folders too. */
void tree_put(const char *path, const char *text);
void tree_putf(const char *text, const char *path, ...) __attribute__((format(printf, 2, 3)));

#endif
