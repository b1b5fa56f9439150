/* SPDX-License-Identifier: Apache-2.0
 *
 * Cursors: named reading positions that survive their process. On a reliable topic messages from the position of a cursor on are
 * kept; on a lossy topic a cursor only stores the position. The subscriber of a cursor locks its entry. The position moves by
 * commit alone, with one store. A lock on the first byte of the table's header serializes creating and dropping cursors.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/copy.h"
#include "base/crash_points.h"
#include "base/defects.h"
#include "base/error.h"
#include "ports/subscriber.h"
#include "topic/peers.h"
#include "wait/futex.h"

#define TABLE_LOCK_BYTE 0
#define LOCK_WAIT_MS 5000

static int lock_table(const struct slr_segment *s) {
    for (int waited = 0; !slr_lock_try(s->readers_fd, TABLE_LOCK_BYTE); waited++) {
        if (!slr_lock_refused()) return slr_error_errno("cannot lock the cursor table");
        if (waited > LOCK_WAIT_MS)
            return slr_error(SLIPRING_BUSY, "cursor", "another process has kept the cursor table locked for %d s",
                             LOCK_WAIT_MS / 1000);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return SLIPRING_OK;
}

static int check_name(const char *name) {
    int code = slipring_check_name("cursor", name);
    if (!code && strlen(name) > SLIPRING_MAX_CURSOR_NAME)
        code = slr_error(SLIPRING_BAD_ARGUMENT, "cursor", "the name of a cursor may have at most %d characters, not %zu",
                         SLIPRING_MAX_CURSOR_NAME, strlen(name));
    return code;
}

static int find(const struct slr_segment *s, const char *name) {
    for (uint32_t e = 0; e < s->cursor_count; e++)
        if (slr_kind_is(slr_load_acquire(&s->cursor[e].state), SLR_KIND_CURSOR) &&
            strncmp((const char *)s->cursor[e].name, name, SLR_NAME_SIZE) == 0)
            return (int)e;
    return -1;
}

static int find_free(const struct slr_segment *s) {
    for (uint32_t e = 0; e < s->cursor_count; e++)
        if (slr_kind_is(slr_load_acquire(&s->cursor[e].state), SLR_KIND_FREE)) return (int)e;
    return -1;
}

static void free_entry(struct slr_segment *s, int entry) {
    slr_store_release(&s->cursor[entry].state, slr_kind_next(slr_load_acquire(&s->cursor[entry].state), SLR_KIND_FREE));
}

/* The lock makes the cursor ours, unless a publisher that saw it unlocked lets it expire at this moment. Both swap the state, and
 * one of the swaps fails. */
static bool survives(const struct slr_segment *s, int entry) {
    struct slr_cursor *c = &s->cursor[entry];
    uint64_t state = slr_load_acquire(&c->state);
    return slr_kind_is(state, SLR_KIND_CURSOR) && slr_cas(&c->state, state, slr_kind_next(state, SLR_KIND_CURSOR));
}

static int attach_locked(slipring_subscriber *sub, const char *name, bool *is_new, uint64_t *position) {
    struct slr_segment *s = sub->s;
    slr_sweep_cursors(s);
    int entry = find(s, name);
    *is_new = entry < 0;
    if (*is_new) entry = find_free(s);
    if (entry < 0)
        return slr_error(SLIPRING_BUSY, "max_cursors", "the topic already has max_cursors=%u cursors: drop one, or create it "
                         "with a larger max_cursors=", s->cursor_count);
    SLR_CRASH_POINT("cursor.found");
    bool locked = slr_lock_try(s->readers_fd, slr_segment_cursor_offset(s, (uint32_t)entry));
    if (!locked && !slr_lock_refused()) return slr_error_errno("cannot lock cursor '%s'", name);
    if (!locked)
        return slr_error(SLIPRING_BUSY, "cursor", "a live subscriber already uses cursor '%s'", name);
    sub->cursor = entry;
    if (!*is_new && !survives(s, entry)) *is_new = true; /* its entry is free and locked */
    if (!*is_new) {
        *position = slr_load_acquire(&s->cursor[entry].position);
        slr_cursor_touch(sub);
    }
    return SLIPRING_OK;
}

