/* SPDX-License-Identifier: Apache-2.0
 *
 * What send.c and loan.c do alike on the way from a body to a message: begin (which takes the texts in), check the size and
 * now and then the file, claim, write body and texts, finish.
 */
#ifndef SLR_PUBLISHING_H
#define SLR_PUBLISHING_H

#include <string.h>

#include "copy.h"
#include "defects.h"
#include "fault.h"
#include "publisher.h"

#define SLR_AHEAD 8 /* messages */
#define SLR_FILE_CHECK_NS INT64_C(500000000) /* how often a busy publisher asks whether its file still has a name */

struct slr_texts {
    const char *type, *sender; /* sender NULL: our own */
    size_t type_size, sender_size;
};

static inline void slr_texts_use(slipring_publisher *pub, const struct slr_texts *t) {
    bool own = !t->sender;
    if (own && pub->meta_is_own && t->type_size == pub->type_size &&
        (t->type_size == 0 || memcmp(pub->meta, t->type, t->type_size) == 0))
        return;
    size_t sender_size = own ? pub->own_sender_size : t->sender_size;
    memcpy(pub->meta, t->type, t->type_size);
    memcpy(pub->meta + t->type_size, own ? (const char *)pub->own_sender : t->sender, sender_size);
    memset(pub->meta + t->type_size + sender_size, 0, 8);
    pub->type_size = (uint8_t)t->type_size;
    pub->sender_size = (uint8_t)sender_size;
    pub->meta_is_own = own;
}

static inline size_t slr_meta_size(const slipring_publisher *pub) { return (size_t)pub->type_size + pub->sender_size; }

static inline int slr_type_check(size_t type_size) {
    if (type_size <= SLIPRING_MAX_TYPE) return SLIPRING_OK;
    return slr_fault(SLIPRING_BAD_ARGUMENT, "type", "type has %zu bytes, at most %d", type_size, SLIPRING_MAX_TYPE);
}

static inline int slr_publish_begin(slipring_publisher *pub, const struct slr_texts *texts) {
    int code = slr_publisher_usable(pub);
    if (!code) code = slr_type_check(texts->type_size);
    if (!code) slr_texts_use(pub, texts);
    return code;
}

static inline int slr_size_check(const slipring_publisher *pub, size_t size, uint64_t *reserved) {
    *reserved = slr_reserved(size, slr_meta_size(pub));
    if (size <= UINT32_MAX && *reserved <= pub->s->capacity + (SLR_DEFECT(one_word_too_large_accepted) ? 8u : 0u))
        return SLIPRING_OK;
    if (size > UINT32_MAX)
        return slr_fault(SLIPRING_TOO_LARGE, "body",
                         "a body of %zu bytes is larger than a message can be, %u bytes, whatever the capacity: send it in "
                         "parts, or use frames",
                         size, UINT32_MAX);
    return slr_fault(SLIPRING_TOO_LARGE, "capacity",
                     "a body of %zu bytes needs %llu, more than the topic's capacity of %llu: create it with a larger "
                     "capacity=",
                     size, (unsigned long long)*reserved, (unsigned long long)pub->s->capacity);
}

static inline uint8_t *slr_body_place(const struct slr_segment *s, uint64_t start) {
    return s->payload + (start & s->payload_mask & ~UINT64_C(7)); /* aligned, whatever we were told */
}

static inline int slr_publish_claim(slipring_publisher *pub, uint64_t reserved, bool visible, struct slr_claimed *out) {
    int code = slr_claim(&pub->claimer, reserved, visible, out);
    if (code == SLIPRING_FULL) pub->refused_size = reserved;
    return code;
}

static inline size_t slr_meta_word_count(const slipring_publisher *pub) { return slr_round8(slr_meta_size(pub)) / 8; }

/* What comes next is still with the readers; it takes as long to get as some messages take to write. step: from the first
 * bytes of one of them to the next's. */
static inline void slr_fetch_ahead(const slipring_publisher *pub, const struct slr_claimed *claim, uint64_t step) {
    slr_fetch_to_write(slr_slot_of(pub->s, claim->seq + SLR_AHEAD));
    slr_fetch_to_write(slr_body_place(pub->s, claim->start + SLR_AHEAD * step));
}

/* Behind a body at `place`: type and sender, so many words. */
static inline void slr_meta_write(const slipring_publisher *pub, size_t words, uint8_t *place, size_t size) {
    _Atomic uint64_t *to = (_Atomic uint64_t *)(void *)(place + slr_round8(size));
    for (size_t i = 0; i < words; i++) slr_poke(to + i, pub->meta_words[i]);
}

static inline void slr_publish_finish(slipring_publisher *pub, uint64_t seq, uint64_t end, size_t size, uint64_t lengths,
                                      int64_t now) {
    slr_commit(&pub->claimer, pub->s, seq, end, lengths, now);
    slr_count(&pub->self->published, 1);
    slr_count(&pub->self->bytes, size);
}

/* Now and then; the time is at hand anyway. */
static inline int slr_publisher_check_file(slipring_publisher *pub, int64_t now) {
    if (now < pub->next_file_check_ns && pub->next_file_check_ns - now <= SLR_FILE_CHECK_NS) return SLIPRING_OK;
    int code = slr_segment_check_file(pub->s);
    /* Else the next one asks, and is refused, too. */
    if (!code || SLR_DEFECT(refused_publisher_may_send)) pub->next_file_check_ns = now + SLR_FILE_CHECK_NS;
    return code;
}

#endif
