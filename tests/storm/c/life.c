/* SPDX-License-Identifier: Apache-2.0 */
#include "life.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "slipring.h"

enum { STOP, STRIKES, FINALS, FIRST_ROW = 8, ROW_WORDS = 8 };
#define BOARD_BYTES 4096

_Noreturn void life_fail(const char *what) {
    fprintf(stderr, "process %d: %s: %s\n", (int)getpid(), what, slipring_last_error()->message);
    exit(1);
}

void *map_file(const char *path, int access, int protection, size_t size) {
    int fd = open(path, access);
    if (fd < 0) life_fail(path);
    void *memory = mmap(NULL, size, protection, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (memory == MAP_FAILED) life_fail(path);
    close(fd);
    return memory;
}

void life_begin(struct life *me, char **arguments) {
    me->bus = arguments[0], me->topic = arguments[1];
    me->topic_number = (uint32_t)strtoul(arguments[2], NULL, 10);
    me->incarnation = strtoull(arguments[3], NULL, 10);
    me->row = strtoull(arguments[4], NULL, 10);
    me->board = map_file(arguments[5], O_RDWR, PROT_READ | PROT_WRITE, BOARD_BYTES);
    me->journal = open(arguments[6], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (me->journal < 0) life_fail(arguments[6]);
    snprintf(me->sender, sizeof me->sender, "i%llu", (unsigned long long)me->incarnation);
    me->dice = me->incarnation * UINT64_C(0x9e3779b97f4a7c15) + 1;
    me->strike = atomic_load(&me->board[STRIKES]);
    tell(me, WORD_LAST_NS, 0);
}

int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

uint64_t throw_dice(struct life *me, uint64_t sides) { /* xorshift* */
    me->dice ^= me->dice >> 12, me->dice ^= me->dice << 25, me->dice ^= me->dice >> 27;
    return (me->dice * UINT64_C(2685821657736338717) >> 11) % sides;
}

uint32_t crc32(const void *data, size_t size, uint32_t crc) {
    static uint32_t table[256];
    if (!table[1])
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t word = i;
            for (int bit = 0; bit < 8; bit++) word = word >> 1 ^ (word & 1 ? UINT32_C(0xedb88320) : 0);
            table[i] = word;
        }
    crc = ~crc;
    for (const uint8_t *byte = data, *end = byte + size; byte < end; byte++) crc = crc >> 8 ^ table[(crc ^ *byte) & 255];
    return ~crc;
}

void tell(struct life *me, unsigned word, uint64_t value) {
    atomic_store(&me->board[FIRST_ROW + me->row * ROW_WORDS + word], value);
}

void beat(struct life *me) {
    int64_t now = now_ns();
    uint64_t gap = me->last_ns ? (uint64_t)(now - me->last_ns) : 0;
    uint64_t strike = atomic_load(&me->board[STRIKES]);
    if (strike != me->strike || gap > me->longest_ns) me->longest_ns = gap;
    me->strike = strike, me->last_ns = now;
    tell(me, WORD_LONGEST_NS, me->longest_ns);
    tell(me, WORD_LAST_NS, (uint64_t)now);
    atomic_fetch_add(&me->board[FIRST_ROW + me->row * ROW_WORDS + WORD_BEATS], 1);
}

bool stopping(const struct life *me) { return atomic_load(&me->board[STOP]) != 0; }

bool reached_end(const struct life *me, uint64_t position) {
    uint64_t final = atomic_load(&me->board[FINALS + me->topic_number]);
    return final != 0 && position >= final - 1;
}

void append(struct life *me, const void *records, size_t size) {
    if (write(me->journal, records, size) != (ssize_t)size) life_fail("journal");
}
