/* SPDX-License-Identifier: Apache-2.0
 *
 * What every C process of a storm or a soak has in hand: its place on the board (storm/board.py), its journal, dice, a
 * clock and zlib's checksum. */
#ifndef LIFE_H
#define LIFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WORD_BEATS, WORD_LAST_NS, WORD_LONGEST_NS, WORD_LOST, WORD_RECEIVED };

struct life {
    const char *bus, *topic;
    uint32_t topic_number;
    uint64_t incarnation, row;
    char sender[24];
    int journal;
    _Atomic uint64_t *board;
    uint64_t dice, strike, longest_ns;
    int64_t last_ns;
};

#define LIFE_ARGUMENTS 7
/* bus, topic, its number, incarnation, row on the board, board, journal */
void life_begin(struct life *me, char **arguments);
_Noreturn void life_fail(const char *what);
void *map_file(const char *path, int access, int protection, size_t size);

int64_t now_ns(void);
uint64_t throw_dice(struct life *me, uint64_t sides);
uint32_t crc32(const void *data, size_t size, uint32_t crc);

void beat(struct life *me);
void tell(struct life *me, unsigned word, uint64_t value);
bool stopping(const struct life *me);
bool reached_end(const struct life *me, uint64_t position);
void append(struct life *me, const void *records, size_t size); /* in one write: SIGKILL loses none of it */

#endif
