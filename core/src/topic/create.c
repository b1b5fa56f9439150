/* SPDX-License-Identifier: Apache-2.0
 *
 * Creating and removing topics. Both files are created without a name (O_TMPFILE) and filled, and their space is reserved.
 * Then they are linked, the ring last: a topic exists when its ring has a name, and it is complete by then. The first
 * publisher of a frames topic creates the buffers (frames/pool.c); they are removed with the topic.
 */
#include <string.h>
#include <unistd.h>

#include "base/boot_id.h"
#include "base/clock.h"
#include "base/crash_points.h"
#include "base/defects.h"
#include "base/error.h"
#include "topic/files.h"
#include "topic/frames_layout.h"
#include "topic/geometry.h"
#include "topic/peers.h"
#include "topic/segment.h"
#include "wait/death_wake.h"

static int fill_files(int ring_fd, int readers_fd, const char *topic, const slipring_settings *s,
                      const struct slr_geometry *g) {
    struct slr_ring_header ring;
    memset(&ring, 0, sizeof ring);
    ring.magic = SLR_RING_MAGIC;
    ring.version = SLR_LAYOUT_VERSION;
    ring.page_size = SLR_PAGE;
    ring.layout_hash = slr_layout_hash();
    ring.generation = slr_random();
    ring.file_size = g->ring_size;
    ring.slot_count = g->slot_count;
    ring.capacity = g->capacity;
    ring.writers_offset = g->writers_offset;
    ring.slots_offset = g->slots_offset;
    ring.passed_offset = g->passed_offset;
    ring.abandoned_offset = g->abandoned_offset;
    ring.payload_offset = g->payload_offset;
    ring.writer_count = g->writer_count;
    ring.reader_count = g->reader_count;
    ring.cursor_count = g->cursor_count;
    ring.delivery = s->delivery == SLIPRING_RELIABLE ? SLR_RELIABLE : SLR_LOSSY;
    ring.writers = s->writers == SLIPRING_WRITERS_ONE ? SLR_ONE : SLR_MANY;
    ring.content = s->content == SLIPRING_FRAMES ? SLR_FRAMES : SLR_MESSAGES;
    ring.creator_pid = (uint32_t)getpid();
    ring.created_ns = slr_clock_realtime_ns();
    ring.schema_size = g->schema_size;
    int code = slr_file_boot_id(ring_fd, topic, "ring", ring.boot_id);
    if (!code) code = slr_schema_write(ring_fd, s, g->schema_offset, &ring.schema_hash);
    if (code) return code;

    struct slr_readers_header readers;
    memset(&readers, 0, sizeof readers);
    readers.magic = SLR_READERS_MAGIC;
    readers.version = SLR_LAYOUT_VERSION;
    readers.page_size = SLR_PAGE;
    readers.layout_hash = ring.layout_hash;
    readers.generation = ring.generation;
    readers.file_size = g->readers_size;
    readers.readers_offset = g->readers_offset;
    readers.cursors_offset = g->cursors_offset;
    readers.reader_count = g->reader_count;
    readers.cursor_count = g->cursor_count;

    code = slr_file_write_header(ring_fd, &ring, sizeof ring);
    return code ? code : slr_file_write_header(readers_fd, &readers, sizeof readers);
}

/* A process that may read the ring may subscribe, and a subscriber writes the reader table. */
static uint32_t readers_mode(uint32_t mode) { return mode | (mode & 0444) >> 1; }

/* Remove the buffers of a frames topic, and new buffers of a publisher that died before it renamed them. */
static int unlink_frames(int directory, const char *topic) {
    int code = slr_file_unlink(directory, topic, "frames-new");
    if (code == SLIPRING_OK || code == SLIPRING_NOT_FOUND) code = slr_file_unlink(directory, topic, "frames");
    return code == SLIPRING_NOT_FOUND ? SLIPRING_OK : code;
}

