/* status.h - what a call that can fail says.
 *
 * A function that can fail returns sl_status (0 is success) and takes an sl_err
 * last. The error lives in the caller: a code and one line of text, no heap, no
 * global; NULL is fine where the text is not wanted. Each layer may put *where*
 * in front of the text (sl_fail_in in base/status.h), so that a message reads
 *   model.gguf: tensor blk.0.attn_q.weight: type 99 is not known
 */
#ifndef SLUICE_STATUS_H
#define SLUICE_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SL_API __attribute__((visibility("default")))
#else
#define SL_API
#endif

/* name, value, text: the enum, sl_status_name and sl_status_text come from here. */
#define SL_STATUS_LIST(X)                                                                                              \
    X(SL_OK, 0, "success")                                                                                             \
    X(SL_EINVAL, -1, "an argument is out of range")                                                                    \
    X(SL_ENOMEM, -2, "not enough memory")                                                                              \
    X(SL_EIO, -3, "a file or device could not be read or written")                                                     \
    X(SL_EFORMAT, -4, "the file's content is malformed")                                                               \
    X(SL_EUNSUPPORTED, -5, "well-formed, but not supported by this build")                                             \
    X(SL_ENOTFOUND, -6, "no such file, tensor, key or name")                                                           \
    X(SL_EFULL, -7, "no room now; may succeed later")                                                                  \
    X(SL_ECANCELED, -8, "the request was cancelled")

typedef enum sl_status {
#define SL_STATUS_ENUM(name, value, text) name = value,
    SL_STATUS_LIST(SL_STATUS_ENUM)
#undef SL_STATUS_ENUM
} sl_status;

typedef struct sl_err {
    sl_status code;
    char msg[508]; /* one line, no newline, always terminated */
} sl_err;

SL_API const char *sl_status_name(sl_status code); /* "SL_ENOMEM"; never NULL */
SL_API const char *sl_status_text(sl_status code); /* "not enough memory"; never NULL */

#ifdef __cplusplus
}
#endif
#endif
