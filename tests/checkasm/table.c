/* table.c - the table itself: no slot is empty, and what belongs together is there together. */
#include "checkasm.h"

#include <string.h>

/* From rms_norm on, the table is function pointers and nothing else. */
static void check_rows(ca *c, const void *arg)
{
    (void)arg;
    const size_t from = offsetof(sl_kernels, rms_norm), n = (sizeof(sl_kernels) - from) / sizeof(void *);
    for (size_t i = 0; i < n; i++) {
        void *slot;
        memcpy(&slot, (const char *)c->k + from + i * sizeof slot, sizeof slot);
        if (!slot)
            ca_fail(c, "function %zu after rms_norm is not set", i);
    }
    if (!strstr(sl_kernels_built(), sl_isa_name(c->isa)))
        ca_fail(c, "sl_kernels_built() says \"%s\"", sl_kernels_built());
    if (!c->k->quantize || !c->k->turn)
        ca_fail(c, "quantize or turn is not set");
}

static void check_panels(ca *c, const void *arg)
{
    (void)arg;
    for (size_t f = 0; f < SL_FORMAT_COUNT; f++)
        for (size_t a = 0; a < SL_ACT_COUNT; a++) {
            const sl_panel *p = &c->k->panel[f][a];
            if (!p->name || !p->decode || !p->micro || p->group_bytes == 0 || p->needs == 0)
                ca_fail(c, "panel[%zu][%zu] is incomplete", f, a);
            if (!p->narrow != (p->narrow_max == 0) || !p->narrow != (p->narrow_needs == 0))
                ca_fail(c, "panel[%zu][%zu]: narrow, narrow_max and narrow_needs disagree", f, a);
        }
}

void check_table(ca *c)
{
    if (c->bench)
        return;
    ca_case(c, check_rows, NULL, "table of functions");
    ca_case(c, check_panels, NULL, "table of panels");
}
