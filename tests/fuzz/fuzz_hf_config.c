/* fuzz_hf_config.c - any bytes as config.json beside the weights of a tiny llama: an error on one line, or a model
 * whose settings fit its tensors. The bytes stand for generation_config.json as well. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "formats/hf.h"
#include "models/net.h"
#include "support/hf_build.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static hf_build folder;

static void remove_folder(void)
{
    hf_end(&folder);
}

static void must(int ok)
{
    if (!ok)
        abort();
}

static void make_folder(void)
{
    hf_begin(&folder);
    hf_tensors(&folder, "model.safetensors",
               "model.embed_tokens.weight:5x8 model.norm.weight:8 lm_head.weight:5x8"
               " model.layers.0.input_layernorm.weight:8 model.layers.0.self_attn.q_proj.weight:8x8"
               " model.layers.0.self_attn.k_proj.weight:4x8 model.layers.0.self_attn.v_proj.weight:4x8"
               " model.layers.0.self_attn.o_proj.weight:8x8 model.layers.0.post_attention_layernorm.weight:8"
               " model.layers.0.mlp.gate_proj.weight:6x8 model.layers.0.mlp.up_proj.weight:6x8"
               " model.layers.0.mlp.down_proj.weight:8x6");
    atexit(remove_folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sl_net *m = NULL;
    sl_err err = { 0 };
    sl_generation g = { 0 };
    if (!folder.dir[0])
        make_folder();
    hf_write(&folder, "config.json", data, size);
    const sl_status rc = sl_net_load(&m, folder.dir, NULL, &err);
    must(!rc == !!m);
    if (rc)
        must(err.code == rc && strncmp(err.msg, folder.dir, strlen(folder.dir)) == 0 && !strchr(err.msg, '\n'));
    for (size_t i = 0; m && i < m->config.rope.dim / 2; i++)
        must(m->inv_freq[i] >= 0.0f && m->inv_freq[i] <= 1.0f);
    must(!m || (m->config.D == 8 && m->layer[0].gate.rows == m->config.F));
    sl_net_free(m);
    hf_write(&folder, "generation_config.json", data, size);
    if (sl_generation_read(&g, folder.dir, &err) == SL_OK)
        must(g.temperature <= 100.0 && g.top_p <= 1.0 && g.min_p <= 1.0 && g.top_k >= -1);
    return 0;
}
