/* SPDX-License-Identifier: Apache-2.0
 *
 * Bodies as storm/bodies.py makes and checks them. The payload is noise of our own: only the checksum has to agree. */
#include <stdlib.h>
#include <string.h>

#include "storm.h"

uint32_t body_size(struct worker *me, const struct sizes *sizes, bool with_header) {
    uint64_t kind = throw_dice(&me->life, 10000);
    uint32_t usual = sizes->usual - HEADER_BYTES;
    if (!with_header && sizes->smallest < HEADER_BYTES && kind < 600) return sizes->smallest;
    if (!with_header && sizes->smallest < HEADER_BYTES && kind < 1600)
        return sizes->smallest + (uint32_t)throw_dice(&me->life, HEADER_BYTES - sizes->smallest);
    if (kind >= (sizes->largest <= 1u << 16 ? 9900 : 9985))
        return sizes->usual + (uint32_t)throw_dice(&me->life, 1 + ((sizes->largest - sizes->usual) >> throw_dice(&me->life, 10)));
    return HEADER_BYTES + (uint32_t)throw_dice(&me->life, 1 + (usual >> throw_dice(&me->life, 7)));
}

const char *type_of(uint64_t identity) { return identity % 2 ? "odd" : "even"; }

static void fill(uint64_t identity, uint8_t *payload, uint32_t size) {
    uint64_t word = (identity & ~POISON) * UINT64_C(2654435761);
    for (uint32_t done = 0; done < size; done += 8) {
        word = word * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t mixed = word ^ word >> 29;
        memcpy(payload + done, &mixed, size - done < 8 ? size - done : 8);
    }
}

static uint64_t tiny(uint64_t life) { return life * UINT64_C(0x9e3779b97f4a7c15); }

void body_make(uint64_t identity, uint8_t *body, uint32_t size) {
    uint32_t life = (uint32_t)((identity & ~POISON) >> 32), counter = (uint32_t)identity;
    if (size >= HEADER_BYTES) {
        uint64_t stamp[2] = {identity, (uint64_t)now_ns()};
        fill(identity, body + HEADER_BYTES, size - HEADER_BYTES);
        uint32_t head[2] = {crc32(stamp, sizeof stamp, crc32(body + HEADER_BYTES, size - HEADER_BYTES, 0)), 0};
        memcpy(body, head, sizeof head);
        memcpy(body + 8, stamp, sizeof stamp);
    } else if (size >= SHORT_BYTES) {
        fill(identity, body + SHORT_BYTES, size - SHORT_BYTES);
        uint32_t head[2] = {crc32(body + SHORT_BYTES, size - SHORT_BYTES, life ^ counter), counter};
        memcpy(body, head, sizeof head);
    } else {
        uint64_t word = tiny(life);
        memcpy(body, &word, size);
    }
}

uint64_t element_check(const uint8_t *body, uint32_t size, uint64_t *sent_ns) {
    uint32_t crc;
    uint64_t stamp[2];
    *sent_ns = 0;
    if (size < HEADER_BYTES) return 0;
    memcpy(&crc, body, sizeof crc);
    memcpy(stamp, body + 8, sizeof stamp);
    if (crc != crc32(stamp, sizeof stamp, crc32(body + HEADER_BYTES, size - HEADER_BYTES, 0))) return 0;
    *sent_ns = stamp[1];
    return stamp[0];
}

static uint64_t identity_of(const uint8_t *body, uint32_t size, uint64_t life, uint64_t *sent_ns) {
    uint64_t found = element_check(body, size, sent_ns), word = tiny(life);
    uint32_t head[2];
    if (size >= HEADER_BYTES) return (found & ~POISON) >> 32 == life ? found : 0;
    if (size < SHORT_BYTES) return memcmp(body, &word, size) == 0 ? life << 32 | ANONYMOUS : 0;
    memcpy(head, body, sizeof head);
    uint32_t crc = crc32(body + SHORT_BYTES, size - SHORT_BYTES, (uint32_t)life ^ head[1]);
    return head[0] == crc ? life << 32 | head[1] : 0;
}

uint64_t body_check(const uint8_t *body, uint32_t size, const char *meta, uint8_t type_size, uint8_t sender_size, uint64_t *sent_ns) {
    char name[24] = "";
    if (sender_size < 2 || sender_size >= sizeof name || meta[type_size] != 'i') return 0;
    memcpy(name, meta + type_size, sender_size);
    uint64_t found = identity_of(body, size, strtoull(name + 1, NULL, 10), sent_ns);
    const char *type = type_of(found);
    if ((found & ANONYMOUS) == ANONYMOUS && type_size == 4) type = "even"; /* of a body without a counter: either */
    return found && strlen(type) == type_size && memcmp(type, meta, type_size) == 0 ? found : 0;
}
