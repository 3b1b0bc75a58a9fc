/* roofline - print what this machine can do, as JSON: roofline [MiB per array] [threads...] */
#include <stdio.h>
#include <stdlib.h>
#include "base/cpu.h"
#include "measure/probe.h"

static sl_status print_roofline(size_t n_threads, size_t array_bytes, sl_err *err)
{
    sl_pool *pool = NULL;
    sl_probe *probe = NULL;
    sl_str text = { 0 };
    sl_roofline r;
    sl_status rc = sl_pool_create(&pool, n_threads, err);
    if (rc == SL_OK)
        rc = sl_probe_create(&probe, pool, array_bytes, err);
    if (rc == SL_OK)
        rc = sl_probe_roofline(probe, &r, err);
    if (rc == SL_OK) {
        sl_roofline_json(&text, &r);
        sl_str_puts(&text, "\n");
        if (text.failed)
            rc = sl_fail(err, SL_ENOMEM, "no memory for the answer");
        else
            fputs(text.data, stdout);
    }
    sl_str_fini(&text);
    sl_probe_destroy(probe);
    sl_pool_destroy(pool);
    return rc;
}

int main(int argc, char **argv)
{
    sl_err err = { 0 };
    const size_t mib = argc > 1 ? strtoul(argv[1], NULL, 10) : 512;
    sl_status rc = SL_OK;
    if (argc <= 2)
        rc = print_roofline(sl_cpu_threads(), mib << 20, &err);
    for (int i = 2; i < argc && rc == SL_OK; i++)
        rc = print_roofline(strtoul(argv[i], NULL, 10), mib << 20, &err);
    if (rc != SL_OK)
        fprintf(stderr, "roofline: %s\n", err.msg);
    return rc != SL_OK;
}
