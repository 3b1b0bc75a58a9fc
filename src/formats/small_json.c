#include "formats/small_json.h"

#include <stdio.h>
#include <string.h>

#define SMALL_BYTES ((size_t)64 << 20)

sl_status sl_path_join(char out[SL_PATH_MAX], const char *dir, const char *name, sl_err *err)
{
    const size_t n = strlen(dir);
    const int wrote = snprintf(out, SL_PATH_MAX, "%s%s%s", dir, n && dir[n - 1] == '/' ? "" : "/", name);
    return wrote > 0 && wrote < SL_PATH_MAX ? SL_OK : sl_fail(err, SL_EINVAL, "%s: a path too long", dir);
}

static sl_status parse_small(sl_small_json *j, sl_err *err)
{
    if (j->file.n > SMALL_BYTES)
        return sl_fail(err, SL_EUNSUPPORTED, "a configuration of %zu bytes", j->file.n);
    const sl_status rc = sl_json_parse(&j->doc, j->file.bytes, j->file.n, err);
    if (rc)
        return rc;
    j->root = j->doc.root;
    return j->root->kind == SL_JSON_OBJECT ? SL_OK : sl_fail(err, SL_EFORMAT, "not a JSON object");
}

sl_status sl_small_json_open(sl_small_json *j, const char *dir, const char *name, sl_err *err)
{
    *j = (sl_small_json){ 0 };
    sl_status rc = sl_path_join(j->path, dir, name, err);
    if (rc)
        return rc;
    rc = sl_file_map(&j->file, j->path, err);
    if (rc == SL_ENOTFOUND)
        return SL_OK;
    if (!rc)
        rc = parse_small(j, err);
    if (!rc)
        return SL_OK;
    rc = sl_fail_in(err, rc, "%s", j->path);
    sl_small_json_close(j);
    return rc;
}

void sl_small_json_close(sl_small_json *j)
{
    sl_json_fini(&j->doc);
    sl_file_unmap(&j->file);
    j->root = NULL;
}
