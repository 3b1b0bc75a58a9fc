/* version.h - what this build is. */
#ifndef SL_CLI_VERSION_H
#define SL_CLI_VERSION_H

/* "0.1.0 (4509bf2d1a2b)" */
const char *sl_cli_version(void);

#endif
