/* room_in.h - the reader of room.h apart from the machine. */
#ifndef SL_BASE_ROOM_IN_H
#define SL_BASE_ROOM_IN_H

#include "base/room.h"

typedef struct sl_room_limits {
    size_t address, data; /* of setrlimit; SIZE_MAX: none */
} sl_room_limits;

/* `root` goes in front of /proc and /sys. */
void sl_room_at(const char *root, const sl_room_limits *limits, sl_room *out);

#endif
