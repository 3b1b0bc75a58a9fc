/* reply_in.h - the parts of the reply parser; for this folder only.
 *
 *   reply.c          ids to text and tags, through stop strings
 *   reply_tags.c     which tags there are, as tokens or as text
 *   reply_text.c     reasoning and content: sections, white space, Markdown's code; events
 *   reply_call.c     what all formats of calls share: begin, arguments, what is given back
 *   reply_hermes.c   name and arguments in one JSON object
 *   reply_section.c  calls in a section, a header before the arguments; reply_deepseek.c and
 *                    reply_kimi.c say what a header means
 *   reply_harmony.c  messages with headers, reasoning among them: gpt-oss
 *   reply_scan.c     JSON byte by byte
 */
#ifndef SL_CHAT_REPLY_IN_H
#define SL_CHAT_REPLY_IN_H

#include "chat/reply.h"

/* ---- JSON -------------------------------------------------------------------------- */

#define SL_SCAN_DEPTH 512

/* One value, checked byte by byte; zero it first. yajl and jansson give values, not the text that
 * is still growing, so this is our own. Raw control characters in strings pass: models write them. */
typedef struct sl_scan {
    uint8_t state;
    uint8_t count;    /* hexadecimal digits seen, or letters of a word */
    const char *word; /* true, false, null */
    bool key;         /* the string is a key */
    size_t depth;
    uint64_t object[SL_SCAN_DEPTH / 64]; /* bit d: level d is an object, else an array */
} sl_scan;
typedef enum sl_scan_result {
    SL_SCAN_MORE,
    SL_SCAN_END,    /* this byte was its last */
    SL_SCAN_BEFORE, /* it ended before this byte */
    SL_SCAN_BAD,
} sl_scan_result;
sl_scan_result sl_scan_byte(sl_scan *s, char c);
bool sl_scan_in_string(const sl_scan *s);

/* The text that a JSON string stands for, byte by byte, quotes left out by the caller; zero it
 * first. Lone surrogates and
 * codes cut short become U+FFFD. */
typedef struct sl_unescape {
    uint8_t state;
    uint32_t code, high;
} sl_unescape;
void sl_unescape_byte(sl_unescape *u, char c, sl_str *out);
void sl_unescape_end(sl_unescape *u, sl_str *out);

/* ---- tags -------------------------------------------------------------------------- */

typedef enum sl_tag_role {
    SL_TAG_THINK,
    SL_TAG_THINK_END,
    SL_TAG_SECTION,
    SL_TAG_CALL,
    SL_TAG_ARG,
    SL_TAG_CALL_END,
    SL_TAG_SECTION_END,
    /* harmony */
    SL_TAG_START,
    SL_TAG_CHANNEL,
    SL_TAG_CONSTRAIN,
    SL_TAG_MESSAGE,
} sl_tag_role;

typedef struct sl_tag {
    const char *text;
    size_t len;
    uint8_t role;
    uint8_t format; /* SL_TOOLS_*, 0 for reasoning */
} sl_tag;

#define SL_TAGS_MAX    24
#define SL_TAG_LEN_MAX 40

typedef struct sl_tags {
    struct {
        int32_t id;
        const sl_tag *tag;
    } token[SL_TAGS_MAX];            /* tags that are tokens */
    const sl_tag *text[SL_TAGS_MAX]; /* tags that are not */
    size_t n_tokens, n_texts;
    char held[SL_TAG_LEN_MAX]; /* the beginning of a tag, perhaps */
    size_t n_held;
    bool harmony; /* the vocabulary has all of its tokens */
} sl_tags;
/* Tokens of all formats, so that they can be shown; texts of reasoning and of these formats. */
void sl_tags_init(sl_tags *g, const sl_tokenizer *t, unsigned formats);
/* Whether this is gpt-oss' vocabulary: single ones of harmony's tokens occur elsewhere, too. */
bool sl_tags_harmony(const sl_tokenizer *t);
const sl_tag *sl_tags_of_token(const sl_tags *g, int32_t id); /* NULL: none */
/* The id that is a special token with exactly this text; -1: none. */
int32_t sl_tags_special(const sl_tokenizer *t, const char *text, size_t len);

/* ---- the parser -------------------------------------------------------------------- */

/* Content or reasoning on its way out. White space waits until something follows. */
typedef struct sl_channel {
    sl_str space;
    bool started; /* something was given out */
    bool trim;    /* no white space at its start */
    bool cut;     /* a call came since: `space` counts only if text follows */
} sl_channel;

typedef struct sl_call_format {
    void (*begin)(sl_reply *r, const sl_tag *tag); /* the opening tag */
    /* False: the state has changed, look at this byte (tag) again. */
    bool (*byte)(sl_reply *r, char c);
    bool (*tag)(sl_reply *r, const sl_tag *tag);
    void (*end)(sl_reply *r);
    bool (*in_string)(const sl_reply *r);
} sl_call_format;
extern const sl_call_format sl_call_hermes, sl_call_section, sl_call_harmony;

