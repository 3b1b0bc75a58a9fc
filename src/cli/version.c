#include "cli/version.h"

#include "commit.h"

const char *sl_cli_version(void)
{
    return SL_VERSION " (" SL_COMMIT ")";
}
