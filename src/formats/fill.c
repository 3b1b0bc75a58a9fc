/* fill.c - what the readers of tokenizer files share. */
#include "formats/fill_in.h"

#include <assert.h>
#include <string.h>
#include <sys/random.h>
#include "base/num.h"

#define BLOCK_BYTES ((size_t)64 << 10)
#define HOLES_MAX   ((size_t)1 << 20) /* ids without a name */
#define IDS_MAX     ((size_t)1 << 26)

sl_status sl_fill_no_memory(const sl_fill *f)
{
    return sl_fail(f->err, SL_ENOMEM, "no memory for the vocabulary");
}

sl_status sl_fill_room(sl_fill *f, size_t n, char **out)
{
    if (n > f->room || !f->at) {
        f->room = SL_MAX(n, BLOCK_BYTES);
        f->at = sl_arena_alloc(&f->v->arena, f->room, 1);
    }
    *out = f->at;
    if (!f->at)
        return sl_fill_no_memory(f);
    f->at += n;
    f->room -= n;
    return SL_OK;
}

sl_status sl_fill_keep(sl_fill *f, sl_bytes in, sl_bytes *out)
{
    char *copy = NULL;
    const sl_status rc = sl_fill_room(f, in.len, &copy);
    if (rc)
        return rc;
    if (in.len)
        memcpy(copy, in.data, in.len);
    *out = (sl_bytes){ copy, in.len };
    return SL_OK;
}

sl_status sl_fill_tokens(sl_fill *f, size_t n, bool scores)
{
    sl_vocab *v = f->v;
    v->tokens = sl_arena_alloc(&v->arena, n, sizeof *v->tokens);
    v->kinds = sl_arena_alloc(&v->arena, n, sizeof *v->kinds);
    if (scores)
        v->scores = sl_arena_alloc(&v->arena, n, sizeof *v->scores);
    if (!v->tokens || !v->kinds || (scores && !v->scores))
        return sl_fill_no_memory(f);
    v->n_tokens = n;
    for (size_t i = 0; i < n; i++)
        v->tokens[i].data = "";
    memset(v->kinds, SL_TOKEN_UNUSED, n);
    return SL_OK;
}

sl_status sl_fill_ids(sl_fill *f, const int32_t *ids, size_t n, int32_t **out)
{
    *out = sl_arena_alloc(&f->v->arena, n, sizeof **out);
    if (!*out)
        return sl_fill_no_memory(f);
    if (n)
        memcpy(*out, ids, n * sizeof **out);
    return SL_OK;
}

bool sl_fill_id_ok(int64_t id, size_t n_named)
{
    return id >= 0 && (uint64_t)id < SL_MIN(n_named + HOLES_MAX, IDS_MAX);
}

sl_status sl_fill_add_controls(sl_fill *f)
{
    sl_vocab *v = f->v;
    size_t n = 0;
    for (size_t i = 0; i < v->n_tokens; i++)
        n += v->kinds[i] == SL_TOKEN_CONTROL || v->kinds[i] == SL_TOKEN_USER;
    v->added = sl_arena_alloc(&v->arena, n, sizeof *v->added);
    if (!v->added)
        return sl_fill_no_memory(f);
    for (size_t i = 0; i < v->n_tokens; i++)
        if (v->kinds[i] == SL_TOKEN_CONTROL || v->kinds[i] == SL_TOKEN_USER)
            v->added[v->n_added++] = (sl_added_token){ .id = (int32_t)i, .special = v->kinds[i] == SL_TOKEN_CONTROL };
    return SL_OK;
}

