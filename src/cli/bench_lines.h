/* bench_lines.h - the line protocol of bench/README.md: a JSON command per line in, an answer per line out. */
#ifndef SL_CLI_BENCH_LINES_H
#define SL_CLI_BENCH_LINES_H

#include "cli/session.h"
#include "measure/bench.h"

/* Says hello, then answers until {"test":"quit"} or the end of stdin. */
sl_exit sl_bench_serve_lines(sl_bench *b, const sl_session *s);

#endif