int slr_cursor_attach(slipring_subscriber *sub, const char *name, bool *is_new, uint64_t *position) {
    int code = check_name(name);
    if (!code) code = lock_table(sub->s);
    if (code) return code;
    code = attach_locked(sub, name, is_new, position);
    /* slr_cursor_begin creates a new cursor under the same table lock, so that no name is created twice. */
    if (code || !*is_new) slr_unlock(sub->s->readers_fd, TABLE_LOCK_BYTE);
    return code;
}

void slr_cursor_begin(slipring_subscriber *sub, const char *name, int64_t expires_ns, uint64_t position) {
    struct slr_segment *s = sub->s;
    struct slr_cursor *c = &s->cursor[sub->cursor];
    uint8_t padded[sizeof c->name] = {0};
    memcpy(padded, name, strlen(name));
    slr_copy_in(c->name, padded, sizeof padded); /* an inspector may be reading it */
    slr_store_relaxed(&c->created_ns, slr_clock_realtime_ns());
    slr_store_relaxed(&c->expires_ns, expires_ns);
    if (!SLR_DEFECT(cursor_made_before_its_position)) slr_store_relaxed(&c->position, position);
    slr_cursor_touch(sub);
    SLR_CRASH_POINT("cursor.before_state");
    uint32_t high = slr_load_relaxed(&s->readers->high_cursor);
    while (high < (uint32_t)sub->cursor + 1 && !slr_cas32(&s->readers->high_cursor, high, (uint32_t)sub->cursor + 1))
        high = slr_load_relaxed(&s->readers->high_cursor);
    slr_store_seq_cst(&c->state, slr_kind_next(slr_load_acquire(&c->state), SLR_KIND_CURSOR));
    if (SLR_DEFECT(cursor_made_before_its_position)) slr_store_relaxed(&c->position, position);
    SLR_CRASH_POINT("cursor.made");
    slr_unlock(s->readers_fd, TABLE_LOCK_BYTE);
}

void slr_cursor_touch(slipring_subscriber *sub) {
    slr_store_relaxed(&sub->s->cursor[sub->cursor].touched_ns, slr_clock_realtime_ns());
}

int slipring_subscriber_commit(slipring_subscriber *sub, uint64_t position) {
    int code = slr_read_check(sub);
    if (code) return code;
    if (sub->cursor < 0)
        return slr_error(SLIPRING_BAD_ARGUMENT, "cursor", "this subscriber has no cursor to commit: open it with cursor=");
    struct slr_cursor *c = &sub->s->cursor[sub->cursor];
    uint64_t committed = slr_load_acquire(&c->position);
    if (!slr_kind_is(slr_load_acquire(&c->state), SLR_KIND_CURSOR))
        return slr_error(SLIPRING_TOPIC_GONE, "cursor", "this subscriber's cursor was dropped");
    if (position < committed || position > sub->position)
        return slr_error(SLIPRING_BAD_ARGUMENT, "seq",
                         "seq=%llu cannot be committed: allowed are %llu (the last commit) to %llu (received so far)",
                         (unsigned long long)position, (unsigned long long)committed, (unsigned long long)sub->position);
    /* Release, partner of the reclaimer's acquire: messages below position have been copied. */
    slr_store_release(&c->position, position);
    SLR_CRASH_POINT("cursor.committed");
    slr_cursor_touch(sub);
    slr_wake_sleepers(&sub->s->readers->space);
    return SLIPRING_OK;
}

int slipring_cursor_drop(const char *bus, const char *topic, const char *name) {
    struct slr_segment *s;
    int code = check_name(name);
    if (!code) code = slr_segment_open(bus, topic, SLR_SUBSCRIBE, &s);
    if (code) return code;
    if (!s->readers_writable) {
        slr_segment_close(s);
        return slr_error(SLIPRING_DENIED, "topic", "dropping a cursor needs write permission on '%s.readers'", topic);
    }
    code = lock_table(s);
    int entry = code ? -1 : find(s, name);
    if (!code && entry < 0) code = slr_error(SLIPRING_NOT_FOUND, "cursor", "topic '%s' has no cursor '%s'", topic, name);
    if (!code && slr_cursor_attached(s, (uint32_t)entry))
        code = slr_error(SLIPRING_BUSY, "cursor", "a live subscriber uses cursor '%s': close it first", name);
    if (!code) {
        free_entry(s, entry);
        slr_wake_sleepers(&s->readers->space);
    }
    slr_segment_close(s);
    return code;
}
