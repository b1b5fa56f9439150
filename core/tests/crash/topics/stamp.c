/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "survivors.h"

/* Three in a row have one size, and are claimed at once when they are sent in a batch. */
size_t stamp_size(uint32_t number) { return 8 + number / 3 * 56 % 208; }

static uint64_t word_of(uint32_t from, uint32_t number, size_t index) {
    return (((uint64_t)from << 32 | number) + index) * UINT64_C(0x9e3779b97f4a7c15);
}

void stamp(void *body, uint32_t from, uint32_t number) {
    uint64_t *words = body;
    words[0] = (uint64_t)from << 32 | number;
    for (size_t i = 1; i < stamp_size(number) / 8; i++) words[i] = word_of(from, number, i);
}

void stamp_read(const void *body, size_t size, uint32_t *from, uint32_t *number) {
    uint64_t words[64];
    CHECK(size >= 8 && size <= sizeof words);
    memcpy(words, body, size);
    *from = (uint32_t)(words[0] >> 32);
    *number = (uint32_t)words[0];
    CHECK(*from < SOURCES && *number < NUMBERS);
    CHECK_EQ(size, stamp_size(*number));
    for (size_t i = 1; i < size / 8; i++) CHECK_EQ(words[i], word_of(*from, *number, i));
}
