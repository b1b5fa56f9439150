/* SPDX-License-Identifier: Apache-2.0
 *
 * The layout as data: the table other code (and the test that compares it with the document) reads, and its hash.
 */
#include "layout.h"

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

#define SLR_TEXT(type, field, offset, size) hash = fnv(hash, #type "." #field ":" #offset ":" #size ";");

uint64_t slr_layout_hash(void) {
    uint64_t hash = 0xcbf29ce484222325ull;
    SLR_LAYOUT(SLR_TEXT)
    return hash;
}

uint64_t slipring_layout_hash(void) { return slr_layout_hash(); }
