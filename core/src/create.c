/* SPDX-License-Identifier: Apache-2.0
 *
 * Creating and removing topics. Both files are made without a name (O_TMPFILE), filled, their space reserved, and
 * only then linked, the ring last: a topic exists when its ring has a name, and is whole by then. Creators and
 * removers of one bus take turns by a lock on its directory, which the kernel releases if they die.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "boot.h"
#include "clock.h"
#include "fault.h"
#include "geometry.h"
#include "peers.h"
#include "points.h"
#include "segment.h"
#include "wait.h"

#define TURN_MS 5000 /* how long to wait for another creator, which needs a millisecond */

static int take_turn(const char *bus, const char *topic, int *directory) {
    int code = SLIPRING_OK;
    *directory = open(bus, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*directory < 0 && errno == ENOENT)
        return slr_fault(SLIPRING_NOT_FOUND, "topic", "there is no topic '%s': nobody has made the bus '%s'", topic, bus);
    if (*directory < 0) return slr_fault_errno("cannot open the bus directory '%s'", bus);
    for (int waited = 0; flock(*directory, LOCK_EX | LOCK_NB); waited++) {
        if (errno != EWOULDBLOCK && errno != EINTR) code = slr_fault_errno("cannot lock the bus directory '%s'", bus);
        if (waited > TURN_MS)
            code = slr_fault(SLIPRING_BUSY, "bus", "another process has been creating or removing a topic on '%s' for %d s",
                             bus, TURN_MS / 1000);
        if (code) {
            close(*directory);
            return code;
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return SLIPRING_OK;
}

/* By name: closing would not do if a fork in another thread shares the descriptor. */
static void end_turn(int directory) {
    flock(directory, LOCK_UN);
    close(directory);
}

/* A file without a name, mode exactly as given whatever the umask, its space reserved. */
static int make_file(int directory, uint64_t size, uint32_t mode, int *out) {
    int fd = openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) return slr_fault_errno("cannot create a file in the bus directory");
    int failed;
    while ((failed = posix_fallocate(fd, 0, (off_t)size)) == EINTR) continue;
    if (!failed && fchmod(fd, mode)) failed = errno;
    if (failed) {
        close(fd);
        errno = failed;
        return slr_fault_errno("cannot reserve %" PRIu64 " bytes: choose a smaller capacity= or make room", size);
    }
    *out = fd;
    return SLIPRING_OK;
}

static int name_file(int fd, int directory, const char *topic, const char *suffix) {
    char from[64], to[SLIPRING_MAX_NAME + 16];
    snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
    snprintf(to, sizeof to, "%s.%s", topic, suffix);
    if (linkat(AT_FDCWD, from, directory, to, AT_SYMLINK_FOLLOW) == 0) return SLIPRING_OK;
    return slr_fault_errno("cannot name the new file '%s'", to);
}

static bool write_header(int fd, const void *header, size_t size) {
    return pwrite(fd, header, size, 0) == (ssize_t)size;
}

static int fill_files(int ring_fd, int readers_fd, const slipring_settings *s, const struct slr_geometry *g) {
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
    ring.creator_pid = (uint32_t)getpid();
    ring.created_ns = slr_clock_realtime_ns();
    if (slr_boot_id(ring.boot_id)) return slr_fault_errno("cannot read this machine's boot id");

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

    if (!write_header(ring_fd, &ring, sizeof ring) || !write_header(readers_fd, &readers, sizeof readers))
        return slr_fault_errno("cannot write the new topic's header");
    return SLIPRING_OK;
}

/* Whoever may read the ring may subscribe, and subscribers write the reader table. */
static uint32_t readers_mode(uint32_t mode) { return mode | (mode & 0444) >> 1; }

static int name_both(int ring_fd, int readers_fd, int directory, const char *topic) {
    char stale[SLIPRING_MAX_NAME + 16];
    snprintf(stale, sizeof stale, "%s.readers", topic);
    unlinkat(directory, stale, 0); /* of a creator or remover that died half-way: there is no ring beside it */
    SLR_POINT("create.before_readers");
    int code = name_file(readers_fd, directory, topic, "readers");
    SLR_POINT("create.before_ring");
    if (!code) code = name_file(ring_fd, directory, topic, "ring");
    SLR_POINT("create.done");
    return code;
}

static int create_locked(int directory, const char *topic, const slipring_settings *s) {
    struct slr_geometry g;
    uint32_t mode = s->mode ? s->mode : 0600;
    int ring_fd = -1, readers_fd = -1;
    int code = slr_geometry_choose(s, &g);
    if (!code) code = make_file(directory, g.ring_size, mode, &ring_fd);
    if (!code) code = make_file(directory, g.readers_size, readers_mode(mode), &readers_fd);
    SLR_POINT("create.files_made");
    if (!code) code = fill_files(ring_fd, readers_fd, s, &g);
    if (!code) code = name_both(ring_fd, readers_fd, directory, topic);
    if (ring_fd >= 0) close(ring_fd);
    if (readers_fd >= 0) close(readers_fd);
    return code;
}

static bool file_exists(int directory, const char *topic, const char *suffix) {
    char file[SLIPRING_MAX_NAME + 16];
    struct stat status;
    snprintf(file, sizeof file, "%s.%s", topic, suffix);
    return fstatat(directory, file, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

static int check_settings(const slipring_settings *s) {
    if (s->mode & ~0777u) return slr_fault(SLIPRING_BAD_ARGUMENT, "mode", "mode=%#o has bits beyond 0777", s->mode);
    if (s->mode && (s->mode & 0600) != 0600)
        return slr_fault(SLIPRING_BAD_ARGUMENT, "mode", "mode=%#o leaves the owner without reading and writing", s->mode);
    struct slr_geometry g;
    return slr_geometry_choose(s, &g);
}

/* EXISTS without found/asked: it is there, which is for the caller to judge. */
static int create(const char *bus, const char *topic, const slipring_settings *s) {
    int directory;
    int code = slipring_check_name("topic", topic);
    if (!code) code = check_settings(s);
    if (!code) code = take_turn(bus, topic, &directory);
    if (code) return code;
    if (file_exists(directory, topic, "ring"))
        code = slr_fault(SLIPRING_EXISTS, "topic", "topic '%s' exists: use exist_ok=True or another name", topic);
    else
        code = create_locked(directory, topic, s);
    end_turn(directory);
    return code;
}

static int check_match(const struct slr_segment *s, const slipring_settings *settings, const char *topic) {
    struct slr_geometry found = {.capacity = s->capacity,
                                 .slot_count = s->slot_count,
                                 .writer_count = s->writer_count,
                                 .reader_count = s->reader_count,
                                 .cursor_count = s->cursor_count};
    return slr_geometry_match(settings, &found, s->delivery, s->writers, topic);
}

int slr_segment_open_or_create(const char *bus, const char *topic, const slipring_settings *settings,
                               struct slr_segment **out) {
    static const slipring_settings any = SLIPRING_SETTINGS_DEFAULT;
    if (!settings) settings = &any;
    int code = check_settings(settings);
    if (code) return code;
    /* Made by another between our look and our turn, or removed between our turn and our look: again. */
    for (int attempt = 0; attempt < 100; attempt++) {
        code = slr_segment_open(bus, topic, SLR_PUBLISH, out);
        if (code == SLIPRING_OK) break;
        if (code != SLIPRING_NOT_FOUND || settings->must_exist) return code;
        code = create(bus, topic, settings);
        if (code != SLIPRING_OK && code != SLIPRING_EXISTS) return code;
    }
    if (code) return code;
    code = check_match(*out, settings, topic);
    if (code) slr_segment_close(*out);
    return code;
}

int slipring_topic_create(const char *bus, const char *topic, const slipring_settings *settings, bool exist_ok) {
    struct slr_segment *segment;
    int code = SLIPRING_NOT_FOUND;
    /* Removed between our turn and our look: again. */
    for (int attempt = 0; code == SLIPRING_NOT_FOUND && attempt < 100; attempt++) {
        code = create(bus, topic, settings);
        if (code != SLIPRING_EXISTS || !exist_ok) return code;
        code = slr_segment_open(bus, topic, SLR_LOOK, &segment);
    }
    if (code) return code;
    code = check_match(segment, settings, topic);
    slr_segment_close(segment);
    return code;
}

static int unlink_topic(int directory, const char *topic) {
    char file[SLIPRING_MAX_NAME + 16];
    snprintf(file, sizeof file, "%s.ring", topic);
    if (unlinkat(directory, file, 0)) {
        if (errno == ENOENT) return slr_fault(SLIPRING_NOT_FOUND, "topic", "there is no topic '%s' on this bus", topic);
        return slr_fault_errno("cannot remove '%s'", file);
    }
    SLR_POINT("remove.half");
    snprintf(file, sizeof file, "%s.readers", topic);
    if (unlinkat(directory, file, 0) && errno != ENOENT) return slr_fault_errno("cannot remove '%s'", file);
    return SLIPRING_OK;
}

int slipring_topic_remove(const char *bus, const char *topic) {
    int directory;
    int code = slipring_check_name("topic", topic);
    if (!code) code = take_turn(bus, topic, &directory);
    if (code) return code;
    /* A damaged topic cannot be opened, but can be removed; one that we may not write, not by us, even if its directory
     * would let us. */
    struct slr_segment *segment = NULL;
    code = slr_segment_open(bus, topic, SLR_PUBLISH, &segment);
    bool opened = code == SLIPRING_OK;
    if (code != SLIPRING_DENIED) code = unlink_topic(directory, topic);
    if (opened) {
        if (code == SLIPRING_OK) {
            slr_publish(&segment->ring->removed, 1);
            slr_wake_all(&segment->readers->wake);
            slr_wake_all(&segment->readers->space);
        }
        slr_segment_close(segment);
    }
    end_turn(directory);
    return code;
}

int slipring_topic_mend(const char *bus, const char *topic, bool repair, bool *half) {
    int directory;
    int code = slipring_check_name("topic", topic);
    if (!code) code = take_turn(bus, topic, &directory);
    if (code) return code;
    bool ring = file_exists(directory, topic, "ring"), readers = file_exists(directory, topic, "readers");
    *half = ring != readers;
    if (*half && repair) {
        char file[SLIPRING_MAX_NAME + 16];
        snprintf(file, sizeof file, "%s.%s", topic, ring ? "ring" : "readers");
        if (unlinkat(directory, file, 0)) code = slr_fault_errno("cannot remove '%s'", file);
    }
    end_turn(directory);
    return code;
}
