/* bus.h - a mapped file that cannot be read any more, since it was cut short or its disk failed: the system answers by
 * SIGBUS, which would end the program without a word. */
#ifndef SL_CLI_BUS_H
#define SL_CLI_BUS_H

/* From now on one line on stderr names the file, and the program ends with SL_EXIT_FAILED. A SIGBUS that no mapped file
 * is behind ends it as ever. */
void sl_cli_bus_catch(void);

#endif
