/* SPDX-License-Identifier: Apache-2.0
 *
 * Bodies as soak/bodies.py makes and checks them; the checksum is that of zlib. */
#include <stdlib.h>
#include <string.h>

#include "life.h"

uint32_t body_size(struct actor *me, bool whole) {
    uint64_t kind = throw_dice(me, 10000);
    if (!whole && kind < 600) return 0;
    if (!whole && kind < 1600) return 1 + (uint32_t)throw_dice(me, HEADER_BYTES - 1);
    if (kind >= 9985) return 4096 + (uint32_t)throw_dice(me, (LARGEST_BYTES - 4096) >> throw_dice(me, 10));
    return HEADER_BYTES + (uint32_t)throw_dice(me, (4096 - HEADER_BYTES) >> throw_dice(me, 7));
}

static const uint8_t *tiny(uint64_t incarnation) { return noise + incarnation * 131 % 65536; }

void body_make(uint64_t identity, uint8_t *body, uint32_t size) {
    const uint8_t *filling = noise + (identity & ~POISON) * UINT64_C(2654435761) % (4u << 20);
    if (size >= HEADER_BYTES) {
        uint64_t stamp[2] = {identity, (uint64_t)now_ns()};
        memcpy(body + HEADER_BYTES, filling, size - HEADER_BYTES);
        memcpy(body + 8, stamp, sizeof stamp);
        uint32_t head[2] = {crc32(stamp, sizeof stamp, crc32(filling, size - HEADER_BYTES, 0)), 0};
        memcpy(body, head, sizeof head);
    } else if (size >= SHORT_BYTES) {
        uint32_t counter = (uint32_t)identity, incarnation = (uint32_t)(identity >> 32);
        uint32_t head[2] = {crc32(filling, size - SHORT_BYTES, incarnation ^ counter), counter};
        memcpy(body, head, sizeof head);
        memcpy(body + SHORT_BYTES, filling, size - SHORT_BYTES);
    } else {
        memcpy(body, tiny(identity >> 32), size);
    }
}

uint64_t body_check(const char *sender, size_t sender_size, const uint8_t *body, uint32_t size) {
    char name[24] = "";
    if (sender_size < 2 || sender_size >= sizeof name) return 0;
    memcpy(name, sender, sender_size);
    uint64_t incarnation = strtoull(name + 1, NULL, 10), identity;
    uint32_t head[2];
    if (size >= HEADER_BYTES) {
        memcpy(head, body, sizeof head);
        memcpy(&identity, body + 8, sizeof identity);
        uint32_t crc = crc32(body + 8, 16, crc32(body + HEADER_BYTES, size - HEADER_BYTES, 0));
        return head[0] == crc && (identity & ~POISON) >> 32 == incarnation ? identity : 0;
    }
    if (size >= SHORT_BYTES) {
        memcpy(head, body, sizeof head);
        uint32_t crc = crc32(body + SHORT_BYTES, size - SHORT_BYTES, (uint32_t)incarnation ^ head[1]);
        return head[0] == crc ? incarnation << 32 | head[1] : 0;
    }
    return memcmp(body, tiny(incarnation), size) == 0 ? incarnation << 32 | ANONYMOUS : 0;
}
