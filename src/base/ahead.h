/* ahead.h - bytes of mapped files, brought into memory before they are used.
 *
 * One thread asks, in the order in which the bytes will be used; helper threads bring them in, several at once, so that
 * the disk has a queue to work on; whoever is about to use them waits for them. Asks are cut into pieces and numbered:
 * a ticket is the number of an ask's last piece, the same in every thread that counts along with the one that asks, so
 * nobody has to be told a number.
 *
 *   asked       1 2 3 4 5 6 7 8 9          what is brought in is held against what was waited for: helpers
 *   brought in  1 2 3 . 5                  stay at most `window` bytes ahead of it, since bytes that come too
 *   waited for  1 2                        early push others out, or are pushed out themselves
 *
 * A page that is mapped costs its user no fault. Nothing here can fail: what a helper cannot bring in, the user's own
 * fault does. */
#ifndef SL_BASE_AHEAD_H
#define SL_BASE_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"

typedef struct sl_ahead sl_ahead;

/* How bytes are read: exactly these, or with their neighbours in blocks of 2 MiB. Exact reads come in small pages,
 * which cost the system several times as much work for a byte as those blocks do. */
typedef enum sl_ahead_how { SL_AHEAD_EXACT, SL_AHEAD_BLOCKS } sl_ahead_how;

/* SL_ENOMEM, also where a thread cannot be started. */
sl_status sl_ahead_create(sl_ahead **out, size_t n_helpers, size_t window, sl_err *err);
void sl_ahead_destroy(sl_ahead *a); /* accepts NULL; what was asked for and not begun is left */

/* The pieces that an ask for these bytes takes, at least 1. */
uint64_t sl_ahead_pieces(const void *data, size_t bytes);
/* Ask for bytes of a mapping that stays until they were waited for. One thread at a time. No heap call; waits where
 * more was asked for than the queue holds. Helpers begin with sl_ahead_go. */
void sl_ahead_ask(sl_ahead *a, const void *data, size_t bytes, sl_ahead_how how);
void sl_ahead_go(sl_ahead *a);
uint64_t sl_ahead_asked(const sl_ahead *a); /* pieces so far; by the thread that asks */

/* Until piece `ticket` and all before it are in memory; it may be one that is yet to be asked for. Any thread. Returns
 * at once, without a lock, for what was waited for before. True where it took waiting. */
bool sl_ahead_wait(sl_ahead *a, uint64_t ticket);

#endif
