/* deploy_keys.c - the keys of a deploy file: what they take, and what is written about them. Names are those of
 * deployment files that people have (CANN's recipes for inference), where they have one. */
#include "executor/deploy_in.h"

#include <stdio.h>
#include <string.h>
#include "base/num.h"
#include "base/str.h"

#define NAME_MAX_LEN 32
#define AT(field)    offsetof(sl_deploy_info, field)
#define CHUNK_MAX    65536 /* as --ubatch-size */

const sl_deploy_row sl_deploy_rows[] = {
    { "model_config", "model_name", SL_DEPLOY_NAMES, 0, 0, "a name, or a list of them", "any model",
      "architectures that the layout is for, as config.json (`model_type`) or a GGUF file has them; another model is "
      "refused" },

    { "parallel_config", "world_size", SL_DEPLOY_DEGREE, AT(n_ranks), 0, "ranks", "1",
      "processes that run the model together. A list says it by levels, outermost first: `[2, 4]` is two machines "
      "of four" },
    { "parallel_config", "pp_size", SL_DEPLOY_DEGREE, AT(pp), 0, "degree", "1",
      "pipeline: the layers are cut into so many parts, one behind the other. All degrees below are of the ranks of "
      "one part" },
    { "parallel_config", "attn_tp_size", SL_DEPLOY_DEGREE, AT(attn_tp), 0, "degree", "1",
      "tensor parallelism of attention: ranks that share the heads" },
    { "parallel_config", "o_proj_tp_size", SL_DEPLOY_DEGREE, AT(o_proj_tp), 0, "degree", "attn_tp_size",
      "ranks that share attention's output matrix; other than attn_tp_size only where that is 1" },
    { "parallel_config", "dense_tp_size", SL_DEPLOY_DEGREE, AT(dense_tp), 0, "degree", "1",
      "ranks that share a dense feed-forward block, and the shared experts" },
    { "parallel_config", "moe_tp_size", SL_DEPLOY_DEGREE, AT(moe_tp), 0, "degree", "1",
      "ranks that share each expert" },
    { "parallel_config", "moe_ep_size", SL_DEPLOY_DEGREE, AT(moe_ep), 0, "degree", "the other ranks",
      "expert parallelism: groups of ranks that have experts of their own; moe_tp_size x moe_ep_size are all ranks" },
    { "parallel_config", "embed_tp_size", SL_DEPLOY_DEGREE, AT(embed_tp), 0, "degree", "1",
      "ranks that share the rows of the embedding" },
    { "parallel_config", "lmhead_tp_size", SL_DEPLOY_DEGREE, AT(lmhead_tp), 0, "degree", "1",
      "ranks that share the rows of the output matrix" },

    { "prefill", "context_parallel", SL_DEPLOY_DEGREE, AT(prefill.context), 0, "degree", "1",
      "ranks that share the positions of one prompt" },
    { "prefill", "data_parallel", SL_DEPLOY_DEGREE, AT(prefill.data), 0, "degree", "1",
      "groups of ranks with requests of their own" },
    { "prefill", "sequence_parallel", SL_DEPLOY_DEGREE, AT(prefill.sequence), 0, "1 or attn_tp_size", "1",
      "cuts norms and residuals over the ranks that share the heads" },
    { "prefill", "chunk_size", SL_DEPLOY_COUNT, AT(prefill.chunk), CHUNK_MAX, "1 to 65536", "ubatch-size",
      "prompt tokens of one step, a multiple of context_parallel; the same as the option ubatch-size" },
    { "prefill", "overlap", SL_DEPLOY_FLAG, AT(prefill.overlap), 0, "true or false", "false",
      "communicate while computing; one rank has nothing to communicate" },

    { "decode", "context_parallel", SL_DEPLOY_DEGREE, AT(decode.context), 0, "degree", "1",
      "ranks that share the cached positions of one request" },
    { "decode", "data_parallel", SL_DEPLOY_DEGREE, AT(decode.data), 0, "degree", "1",
      "groups of ranks with requests of their own" },
    { "decode", "sequence_parallel", SL_DEPLOY_DEGREE, AT(decode.sequence), 0, "1 or attn_tp_size", "1",
      "cuts norms and residuals over the ranks that share the heads" },
    { "decode", "overlap", SL_DEPLOY_FLAG, AT(decode.overlap), 0, "true or false", "false",
      "communicate while computing; one rank has nothing to communicate" },
};
const size_t sl_deploy_n_rows = SL_COUNT(sl_deploy_rows);

