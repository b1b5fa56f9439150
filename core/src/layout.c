/* SPDX-License-Identifier: Apache-2.0
 *
 * The layout as data: the table other code (and the test that compares it with the document) reads, and its hash.
 */
#include "layout.h"

#include <stdio.h>

#include "slipring.h"

#define SLR_ROW(type, field, offset, size) {#type, #field, offset, size},
static const slipring_layout_field rows[] = {SLR_LAYOUT(SLR_ROW)};

const slipring_layout_field *slipring_layout(size_t *count) {
    *count = sizeof rows / sizeof rows[0];
    return rows;
}

static uint64_t fnv(uint64_t hash, const char *text) {
    for (; *text; text++) hash = (hash ^ (uint8_t)*text) * 0x100000001b3ull;
    return hash;
}

uint64_t slr_layout_hash_of(const slipring_layout_field *fields, size_t count) {
    uint64_t hash = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < count; i++) {
        char text[160];
        snprintf(text, sizeof text, "%s.%s:%u:%u;", fields[i].structure, fields[i].field, fields[i].offset, fields[i].size);
        hash = fnv(hash, text);
    }
    return hash;
}

uint64_t slr_layout_hash(void) { return slr_layout_hash_of(rows, sizeof rows / sizeof rows[0]); }

uint64_t slipring_layout_hash(void) { return slr_layout_hash(); }
