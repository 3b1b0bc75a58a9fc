/* deploy_in.h - between the parts of deploy files: deploy.c reads one, deploy_keys.c has the keys, deploy_model.c holds
 * a layout against a model. */
#ifndef SL_EXECUTOR_DEPLOY_IN_H
#define SL_EXECUTOR_DEPLOY_IN_H

#include "executor/deploy.h"
#include "formats/yaml.h"

#define SL_DEPLOY_RANKS_MAX  65536
#define SL_DEPLOY_LEVELS_MAX 4

typedef enum sl_deploy_type {
    SL_DEPLOY_DEGREE, /* 1..SL_DEPLOY_RANKS_MAX, or a list of such numbers, one for each level of the machine */
    SL_DEPLOY_COUNT,  /* 1..max */
    SL_DEPLOY_FLAG,
    SL_DEPLOY_NAMES, /* a text or a list of them; read from the tree */
} sl_deploy_type;

typedef struct sl_deploy_row {
    const char *section, *name;
    sl_deploy_type type;
    size_t offset; /* in sl_deploy_info: of a size_t, or a bool */
    int64_t max;   /* of a COUNT */
    const char *takes, *standard, *help;
} sl_deploy_row;

extern const sl_deploy_row sl_deploy_rows[];
extern const size_t sl_deploy_n_rows;

/* Where else, or under which name, a key is found that the section ("": the whole file) does not have; NULL: no idea.
 */
const char *sl_deploy_hint(const char *section, const char *key, char *room, size_t size);

struct sl_deploy {
    sl_yaml_doc doc;
    char *path;
    sl_deploy_info info;
};

/* The value of section.key in the file, or the closest to it that is there: the section, the whole. */
const sl_yaml *sl_deploy_place(const sl_deploy *d, const char *section, const char *key);

#endif
