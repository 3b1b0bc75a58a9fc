/* copies.h - weights copied out of the mapped file: into huge pages, locked memory, or one copy on each NUMA node.
 *
 *   block | copy of node 0: tensor, tensor, … | copy of node 1 | …
 *
 * With s->repack, matrices that are read by SL_PANEL_ROWS rows are laid out as kernels want them (sl_linear_repack).
 *
 * Plans are built of a net whose tensors lie in the first copy; a thread adds its offset to read from its own. */
#ifndef SL_EXECUTOR_COPIES_H
#define SL_EXECUTOR_COPIES_H

#include "base/pages.h"
#include "executor/options.h"

typedef struct sl_copies {
    sl_pages block;
    size_t n, stride; /* copies; bytes from one to the next */
    size_t repacked;  /* bytes of each that sl_linear_repack() has laid out anew */
    sl_net net;       /* that of the model, but for where its tensors are; never to be freed */
    sl_layer *layer;
    sl_arena arena; /* lists of experts */
    size_t *offset; /* [n_threads] */
} sl_copies;

/* s->n_copies of them. The file's pages are let go as they were copied. SL_ENOMEM; errors of sl_pages_map. */
sl_status sl_copies_make(sl_copies *c, const sl_net *net, const sl_settings *s, sl_on_copy *on_copy, void *user,
                         sl_err *err);
void sl_copies_fini(sl_copies *c); /* accepts an empty one */

#endif