sl_status sl_fill_check_ranks(const sl_fill *f, size_t from, size_t to)
{
    const sl_bytes *tokens = f->v->tokens + from;
    sl_names names = { 0 };
    size_t twice = SIZE_MAX;
    for (size_t i = from; i < to; i++)
        if (f->v->kinds[i] != SL_TOKEN_NORMAL)
            return sl_fail(f->err, SL_EFORMAT, "no token of rank %zu", i - from);
    if (sl_names_init(&names, tokens, to - from, &twice))
        return sl_fill_no_memory(f);
    sl_status rc = twice == SIZE_MAX ? SL_OK : sl_fail(f->err, SL_EFORMAT, "the token of rank %zu comes twice", twice);
    for (unsigned b = 0; b < 256 && !rc; b++) {
        const char byte = (char)b;
        if (sl_names_find(&names, (sl_bytes){ &byte, 1 }) == SIZE_MAX)
            rc = sl_fail(f->err, SL_EFORMAT, "no token of the byte 0x%02X alone", b);
    }
    sl_names_fini(&names);
    return rc;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int sl_fill_byte(sl_bytes t)
{
    if (t.len != 6 || memcmp(t.data, "<0x", 3) != 0 || t.data[5] != '>')
        return -1;
    const int high = hex_digit(t.data[3]), low = hex_digit(t.data[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

void sl_fill_mark_bytes(sl_vocab *v)
{
    for (size_t i = 0; i < v->n_tokens; i++)
        if (v->kinds[i] == SL_TOKEN_NORMAL && sl_fill_byte(v->tokens[i]) >= 0)
            v->kinds[i] = SL_TOKEN_BYTE;
}

static int base64_digit(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

bool sl_fill_base64(sl_bytes s, char *out, size_t *n)
{
    size_t len = s.len, used = 0;
    uint32_t bits = 0;
    if (len % 4 != 0)
        return false;
    for (int i = 0; i < 2 && len > 0 && s.data[len - 1] == '='; i++)
        len--;
    for (size_t i = 0; i < len; i++) {
        const int digit = base64_digit(s.data[i]);
        if (digit < 0)
            return false;
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4 != 0)
            out[used++] = (char)(bits >> (6 - 2 * (i % 4)));
    }
    /* Bits behind the last byte are zero where the encoder was sane. */
    if ((len % 4 == 2 && bits & 0xf) || (len % 4 == 3 && bits & 0x3))
        return false;
    *n = used;
    return true;
}

/* ---- names ------------------------------------------------------------------------------ */

/* FNV-1a from the seed. */
static size_t slot_of(const sl_names *x, sl_bytes name)
{
    uint64_t h = x->seed ^ 0xcbf29ce484222325u;
    for (size_t i = 0; i < name.len; i++)
        h = (h ^ (unsigned char)name.data[i]) * 0x100000001b3u;
    h ^= x->seed >> 7;
    size_t i = (h ^ h >> 29) & x->mask;
    for (; x->slots[i]; i = (i + 1) & x->mask) {
        const sl_bytes have = x->names[x->slots[i] - 1];
        if (have.len == name.len && memcmp(have.data, name.data, name.len) == 0)
            break;
    }
    return i;
}

sl_status sl_names_init(sl_names *x, const sl_bytes *names, size_t n, size_t *twice)
{
    assert(n < UINT32_MAX / 2);
    size_t n_slots = 16;
    while (n_slots < 2 * n)
        n_slots *= 2;
    *x = (sl_names){ .names = names, .mask = n_slots - 1 };
    x->slots = sl_mem_zalloc(n_slots, sizeof *x->slots);
    if (!x->slots)
        return SL_ENOMEM;
    if (getrandom(&x->seed, sizeof x->seed, GRND_NONBLOCK) != sizeof x->seed)
        x->seed = 0; /* before the system has entropy: only the defence against chosen collisions is lost */
    if (twice)
        *twice = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        uint32_t *slot = names[i].len ? &x->slots[slot_of(x, names[i])] : NULL;
        if (slot && *slot && twice)
            *twice = i;
        if (slot && !*slot)
            *slot = (uint32_t)i + 1;
    }
    return SL_OK;
}

void sl_names_fini(sl_names *x)
{
    sl_mem_free(x->slots);
    *x = (sl_names){ 0 };
}

size_t sl_names_find(const sl_names *x, sl_bytes name)
{
    return name.len == 0 ? SIZE_MAX : (size_t)x->slots[slot_of(x, name)] - 1;
}
