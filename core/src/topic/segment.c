/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening and mapping. The header is read once into private memory and checked against the size of the file. Afterwards only
 * the private copy is used. So nothing that a process writes into the file leads to an access outside the mapping.
 */
#include "topic/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/defects.h"
#include "base/error.h"
#include "topic/files.h"
#include "topic/geometry.h"
#include "topic/peers.h"
#include "wait/futex.h"

#define POPULATE_UP_TO (UINT64_C(256) << 20) /* larger mappings are populated page by page on use */

int slipring_check_name(const char *argument, const char *name) {
    size_t size = strlen(name);
    if (size == 0 || size > SLIPRING_MAX_NAME)
        return slr_error(SLIPRING_BAD_ARGUMENT, argument, "%s must have 1 to %d characters, not %zu", argument,
                         SLIPRING_MAX_NAME, size);
    for (size_t i = 0; i < size; i++) {
        char c = name[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        if (!letter && (i == 0 || (c != '-' && c != '.')))
            return slr_error(SLIPRING_BAD_ARGUMENT, argument,
                             "'%s' is not a valid %s: letters, digits, '_', '-' and '.' are allowed, not '-' or '.' at the start",
                             name, argument);
    }
    return SLIPRING_OK;
}

uint64_t slr_segment_cursor_offset(const struct slr_segment *s, uint32_t entry) {
    return SLR_PAGE + (uint64_t)s->reader_count * SLR_READER_SIZE + (uint64_t)entry * SLR_CURSOR_SIZE;
}

static int check_ring(int fd, const char *topic, const struct slr_ring_header *h, uint64_t file_size,
                      struct slr_geometry *g) {
    int code = slr_file_check_signature(topic, "ring", h->magic == SLR_RING_MAGIC, h->version,
                                        h->layout_hash == slr_layout_hash());
    if (code) return code;
    *g = (struct slr_geometry){.capacity = h->capacity,
                               .slot_count = h->slot_count,
                               .writer_count = h->writer_count,
                               .reader_count = h->reader_count,
                               .cursor_count = h->cursor_count,
                               .schema_size = h->schema_size};
    if (!slr_geometry_compute(g) || h->page_size != SLR_PAGE || h->file_size != g->ring_size ||
        h->writers_offset != g->writers_offset || h->slots_offset != g->slots_offset ||
        h->passed_offset != g->passed_offset || h->abandoned_offset != g->abandoned_offset ||
        h->payload_offset != g->payload_offset)
        return slr_file_corrupt(topic, "ring", "its header is not consistent");
    /* A larger table would have an entry for a second publisher. */
    if (h->writers == SLR_ONE && h->writer_count != 1)
        return slr_file_corrupt(topic, "ring", "one writer is allowed, but the table has room for more");
    if (h->delivery > SLR_RELIABLE || h->writers > SLR_ONE || h->content > SLR_FRAMES)
        return slr_file_corrupt(topic, "ring", "unknown settings");
    if (file_size != g->ring_size && !SLR_DEFECT(ring_of_any_length))
        return slr_file_corrupt(topic, "ring", "it was truncated or extended");
    return slr_file_check_boot(fd, topic, "ring", h->boot_id);
}

static int check_readers(const char *topic, const struct slr_readers_header *h, uint64_t file_size,
                         const struct slr_geometry *g) {
    int code = slr_file_check_signature(topic, "readers", h->magic == SLR_READERS_MAGIC, h->version,
                                        h->layout_hash == slr_layout_hash());
    if (code) return code;
    if (h->page_size != SLR_PAGE || h->reader_count != g->reader_count || h->cursor_count != g->cursor_count ||
        h->readers_offset != g->readers_offset || h->cursors_offset != g->cursors_offset ||
        h->file_size != g->readers_size)
        return slr_file_corrupt(topic, "readers", "its header is not consistent with itself or with the ring");
    if (file_size != g->readers_size && !SLR_DEFECT(reader_table_of_any_length))
        return slr_file_corrupt(topic, "readers", "it was truncated or extended");
    return SLIPRING_OK;
}

/* Map the file up to the schema, and its payload once more behind that. */
static int map_ring(struct slr_segment *s, int fd, const struct slr_geometry *g) {
    int protection = s->ring_writable ? PROT_READ | PROT_WRITE : PROT_READ;
    bool populate = s->prefault && g->schema_offset <= POPULATE_UP_TO;
    int flags = MAP_SHARED | MAP_FIXED | (populate ? MAP_POPULATE : 0);
    s->ring_span = g->schema_offset + g->capacity;
    uint8_t *base = mmap(NULL, s->ring_span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        s->ring_span = 0;
        return slr_error_errno("cannot reserve address space for the ring");
    }
    s->ring = (struct slr_ring_header *)base;
    if (mmap(base, g->schema_offset, protection, flags, fd, 0) == MAP_FAILED ||
        mmap(base + g->schema_offset, g->capacity, protection, flags, fd, (off_t)g->payload_offset) == MAP_FAILED)
        return slr_error_errno("cannot map the ring");
    s->writer = (struct slr_writer *)(base + g->writers_offset);
    s->slot = (struct slr_slot *)(base + g->slots_offset);
    s->passed = (_Atomic uint64_t *)(base + g->passed_offset);
    s->abandoned = (_Atomic uint64_t *)(base + g->abandoned_offset);
    s->payload = base + g->payload_offset;
    return SLIPRING_OK;
}

static int map_readers(struct slr_segment *s, int fd, const struct slr_geometry *g) {
    int protection = s->readers_writable ? PROT_READ | PROT_WRITE : PROT_READ;
    uint8_t *base = mmap(NULL, g->readers_size, protection, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (base == MAP_FAILED) return slr_error_errno("cannot map the reader table");
    s->readers_span = g->readers_size;
    s->readers = (struct slr_readers_header *)base;
    s->reader = (struct slr_reader *)(base + g->readers_offset);
    s->cursor = (struct slr_cursor *)(base + g->cursors_offset);
    return SLIPRING_OK;
}

static int open_files(struct slr_segment *s, int directory, const char *topic, enum slr_access access) {
    s->ring_writable = access == SLR_PUBLISH;
    s->prefault = access != SLR_INSPECT; /* inspection touches few pages */
    s->ring_fd = slr_file_open(directory, topic, "ring", s->ring_writable ? O_RDWR : O_RDONLY);
    if (s->ring_fd < 0) return slr_file_open_error(topic, "ring");
    s->readers_writable = true;
    s->readers_fd = slr_file_open(directory, topic, "readers", O_RDWR);
    if (s->readers_fd < 0 && (errno == EACCES || errno == EROFS) && access != SLR_PUBLISH) {
        s->readers_writable = false; /* without write permission: no table entry, no wake-ups */
        s->readers_fd = slr_file_open(directory, topic, "readers", O_RDONLY);
    }
    if (s->readers_fd >= 0) return SLIPRING_OK;
    if (errno == ENOENT) return slr_file_corrupt(topic, "ring", "its reader table is missing");
    return slr_file_open_error(topic, "readers");
}

static int check_and_map(struct slr_segment *s, int ring_fd, int readers_fd, const char *topic) {
    struct slr_ring_header ring;
    struct slr_readers_header readers;
    struct slr_geometry g;
    uint64_t ring_size = 0, readers_size = 0;
    int code = slr_file_read_header(s->ring_fd, topic, "ring", &ring, sizeof ring, &ring_size);
    if (!code) code = check_ring(s->ring_fd, topic, &ring, ring_size, &g);
    if (!code) code = slr_file_read_header(s->readers_fd, topic, "readers", &readers, sizeof readers, &readers_size);
    if (!code) code = check_readers(topic, &readers, readers_size, &g);
    if (code) return code;
    if (ring.generation != readers.generation)
        return slr_file_corrupt(topic, "readers", "it belongs to another topic with that name");
    s->generation = ring.generation;
    s->slot_count = g.slot_count;
    s->slot_mask = g.slot_count - 1;
    s->slot_shift = (uint32_t)__builtin_ctzll(g.slot_count);
    s->capacity = g.capacity;
    s->payload_mask = g.capacity - 1;
    s->writer_count = g.writer_count;
    s->reader_count = g.reader_count;
    s->cursor_count = g.cursor_count;
    s->schema_size = g.schema_size;
    s->schema_offset = g.schema_offset;
    s->schema_hash = ring.schema_hash;
    s->delivery = (int)ring.delivery;
    s->writers = (int)ring.writers;
    s->content = (int)ring.content;
    code = map_ring(s, ring_fd, &g);
    return code ? code : map_readers(s, readers_fd, &g);
}

/* Use other descriptors for the mappings and close them afterwards. */
static int map_files(struct slr_segment *s, int directory, const char *topic) {
    int ring_flags = s->ring_writable ? O_RDWR : O_RDONLY, readers_flags = s->readers_writable ? O_RDWR : O_RDONLY;
    int ring_fd = slr_file_open_again(directory, topic, "ring", ring_flags, s->ring_fd);
    if (ring_fd < 0) return slr_file_open_error(topic, "ring");
    int readers_fd = slr_file_open_again(directory, topic, "readers", readers_flags, s->readers_fd);
    int code = readers_fd < 0 ? slr_file_open_error(topic, "readers") : check_and_map(s, ring_fd, readers_fd, topic);
    if (readers_fd >= 0) close(readers_fd);
    if (!code || !SLR_DEFECT(descriptor_lost_on_refusal)) close(ring_fd);
    return code;
}

static int open_once(int directory, const char *topic, enum slr_access access, struct slr_segment **out) {
    struct slr_segment *s = calloc(1, sizeof *s);
    if (!s) return slr_error_errno("cannot open topic '%s'", topic);
    s->ring_fd = s->readers_fd = -1;
    slr_fork_defer();
    s->fork_generation = slr_fork_register(&s->fork_handle, &s->ring_fd, &s->readers_fd);
    int code = open_files(s, directory, topic, access);
    slr_fork_allow();
    if (!code) code = map_files(s, directory, topic);
    if (code)
        slr_segment_close(s);
    else
        *out = s;
    return code;
}

int slr_segment_open(const char *bus, const char *topic, enum slr_access access, struct slr_segment **out) {
    int code = slipring_check_name("topic", topic);
    if (code) return code;
    int directory;
    if ((code = slr_bus_open(bus, topic, "ring", &directory))) return code;
    /* The topic may be removed and created again between opening its two files: try again. */
    for (int attempt = 0; attempt < 4; attempt++) {
        code = open_once(directory, topic, access, out);
        if (code != SLIPRING_CORRUPT && code != SLIPRING_NOT_FOUND) break;
    }
    close(directory);
    return code;
}

void slr_segment_close(struct slr_segment *s) {
    if (!s->ring_span && SLR_DEFECT(descriptor_left_when_mapping_fails)) s->ring_fd = -1;
    slr_fork_close(&s->fork_handle);
    if (s->ring_span && (s->readers_span || !SLR_DEFECT(mapping_left_when_second_fails))) munmap(s->ring, s->ring_span);
    if (s->readers_span) munmap(s->readers, s->readers_span);
    free(s);
}

void slr_segment_mark_removed(struct slr_segment *s) {
    slr_store_release(&s->ring->removed, 1); /* before the wake-ups. partner: has_reason_to_wake (wait.c), which checks once more */
    slr_wake_all(&s->readers->wake);
    slr_wake_all(&s->readers->space);
}

int slr_segment_check(const struct slr_segment *s) {
    if (s->fork_generation != slr_fork_generation() && !SLR_DEFECT(inherited_handles_work))
        return slr_error(SLIPRING_FORKED, "", "this handle was opened before fork(): open a new one in the child");
    if (slr_load_relaxed(&s->ring->removed)) return slr_error(SLIPRING_TOPIC_GONE, "topic", "the topic was removed");
    return SLIPRING_OK;
}

int slr_segment_check_file(const struct slr_segment *s) {
    int code = slr_segment_check(s);
    if (code) return code;
    bool gone = !SLR_DEFECT(deleted_files_not_noticed) && (slr_file_deleted(s->ring_fd) || slr_file_deleted(s->readers_fd));
    return gone ? slr_error(SLIPRING_TOPIC_GONE, "topic", "the topic's files were deleted") : SLIPRING_OK;
}
