/* str.c - a growing byte string. */
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"

#define CAP_MIN      64
#define WORD_MAX_LEN 32

/* Room for n more bytes and the NUL. */
static bool reserve(sl_str *s, size_t n)
{
    size_t need = 0;
    if (s->failed)
        return false;
    if (!sl_add_ok(s->len, n, &need) || !sl_add_ok(need, 1, &need)) {
        s->failed = true;
        return false;
    }
    if (need <= s->cap)
        return true;
    const size_t twice = s->cap <= SIZE_MAX / 2 ? 2 * s->cap : SIZE_MAX;
    const size_t cap = SL_MAX(SL_MAX(need, twice), (size_t)CAP_MIN);
    char *data = sl_mem_grow(s->data, s->len, cap);
    if (!data) {
        s->failed = true;
        return false;
    }
    s->data = data;
    s->cap = cap;
    return true;
}

void sl_str_append(sl_str *s, const char *bytes, size_t n)
{
    if (n == 0 || !reserve(s, n))
        return;
    memcpy(s->data + s->len, bytes, n);
    s->len += n;
    s->data[s->len] = '\0';
}

void sl_str_puts(sl_str *s, const char *text)
{
    sl_str_append(s, text, strlen(text));
}

void sl_str_printf(sl_str *s, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, fmt, args);
    if (n < 0)
        s->failed = true;
    else if (n > 0 && reserve(s, (size_t)n)) {
        vsnprintf(s->data + s->len, (size_t)n + 1, fmt, again);
        s->len += (size_t)n;
    }
    va_end(again);
    va_end(args);
}

void sl_str_clear(sl_str *s)
{
    s->len = 0;
    s->failed = false;
    if (s->data)
        s->data[0] = '\0';
}

void sl_str_fini(sl_str *s)
{
    sl_mem_free(s->data);
    *s = (sl_str){ 0 };
}

/* In the largest unit of which it has one, to a digit behind the point below 100; units[0] is of the number as it is.
 */
static sl_size_text scaled(size_t n, double step, const char *const *units, size_t n_units)
{
    sl_size_text t;
    size_t i = 0;
    double value = (double)n;
    for (; value >= step * 0.99995 && i + 1 < n_units; i++)
        value /= step;
    snprintf(t.text, sizeof t.text, "%.*f%s", i && value < 99.95 ? 1 : 0, value, units[i]);
    return t;
}

sl_size_text sl_bytes_text(size_t bytes)
{
    const char *const units[] = { bytes == 1 ? " byte" : " bytes", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB" };
    return scaled(bytes, 1024, units, SL_COUNT(units));
}

sl_size_text sl_count_text(size_t n)
{
    static const char *const units[] = { "", " K", " M", " B", " T" };
    return scaled(n, 1000, units, SL_COUNT(units));
}

bool sl_read_size(const char *text, size_t whole, size_t *out)
{
    static const char units[] = "KMGTPE";
    char *end = NULL;
    if (!(*text >= '0' && *text <= '9') || (text[1] | 0x20) == 'x') /* strtod takes more than numbers */
        return false;
    const double n = strtod(text, &end);
    double bytes = n;
    if (*end == '%') {
        if (n > 100)
            return false;
        bytes = n / 100 * (double)whole;
        end++;
    } else {
        const char *unit = *end ? strchr(units, *end & ~0x20) : NULL;
        for (const char *u = units; unit && u <= unit; u++)
            bytes *= 1024;
        end += unit != NULL;
        end += unit && *end == 'i';
        end += *end == 'B';
    }
    if (*end || !(bytes >= 0 && bytes < 0x1p63))
        return false;
    *out = (size_t)bytes;
    return true;
}

size_t sl_edit_distance(const char *a, const char *b)
{
    size_t row[3][WORD_MAX_LEN + 1] = { 0 }; /* two rows back, one back, now */
    const size_t m = strlen(a), n = SL_MIN(strlen(b), (size_t)WORD_MAX_LEN);
    for (size_t j = 0; j <= n; j++)
        row[2][j] = j;
    for (size_t i = 1; i <= m; i++) {
        memmove(row[0], row[1], 2 * sizeof row[0]);
        row[2][0] = i;
        for (size_t j = 1; j <= n; j++) {
            const size_t change = row[1][j - 1] + (a[i - 1] != b[j - 1]);
            row[2][j] = SL_MIN(change, SL_MIN(row[1][j], row[2][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[2][j] = SL_MIN(row[2][j], row[0][j - 2] + 1);
        }
    }
    return row[2][n];
}