static int name_both(int ring_fd, int readers_fd, int directory, const char *topic) {
    /* Files of a creator or remover that died: there is no ring for them. */
    int code = slr_file_clear(directory, topic, "readers", SLR_READERS_MAGIC);
    if (!code) code = slr_file_clear(directory, topic, "frames-new", SLR_POOL_MAGIC);
    if (!code) code = slr_file_clear(directory, topic, "frames", SLR_POOL_MAGIC);
    if (code) return code;
    SLR_CRASH_POINT("create.before_readers");
    code = slr_file_link(readers_fd, directory, topic, "readers");
    if (code) return code;
    SLR_CRASH_POINT("create.before_ring");
    code = slr_file_link(ring_fd, directory, topic, "ring");
    if (code && !SLR_DEFECT(half_topic_left_when_naming_fails)) slr_file_unlink_quietly(directory, topic, "readers");
    SLR_CRASH_POINT("create.done");
    return code;
}

static int create_locked(int directory, const char *topic, const slipring_settings *s) {
    struct slr_geometry g;
    uint32_t mode = s->mode ? s->mode : 0600;
    int ring_fd = -1, readers_fd = -1;
    int code = slr_geometry_choose(s, &g);
    if (!code) code = slr_file_make(directory, g.ring_size, mode, "capacity", &ring_fd);
    if (!code) code = slr_file_make(directory, g.readers_size, readers_mode(mode), "max_readers", &readers_fd);
    SLR_CRASH_POINT("create.files_made");
    if (!code && SLR_DEFECT(topic_named_before_filled)) code = name_both(ring_fd, readers_fd, directory, topic);
    if (!code) code = fill_files(ring_fd, readers_fd, topic, s, &g);
    if (!code && !SLR_DEFECT(topic_named_before_filled)) code = name_both(ring_fd, readers_fd, directory, topic);
    if (ring_fd >= 0) close(ring_fd);
    if (readers_fd >= 0) close(readers_fd);
    return code;
}

static int check_settings(const slipring_settings *s) {
    struct slr_geometry g;
    int code = slr_mode_check(s->mode);
    return code ? code : slr_geometry_choose(s, &g);
}

/* EXISTS without found and asked: the topic exists, and the caller compares the settings. */
static int create(const char *bus, const char *topic, const slipring_settings *s) {
    int directory;
    int code = slipring_check_name("topic", topic);
    if (!code) code = check_settings(s);
    if (!code) code = slr_bus_lock(bus, topic, "ring", &directory);
    if (code) return code;
    code = slr_name_check_free(directory, topic, "ring");
    if (!code) code = create_locked(directory, topic, s);
    slr_bus_unlock(directory);
    return code;
}

static int check_match(const struct slr_segment *s, const slipring_settings *settings, const char *topic) {
    struct slr_geometry found = {.capacity = s->capacity,
                                 .slot_count = s->slot_count,
                                 .writer_count = s->writer_count,
                                 .reader_count = s->reader_count,
                                 .cursor_count = s->cursor_count};
    if (settings->content != s->content)
        return slr_error_exists("topic", s->content ? "frames" : "messages", settings->content ? "frames" : "messages",
                                "topic '%s' carries %s, asked for %s: use %s, or another name", topic,
                                s->content ? "frames" : "messages", settings->content ? "frames" : "messages",
                                s->content ? "bus.frames()" : "bus.publisher()");
    int code = slr_geometry_match(settings, &found, s->delivery, s->writers, topic);
    return code ? code : slr_segment_match_schema(s, settings, topic);
}

int slr_segment_open_or_create(const char *bus, const char *topic, const slipring_settings *settings,
                               struct slr_segment **out) {
    static const slipring_settings any = SLIPRING_SETTINGS_DEFAULT;
    if (!settings) settings = &any;
    int code = check_settings(settings);
    if (code) return code;
    /* Another process may create or remove the topic between two of these steps: try again. */
    for (int attempt = 0; attempt < 100; attempt++) {
        code = slr_segment_open(bus, topic, SLR_PUBLISH, out);
        if (code == SLIPRING_OK) break;
        if (code != SLIPRING_NOT_FOUND || settings->must_exist) return code;
        code = create(bus, topic, settings);
        if (code != SLIPRING_OK && (code != SLIPRING_EXISTS || slr_name_is_other_kind())) return code;
    }
    if (code) return code;
    code = check_match(*out, settings, topic);
    if (code) slr_segment_close(*out);
    return code;
}

