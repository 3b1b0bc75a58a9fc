#include "cli/experts.h"

#include <math.h>
#include <stdio.h>

static json_t *layer_json(const sl_expert_picks *p, size_t layer)
{
    const uint64_t *picks = p->picks + layer * p->n_experts;
    const sl_expert_load l = sl_expert_load_of(picks, p->n_experts);
    json_t *list = json_array();
    for (size_t e = 0; e < p->n_experts; e++)
        json_array_append_new(list, json_integer((json_int_t)picks[e]));
    return json_pack("{s:I, s:o, s:I, s:I, s:f, s:f}", "layer", (json_int_t)layer, "picks", list, "used",
                     (json_int_t)l.used, "most", (json_int_t)l.most, "most_share", l.most_share, "entropy_bits",
                     l.entropy);
}

json_t *sl_cli_experts_json(const sl_expert_picks *p)
{
    json_t *layers = json_array();
    for (size_t i = 0; i < p->n_layers; i++)
        if (sl_expert_load_of(p->picks + i * p->n_experts, p->n_experts).picks)
            json_array_append_new(layers, layer_json(p, i));
    if (json_array_size(layers))
        return json_pack("{s:I, s:o}", "count", (json_int_t)p->n_experts, "layers", layers);
    json_decref(layers);
    return NULL;
}

void sl_cli_print_experts(const sl_expert_picks *p)
{
    sl_expert_load worst = { 0 };
    size_t n = 0, at = 0;
    double entropy = 0.0, used = 0.0;
    for (size_t i = 0; i < p->n_layers; i++) {
        const sl_expert_load l = sl_expert_load_of(p->picks + i * p->n_experts, p->n_experts);
        if (!l.picks)
            continue;
        n++;
        entropy += l.entropy;
        used += (double)l.used;
        if (l.most_share > worst.most_share) {
            worst = l;
            at = i;
        }
    }
    if (n)
        printf("experts: %.1f of %zu used in a layer, entropy %.2f of %.2f bits; most of all expert %zu of layer %zu, "
               "%.1f %% of its picks\n",
               used / (double)n, p->n_experts, entropy / (double)n, log2((double)p->n_experts), worst.most, at,
               100.0 * worst.most_share);
}
