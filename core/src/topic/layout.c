/* SPDX-License-Identifier: Apache-2.0
 *
 * The layouts as data: tables for other code and for the test that compares them with the documents, and their hashes.
 */
#include "topic/layout.h"

#include <string.h>

#include "slipring.h"
#include "topic/cells_layout.h"
#include "topic/frames_layout.h"

#define ROW(type, field, offset, size) {#type, #field, offset, size},
#define TEXT(type, field, offset, size) #type "." #field ":" #offset ":" #size ";"

static const slipring_layout_field topic_rows[] = {SLR_LAYOUT(ROW)};
static const slipring_layout_field cells_rows[] = {SLR_CELLS_LAYOUT(ROW)};
static const slipring_layout_field frames_rows[] = {SLR_FRAMES_LAYOUT(ROW)};

#define KIND(name, rows, layout) {name, rows, sizeof rows / sizeof rows[0], layout(TEXT)}
static const struct {
    const char *name;
    const slipring_layout_field *rows;
    size_t count;
    const char *text; /* all rows in order: the input of the hash */
} kinds[] = {KIND("topic", topic_rows, SLR_LAYOUT), KIND("cells", cells_rows, SLR_CELLS_LAYOUT),
             KIND("frames", frames_rows, SLR_FRAMES_LAYOUT)};

static size_t find(const char *kind) {
    size_t k = 0;
    while (k < sizeof kinds / sizeof kinds[0] && strcmp(kinds[k].name, kind) != 0) k++;
    return k;
}

const slipring_layout_field *slipring_layout_of(const char *kind, size_t *count) {
    size_t k = find(kind);
    *count = k < sizeof kinds / sizeof kinds[0] ? kinds[k].count : 0;
    return *count ? kinds[k].rows : NULL;
}

uint64_t slipring_layout_hash_of(const char *kind) {
    size_t k = find(kind);
    uint64_t hash = 0xcbf29ce484222325ull; /* FNV-1a */
    for (const char *c = k < sizeof kinds / sizeof kinds[0] ? kinds[k].text : ""; *c; c++)
        hash = (hash ^ (uint8_t)*c) * 0x100000001b3ull;
    return hash;
}

const slipring_layout_field *slipring_layout(size_t *count) { return slipring_layout_of("topic", count); }
uint64_t slipring_layout_hash(void) { return slipring_layout_hash_of("topic"); }
uint64_t slr_layout_hash(void) { return slipring_layout_hash_of("topic"); }