int slipring_topic_create(const char *bus, const char *topic, const slipring_settings *settings, bool exist_ok) {
    struct slr_segment *segment;
    int code = SLIPRING_NOT_FOUND;
    /* Another process may remove the topic before it is opened: try again. */
    for (int attempt = 0; code == SLIPRING_NOT_FOUND && attempt < 100; attempt++) {
        code = create(bus, topic, settings);
        if (code != SLIPRING_EXISTS || !exist_ok || slr_name_is_other_kind()) return code;
        code = slr_segment_open(bus, topic, SLR_INSPECT, &segment);
    }
    if (code) return code;
    code = check_match(segment, settings, topic);
    slr_segment_close(segment);
    return code;
}

/* *gone: the topic has no name any more, although some file may remain. The next remover finds the remaining files. */
static int unlink_topic(int directory, const char *topic, bool *gone) {
    if (SLR_DEFECT(readers_removed_before_ring)) slr_file_unlink_quietly(directory, topic, "readers");
    int ring = slr_file_unlink(directory, topic, "ring");
    *gone = ring == SLIPRING_OK;
    if (ring && ring != SLIPRING_NOT_FOUND) return ring;
    SLR_CRASH_POINT("remove.half");
    int code = slr_file_unlink(directory, topic, "readers");
    SLR_CRASH_POINT("remove.frames_left");
    if (code == SLIPRING_NOT_FOUND) code = ring;
    return code ? code : unlink_frames(directory, topic);
}

int slipring_topic_remove(const char *bus, const char *topic) {
    int directory;
    int code = slipring_check_name("topic", topic);
    if (!code) code = slr_bus_lock(bus, topic, "ring", &directory);
    if (code) return code;
    /* A damaged topic cannot be opened but can be removed. Without write permission on its files it is not removed, even if
     * the directory permits it. After a system error it is not removed either, because its users must be woken. */
    struct slr_segment *segment = NULL;
    code = slr_segment_open(bus, topic, SLR_PUBLISH, &segment);
    bool opened = code == SLIPRING_OK, gone = false;
    if (opened) slr_death_wake_set(&segment->readers->death_wake); /* if this process dies, waiting users must still wake up */
    if (code != SLIPRING_DENIED && code != SLIPRING_SYSTEM) code = unlink_topic(directory, topic, &gone);
    if (opened) {
        if (gone) slr_segment_mark_removed(segment);
        slr_death_wake_clear();
        slr_segment_close(segment);
    }
    slr_bus_unlock(directory);
    return code;
}

/* The files of a topic. Files of the same names that Slipring did not create are not touched. */
struct found {
    bool ring, readers, frames, unplaced;
};

static int find_files(int directory, const char *topic, struct found *f) {
    bool ring, readers;
    int code = slr_file_find(directory, topic, "ring", &ring);
    if (!code) code = slr_file_find(directory, topic, "readers", &readers);
    if (code) return code;
    f->ring = ring, f->readers = readers;
    /* If both exist and one is damaged, opening them reports it. */
    if (ring && !readers) code = slr_file_is_ours(directory, topic, "ring", SLR_RING_MAGIC, &f->ring);
    if (readers && !ring && !SLR_DEFECT(foreign_file_cleared))
        code = slr_file_is_ours(directory, topic, "readers", SLR_READERS_MAGIC, &f->readers);
    if (!code) code = slr_file_is_ours(directory, topic, "frames", SLR_POOL_MAGIC, &f->frames);
    if (!code) code = slr_file_is_ours(directory, topic, "frames-new", SLR_POOL_MAGIC, &f->unplaced);
    return code;
}

int slipring_topic_repair(const char *bus, const char *topic, bool repair, bool *half) {
    int directory;
    struct found f = {0};
    int code = slipring_check_name("topic", topic);
    if (!code) code = slr_bus_lock(bus, topic, "ring", &directory);
    if (code) return code;
    code = find_files(directory, topic, &f);
    if (!code) *half = f.ring != f.readers || (f.frames && !f.ring) || f.unplaced;
    if (!code && repair && f.unplaced) code = slr_file_unlink(directory, topic, "frames-new");
    if (!code && repair && f.ring != f.readers) code = slr_file_unlink(directory, topic, f.ring ? "ring" : "readers");
    if (!code && repair && f.frames && !(f.ring && f.readers)) code = slr_file_unlink(directory, topic, "frames");
    slr_bus_unlock(directory);
    return code;
}
