/* log.h - messages for people, on stderr, one line each. Never from the step loop. */
#ifndef SL_BASE_LOG_H
#define SL_BASE_LOG_H

typedef enum sl_log_level { SL_LOG_ERROR, SL_LOG_WARN, SL_LOG_INFO, SL_LOG_DEBUG } sl_log_level;

void sl_log_set_level(sl_log_level level); /* messages above it are dropped; default SL_LOG_WARN */
void sl_log(sl_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
