/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages that say who sent them, which of its messages they are, and whether they are whole.
 */
#include <string.h>

#include "survivors.h"

#define SIZES 16

size_t body_size(uint32_t number) { return 8 + number % SIZES * 16; }

/* Survivors send all sizes; the others those of 8, 24 and 40 bytes in turn. */
uint32_t next_message(void) {
    uint32_t number;
    do {
        uint32_t n = journal->next[source]++;
        number = source ? n / 3 * SIZES + n % 3 : n;
        CHECK(number < NUMBERS);
    } while (journal->status[source][number] != NEVER);
    return number;
}

uint32_t message_sized(size_t size) {
    uint32_t number = (uint32_t)(size - 8) / 16;
    while (journal->status[source][number] != NEVER) number += SIZES;
    CHECK(number < NUMBERS && body_size(number) == size);
    return number;
}

uint64_t verdict_bit(uint32_t number) { return UINT64_C(1) << (number / SIZES * 3 + number % SIZES); }

static uint64_t word_of(uint32_t from, uint32_t number, size_t index) {
    return (((uint64_t)from << 32 | number) + index) * UINT64_C(0x9e3779b97f4a7c15);
}

void stamp_body(void *body, uint32_t number) {
    volatile uint64_t *words = body;
    for (size_t i = 0; i < body_size(number) / 8; i++) {
        step_before();
        words[i] = i ? word_of(source, number, i) : (uint64_t)source << 32 | number;
        step_after();
    }
}

int send_message(slipring_publisher *pub, uint32_t number) {
    uint8_t body[256] __attribute__((aligned(8)));
    void (*at_step)(void) = stepping.at_step;
    stepping.at_step = NULL; /* private memory */
    stamp_body(body, number);
    stepping.at_step = at_step;
    journal->status[source][number] = OPEN;
    int code = slipring_publisher_send(pub, body, body_size(number), "", 0, SLIPRING_NOW, NULL);
    journal->status[source][number] = code == SLIPRING_OK ? DONE : REFUSED;
    if (code != SLIPRING_FULL) CHECK_OK(code);
    return code;
}

static void stamp_check(const void *body, size_t size, uint32_t *from, uint32_t *number) {
    uint64_t words[32];
    CHECK(size >= 8 && size <= sizeof words);
    memcpy(words, body, size);
    *from = (uint32_t)(words[0] >> 32);
    *number = (uint32_t)words[0];
    if (*from >= SOURCES || *number >= NUMBERS) FAIL("a message is not of anybody's");
    CHECK_EQ(size, body_size(*number));
    for (size_t i = 1; i < size / 8; i++)
        if (words[i] != word_of(*from, *number, i)) FAIL("message %u of source %u is torn at word %zu", *number, *from, i);
}

/* One order for all: what the first reader of a sequence saw, the others see. */
static void check_order(uint64_t seq, uint32_t from, uint32_t number) {
    uint32_t id = 1 + (from * NUMBERS + number), *first = &live.first_seen[seq % 1024];
    if (!*first) *first = id;
    if (*first != id) FAIL("two readers see different messages at sequence %llu", (unsigned long long)seq);
}

void read_everything(slipring_subscriber *sub, struct sight *sight) {
    static struct message m;
    uint32_t from, number;
    while (receive(sub, &m)) {
        stamp_check(m.body, m.head.size, &from, &number);
        int status = journal->status[from][number];
        if (status != OPEN && status != DONE) FAIL("message %u of source %u was never committed, yet read", number, from);
        if (sight->seen[from][number]++) FAIL("message %u of source %u was read twice", number, from);
        CHECK(sight->received == 0 || m.head.seq > sight->last_seq);
        check_order(m.head.seq, from, number);
        sight->last_seq = m.head.seq;
        sight->received++;
    }
}
