/* fuzz_deploy.c - any bytes as a deploy file: an error on one line that names the file, or degrees that fit together.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "executor/deploy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int ok)
{
    if (!ok)
        abort();
}

static void check_phase(const sl_deploy_info *i, const sl_deploy_phase *p)
{
    must(i->attn_tp * p->context * p->data * i->pp == i->n_ranks);
    must((p->sequence == 1 || p->sequence == i->attn_tp) && p->chunk % p->context == 0 && p->chunk <= 65536);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sl_deploy *d = NULL;
    sl_deploy_info i;
    sl_deploy_option o;
    sl_err err = { 0 };
    const sl_status rc = sl_deploy_parse(&d, "f.yaml", data, size, &err);
    must(!rc == !!d);
    if (rc) {
        must(err.code == rc && strncmp(err.msg, "f.yaml:", 7) == 0 && !strchr(err.msg, '\n'));
        return 0;
    }
    sl_deploy_describe(d, &i);
    must(i.n_ranks >= 1 && i.n_ranks <= 65536 && i.n_ranks % i.pp == 0 && i.moe_tp * i.moe_ep * i.pp == i.n_ranks);
    must(!sl_deploy_runs(d, &err) == (i.n_ranks == 1));
    check_phase(&i, &i.prefill);
    check_phase(&i, &i.decode);
    for (size_t k = 0; sl_deploy_option_at(d, k, &o); k++)
        must(*o.name && o.value && *o.is && o.line && o.column && o.key_line <= o.line);
    sl_deploy_close(d);
    return 0;
}
