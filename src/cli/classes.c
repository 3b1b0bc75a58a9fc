#include "cli/classes.h"

#include <stdio.h>
#include <string.h>
#include "base/num.h"
#include "base/str.h"

/* "blk.7.attn_q.weight" -> "attn_q", "model.layers.7.mlp.experts.3.up_proj.weight" -> "mlp.experts.*.up_proj"; endings
 * other than .weight stay. */
static void class_name(const char *name, char *out, size_t size)
{
    static const char *const layers[] = { "blk.", "model.layers." };
    static const char weight[] = ".weight";
    for (size_t i = 0; i < SL_COUNT(layers); i++) {
        const size_t n = strlen(layers[i]), digits = strspn(name + SL_MIN(n, strlen(name)), "0123456789");
        if (strncmp(name, layers[i], n) == 0 && digits > 0 && name[n + digits] == '.')
            name += n + digits + 1;
    }
    if (strncmp(name, "model.", 6) == 0)
        name += 6;
    const size_t len = strlen(name), end = sizeof weight - 1;
    const size_t shown = len > end && strcmp(name + len - end, weight) == 0 ? len - end : len;
    size_t used = 0;
    for (size_t i = 0; i < shown && used + 1 < size;) {
        const size_t digits = i && name[i - 1] == '.' ? strspn(name + i, "0123456789") : 0;
        const bool number = digits && (i + digits == shown || name[i + digits] == '.');
        out[used++] = number ? '*' : name[i];
        i += number ? digits : 1;
    }
    out[used] = '\0';
}

static void count(sl_class *c, const sl_tensor_info *t)
{
    c->count++;
    c->bytes += t->bytes;
}

void sl_classes_add(sl_classes *c, const sl_tensor_info *t)
{
    char name[sizeof c->of->name];
    size_t k = 0;
    class_name(t->name, name, sizeof name);
    while (k < c->n && (strcmp(c->of[k].name, name) != 0 || strcmp(c->of[k].format, t->format) != 0))
        k++;
    if (k == SL_CLASSES_MAX) {
        count(&c->others, t);
        return;
    }
    if (k == c->n) {
        sl_class *new = &c->of[c->n++];
        memcpy(new->name, name, sizeof name);
        snprintf(new->format, sizeof new->format, "%s", t->format);
        new->supported = t->supported;
    }
    count(&c->of[k], t);
}

static void print_class(const sl_class *c, int name_width, int format_width)
{
    printf("  %-*s %-*s %6zu tensor%s  %s%s\n", name_width, c->name, format_width, c->format, c->count,
           c->count == 1 ? " " : "s", sl_bytes_text(c->bytes).text, c->supported ? "" : "  not supported");
}

void sl_classes_print(const sl_classes *c)
{
    size_t name = 28, format = 10;
    for (size_t i = 0; i < c->n; i++) {
        name = SL_MAX(name, strlen(c->of[i].name));
        format = SL_MAX(format, strlen(c->of[i].format));
    }
    for (size_t i = 0; i < c->n; i++)
        print_class(&c->of[i], (int)name, (int)format);
    if (c->others.count)
        printf("  %-*s %-*s %6zu tensors  %s\n", (int)name, "others", (int)format, "", c->others.count,
               sl_bytes_text(c->others.bytes).text);
}
