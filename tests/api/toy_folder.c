#include "toy_folder.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[64], file[2][96];

static void put_utf8(FILE *f, uint32_t c)
{
    if (c < 0x80) {
        if (c == '"' || c == '\\')
            fputc('\\', f);
        fputc((int)c, f);
    } else {
        fputc((int)(0xc0 | c >> 6), f);
        fputc((int)(0x80 | (c & 0x3f)), f);
    }
}

/* GPT-2's letters for bytes: printable ones stand for themselves, the others follow from U+0100 on. */
static void put_vocabulary(FILE *f)
{
    uint32_t next = 256;
    for (uint32_t b = 0; b < 256; b++) {
        const bool shown = (b > 32 && b < 127) || (b > 160 && b != 173);
        fputs(b ? ",\"" : "\"", f);
        put_utf8(f, shown ? b : next++);
        fprintf(f, "\":%u", b);
    }
}

static void put_tokenizer(FILE *f)
{
    static const char *const tags[] = { "<|im_start|>", "<|im_end|>",   "<think>", "</think>",
                                        "<tool_call>",  "</tool_call>", "<|turn|>" };
    fputs("{\"version\":\"1.0\",\"added_tokens\":[", f);
    for (int i = 0; i < TOY_N - TOY_START; i++)
        fprintf(f,
                "%s{\"id\":%d,\"content\":\"%s\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,"
                "\"normalized\":false,\"special\":%s}",
                i ? "," : "", TOY_START + i, tags[i],
                i >= TOY_THINK - TOY_START && i <= TOY_CALL_END - TOY_START ? "false" : "true");
    fputs("],\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
          "\"trim_offsets\":true,\"use_regex\":false},\"post_processor\":null,\"decoder\":{\"type\":\"ByteLevel\","
          "\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":false},\"model\":{\"type\":\"BPE\","
          "\"vocab\":{",
          f);
    put_vocabulary(f);
    fputs("},\"merges\":[]}}\n", f);
}

static FILE *begin(int i, const char *name)
{
    snprintf(file[i], sizeof file[i], "%s/%s", folder, name);
    FILE *f = fopen(file[i], "w");
    if (!f)
        abort();
    return f;
}

const char *toy_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/sluice-api-XXXXXX");
    if (!mkdtemp(folder))
        abort();
    FILE *f = begin(0, "tokenizer.json");
    put_tokenizer(f);
    fclose(f);
    f = begin(1, "tokenizer_config.json");
    fputs(
        "{\"eos_token\":\"<|im_end|>\",\"chat_template\":[{\"name\":\"default\",\"template\":\"{% for m in messages %}"
        "<|im_start|>{{ m.role }}:{{ m.content }}<|turn|>{% endfor %}{% if add_generation_prompt %}<|im_start|>"
        "assistant:<think>{% endif %}\"},{\"name\":\"tool_use\",\"template\":\"{{ tools | length }} tools\"}]}\n",
        f);
    fclose(f);
    return folder;
}

void toy_folder_remove(void)
{
    unlink(file[0]);
    unlink(file[1]);
    rmdir(folder);
}