/* What comes between "arguments": and the event. */
typedef struct sl_pipe {
    uint8_t state;
    sl_unescape unescape;
    sl_str space; /* waits, as in a channel */
    bool any;     /* something was given out */
} sl_pipe;

typedef struct sl_call {
    const sl_call_format *format; /* NULL: not in a call */
    uint8_t tools;                /* SL_TOOLS_* of the tag that began it */
    uint8_t state;
    bool token;     /* the opening tag was a token */
    bool committed; /* the call was given out */
    bool verbatim;  /* bytes are JSON: no tag is looked for in them */
    sl_str raw;     /* all that was read and not yet given out, to be given back */
    sl_str name, id, header;
    sl_scan scan;
    sl_unescape unescape;
    sl_pipe pipe;
    const sl_tag *doubt; /* an end tag inside a JSON string, and the white space after it */
    sl_str doubt_space;
    /* hermes */
    uint8_t field;
    bool name_known, args_known, args_done;
    size_t args_from, args_len; /* in raw */
    bool embraced;              /* arguments are broken: a brace behind them may not be theirs */
    /* section */
    bool fenced;
    /* harmony */
    size_t channel_at; /* in header */
} sl_call;

struct sl_reply {
    sl_reply_options o;
    sl_detok detok;
    sl_str opening, piece, passed;
    sl_tags tags;
    /* through stop strings */
    struct sl_mark {
        size_t at; /* in all text so far */
        const sl_tag *tag;
    } * marks;
    size_t first_mark, n_marks, cap_marks, n_in, n_out, in_mark;
    int met;
    /* text */
    bool begun, ended, failed, reasoning;
    bool text_tag; /* the tag at hand is spelled, not a token */
    sl_channel content, thought;
    bool fresh;       /* only white space since the start, or since reasoning or a call */
    uint8_t ends_due; /* SL_TOOLS_* whose end tags may still come */
    unsigned ticks;   /* the run of backticks, or of tildes, at the end */
    char tick;        /* which of them */
    bool at_line_start, ticks_at_line_start, in_span;
    unsigned fence; /* ticks that opened the block of code, 0: in none */
    char fence_tick;
    bool fence_line; /* still in the line that opened it */
    sl_call call;
    size_t n_calls;
    /* the event that grows */
    sl_reply_kind kind;
    sl_str delta;
};

/* reply_text.c */
void sl_reply_bytes(sl_reply *r, const char *s, size_t n); /* text, tags looked for */
void sl_reply_tag(sl_reply *r, const sl_tag *tag);         /* a token */
void sl_reply_finish(sl_reply *r);
void sl_reply_text(sl_reply *r, const char *s, size_t n); /* text of the section, no tags looked for */
void sl_reply_flush(sl_reply *r);                         /* the event that grows */
void sl_reply_give(sl_reply *r, sl_reply_kind kind, const char *s, size_t n);
bool sl_reply_is_space(char c);
void sl_reply_call_began(sl_reply *r);              /* reasoning ends, content is cut */
void sl_reply_message(sl_reply *r, bool reasoning); /* another message of the reply begins */

/* reply_call.c */
void sl_call_start(sl_reply *r, const sl_tag *tag); /* the opening tag was met */
void sl_call_fini(sl_call *c);
void sl_call_give_back(sl_reply *r); /* no call: what was read is text */
void sl_call_leave(sl_reply *r);     /* out of calls, end tags may follow */
void sl_call_commit(sl_reply *r);    /* name and id are known: the call is given out */
void sl_call_argument(sl_reply *r, char c);
void sl_call_arguments_end(sl_reply *r, bool whole); /* nothing was written: "{}" if whole */
void sl_call_keep(sl_reply *r, const char *s, size_t n);
bool sl_call_tag(sl_reply *r, const sl_tag *tag, bool token); /* false: not for the call */
void sl_call_end(sl_reply *r);
bool sl_call_byte(sl_reply *r, char c);

void sl_harmony_start(sl_reply *r); /* before the first id */

void sl_harmony_start(sl_reply *r); /* before the first id */

/* reply_deepseek.c, reply_kimi.c: the header is whole */
typedef enum sl_header {
    SL_HEADER_BAD,
    SL_HEADER_NAMED, /* c->name and perhaps c->id are set */
    SL_HEADER_OPEN,  /* c->name is set, but a better one may follow */
} sl_header;
sl_header sl_deepseek_header(sl_call *c, sl_bytes header);
sl_header sl_kimi_header(sl_call *c, sl_bytes header);

#endif
