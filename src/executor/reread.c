#include "executor/reread.h"

#include "base/num.h"
#include "base/pages.h"
#include "base/room.h"

#define PIECE ((size_t)64 << 20) /* read between two words about it */

typedef struct reading {
    sl_on_copy *on_read; /* or NULL */
    void *user;
    uint64_t done, total;
    bool anew;
} reading;

static void touch(reading *r, const char *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += PIECE) {
        if (r->on_read)
            r->on_read(r->user, r->done + i, r->total);
        sl_pages_touch(p + i, SL_MIN(PIECE, bytes - i));
    }
}

/* A page cache that was filled by small reads, or by writing the file, has small pages. */
static void read_range(void *user, const void *p, size_t bytes)
{
    reading *r = user;
    sl_pages_use use;
    touch(r, p, bytes);
    sl_pages_measure(p, bytes, &use);
    /* Settings and vectors were read through small pages already, here and there. */
    if (bytes >= 2 * SL_HUGE_BYTES && use.huge < bytes / 2) {
        sl_pages_evict(p, bytes);
        touch(r, p, bytes);
        r->anew = true;
    }
    r->done += bytes;
}

bool sl_reread_huge(const sl_weights *w, sl_on_copy *on_read, void *user)
{
    reading r = { .on_read = on_read, .user = user, .total = sl_weights_file_bytes(w) };
    sl_room room;
    sl_room_get(&room);
    if (r.total <= room.resident)
        sl_weights_ranges(w, read_range, &r);
    return r.anew;
}