bool sl_deploy_key_at(size_t i, sl_deploy_key *out)
{
    if (i >= sl_deploy_n_rows)
        return false;
    const sl_deploy_row *r = &sl_deploy_rows[i];
    *out = (sl_deploy_key){ r->section, r->name, r->takes, r->standard, r->help };
    return true;
}

/* What other programs call it. */
static const struct {
    const char *names, *means;
} elsewhere[] = {
    { "|tensor_parallel|tensor_parallel_size|tp_size|tp|attn_tp|", "parallel_config.attn_tp_size" },
    { "|expert_parallel|expert_parallel_size|ep_size|ep|moe_ep|", "parallel_config.moe_ep_size" },
    { "|pipeline_parallel|pipeline_parallel_size|pp|", "parallel_config.pp_size" },
    { "|cp_size|cp|context_parallel_size|prefill_context_parallel_size|", "context_parallel of prefill or decode" },
    { "|dp_size|dp|data_parallel_size|", "data_parallel of prefill or decode" },
    { "|sp_size|sp|", "sequence_parallel of prefill or decode" },
    { "|max_prefill_tokens|max_num_batched_tokens|prefill_mini_batch_size|", "prefill.chunk_size" },
    { "|oproj_tp_size|", "parallel_config.o_proj_tp_size" },
    { "|n_ranks|ranks|nnodes|", "parallel_config.world_size" },
    { "|block_size|pa_block_size|page_size|", "options.kv-page" },
    { "|exe_mode|", "options.mode" },
    { "|max_model_len|input_max_len|", "options.ctx-size" },
    { "|kv_cache_dtype|kv_dtype|", "options.kv-type" },
};

/* The nearest of the names that may stand there; NULL: none is near. */
static const char *nearest(const char *section, const char *key)
{
    const char *best = NULL;
    size_t least = SL_MAX(strlen(key) / 3, (size_t)1) + 1;
    for (size_t i = 0; i <= sl_deploy_n_rows; i++) {
        const sl_deploy_row *r = i < sl_deploy_n_rows ? &sl_deploy_rows[i] : NULL;
        const char *name = !r ? "options" : *section ? r->name : r->section;
        if (*section && (!r || strcmp(r->section, section) != 0))
            continue;
        const size_t distance = sl_edit_distance(key, name);
        best = distance < least ? name : best;
        least = SL_MIN(distance, least);
    }
    return best;
}

const char *sl_deploy_hint(const char *section, const char *key, char *room, size_t size)
{
    char listed[NAME_MAX_LEN + 3];
    if (strlen(key) > NAME_MAX_LEN)
        return NULL;
    snprintf(listed, sizeof listed, "|%s|", key);
    for (size_t i = 0; i < SL_COUNT(elsewhere); i++)
        if (strstr(elsewhere[i].names, listed)) {
            snprintf(room, size, "here it is %s", elsewhere[i].means);
            return room;
        }
    for (size_t i = 0; i < sl_deploy_n_rows; i++)
        if (strcmp(sl_deploy_rows[i].section, section) != 0 && strcmp(sl_deploy_rows[i].name, key) == 0) {
            snprintf(room, size, "it belongs to %s", sl_deploy_rows[i].section);
            return room;
        }
    const char *best = nearest(section, key);
    if (best)
        snprintf(room, size, "did you mean %s?", best);
    return best ? room : NULL;
}
