/* SPDX-License-Identifier: Apache-2.0
 *
 * The file <topic>.frames: header page | stream table, a page | buffer words, a page | buffers, each page-aligned.
 *
 * Its geometry never changes. A publisher that needs another geometry creates another complete file and renames it over the old
 * one. A process that has mapped the old file keeps it as long as necessary, because no process writes it any more. Headers are
 * read once into private memory and checked against the size of the file; afterwards only the checked copy is used.
 */
#include "frames/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/boot_id.h"
#include "base/clock.h"
#include "base/crash_points.h"
#include "base/defects.h"
#include "base/error.h"
#include "topic/files.h"

#define STREAMS_OFFSET SLR_PAGE
#define WORDS_OFFSET (2 * SLR_PAGE)
#define BUFFERS_OFFSET (3 * SLR_PAGE)
#define MAX_FILE (UINT64_C(1) << 40)
#define POPULATE_UP_TO (UINT64_C(1) << 30)

/* Planning --------------------------------------------------------------------------------------------------- */

static int check_shape(const slipring_stream *s, uint64_t *bytes) {
    if (s->dimensions < 1 || s->dimensions > SLR_POOL_DIMENSIONS)
        return slr_error(SLIPRING_BAD_ARGUMENT, "shape", "shape has %u dimensions; 1 to %u are allowed", s->dimensions,
                         SLR_POOL_DIMENSIONS);
    if (s->item_size < 1)
        return slr_error(SLIPRING_BAD_ARGUMENT, "dtype", "the elements of dtype have 0 bytes; at least 1 is required");
    *bytes = s->item_size;
    for (uint32_t d = 0; d < s->dimensions; d++) {
        if (s->shape[d] < 1 || s->shape[d] > MAX_FILE / *bytes)
            return slr_error(SLIPRING_BAD_ARGUMENT, "shape", "%" PRIu64 " elements in dimension %u of shape; allowed are at least 1 "
                             "and at most 2**40 bytes in total", s->shape[d], d);
        *bytes *= s->shape[d];
    }
    return SLIPRING_OK;
}

static int check_stream(const slipring_stream *s, uint64_t *bytes) {
    if (!memchr(s->name, 0, sizeof s->name))
        return slr_error(SLIPRING_BAD_ARGUMENT, "streams", "the name of a stream may have at most %d characters", SLIPRING_MAX_STREAM);
    int code = slipring_check_name("streams", s->name);
    if (code) return code;
    if (!memchr(s->dtype, 0, sizeof s->dtype))
        return slr_error(SLIPRING_BAD_ARGUMENT, "dtype", "dtype may have at most %u characters", SLR_POOL_DTYPE - 1);
    if (s->buffers < 1)
        return slr_error(SLIPRING_BAD_ARGUMENT, "buffers", "stream '%s' has buffers=0; at least 1 is required", s->name);
    return check_shape(s, bytes);
}

int slr_pool_plan(struct slr_pool *pool, const slipring_stream *streams, size_t count) {
    memset(pool, 0, sizeof *pool);
    if (count < 1 || count > SLR_POOL_STREAMS)
        return slr_error(SLIPRING_BAD_ARGUMENT, "streams", "a topic has 1 to %u streams, not %zu", SLR_POOL_STREAMS, count);
    uint64_t offset = BUFFERS_OFFSET;
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = 0;
        int code = check_stream(&streams[i], &bytes);
        if (code) return code;
        if (slr_pool_find(pool, streams[i].name) >= 0)
            return slr_error(SLIPRING_BAD_ARGUMENT, "streams", "two streams have the name '%s'", streams[i].name);
        if (streams[i].buffers > SLR_POOL_BUFFERS - pool->buffer_count)
            return slr_error(SLIPRING_BAD_ARGUMENT, "buffers", "all streams together have at most %u buffers",
                             SLR_POOL_BUFFERS);
        pool->stream[i] = streams[i];
        pool->frame_bytes[i] = bytes;
        pool->first_buffer[i] = pool->buffer_count;
        for (uint32_t b = 0; b < streams[i].buffers; b++) {
            pool->offset[pool->buffer_count++] = offset;
            offset += (bytes + SLR_PAGE - 1) / SLR_PAGE * SLR_PAGE;
        }
        pool->stream_count++;
        if (offset > MAX_FILE)
            return slr_error(SLIPRING_BAD_ARGUMENT, "buffers", "the buffers need more than 2**40 bytes in total");
    }
    pool->file_size = offset;
    return SLIPRING_OK;
}

int slr_pool_find(const struct slr_pool *pool, const char *stream) {
    for (uint32_t i = 0; i < pool->stream_count; i++)
        if (strcmp(pool->stream[i].name, stream) == 0) return (int)i;
    return -1;
}

static bool same_stream(const slipring_stream *a, const slipring_stream *b) {
    return strcmp(a->name, b->name) == 0 && strcmp(a->dtype, b->dtype) == 0 && a->item_size == b->item_size &&
           a->buffers == b->buffers && a->dimensions == b->dimensions &&
           memcmp(a->shape, b->shape, a->dimensions * sizeof a->shape[0]) == 0;
}

bool slr_pool_same_streams(const struct slr_pool *a, const struct slr_pool *b) {
    if (a->stream_count != b->stream_count) return false;
    for (uint32_t i = 0; i < a->stream_count; i++)
        if (!same_stream(&a->stream[i], &b->stream[i])) return false;
    return true;
}

/* Creating --------------------------------------------------------------------------------------------------- */

static void describe_streams(const struct slr_pool *plan, struct slr_pool_stream *table) {
    memset(table, 0, SLR_PAGE);
    for (uint32_t i = 0; i < plan->stream_count; i++) {
        const slipring_stream *s = &plan->stream[i];
        memcpy(table[i].name, s->name, strlen(s->name));
        memcpy(table[i].dtype, s->dtype, strlen(s->dtype));
        memcpy(table[i].shape, s->shape, s->dimensions * sizeof s->shape[0]);
        table[i].first_id = plan->first_id[i];
        table[i].frame_bytes = plan->frame_bytes[i];
        table[i].item_size = s->item_size;
        table[i].dimensions = s->dimensions;
        table[i].first_buffer = plan->first_buffer[i];
        table[i].buffer_count = s->buffers;
    }
}

static int fill_file(int fd, const struct slr_pool *plan, uint64_t topic_generation, uint64_t runs) {
    static const struct slr_pool_header blank;
    struct slr_pool_stream table[SLR_POOL_STREAMS];
    struct slr_pool_header header = blank;
    header.magic = SLR_POOL_MAGIC;
    header.version = SLR_LAYOUT_VERSION;
    header.page_size = SLR_PAGE;
    header.layout_hash = slipring_layout_hash_of("frames");
    header.generation = slr_random();
    header.topic_generation = topic_generation;
    header.file_size = plan->file_size;
    header.created_ns = slr_clock_realtime_ns();
    header.stream_count = plan->stream_count;
    header.buffer_count = plan->buffer_count;
    slr_store_relaxed(&header.runs, runs);
    describe_streams(plan, table);
    if (!slr_file_write(fd, table, sizeof table, STREAMS_OFFSET))
        return slr_error_errno("cannot write the new pool's streams");
    return slr_file_write_header(fd, &header, sizeof header);
}

int slr_pool_create(const char *bus, const char *topic, const struct slr_pool *plan, uint64_t topic_generation,
                    uint64_t runs, uint32_t mode) {
    int directory, fd = -1;
    int code = slr_bus_lock(bus, topic, "frames", &directory);
    if (code) return code;
    code = slr_file_make(directory, plan->file_size, mode, "buffers", &fd);
    if (!code && !SLR_DEFECT(pool_placed_before_filled)) code = fill_file(fd, plan, topic_generation, runs);
    SLR_CRASH_POINT("pool.made");
    if (!code) code = slr_file_link(fd, directory, topic, "frames-new");
    SLR_CRASH_POINT("pool.not_in_place");
    if (!code && (code = slr_file_rename(directory, topic, "frames-new", "frames")))
        slr_file_unlink_quietly(directory, topic, "frames-new");
    if (!code && SLR_DEFECT(pool_placed_before_filled)) code = fill_file(fd, plan, topic_generation, runs);
    SLR_CRASH_POINT("pool.in_place");
    if (fd >= 0) close(fd);
    slr_bus_unlock(directory);
    return code;
}

int slr_pool_clean(const char *bus, const char *topic) {
    int directory, code = slr_bus_open(bus, topic, "frames", &directory);
    if (code) return code;
    code = slr_file_unlink(directory, topic, "frames-new");
    close(directory);
    return code == SLIPRING_NOT_FOUND ? SLIPRING_OK : code;
}

/* Opening ---------------------------------------------------------------------------------------------------- */

static bool read_stream(const struct slr_pool_stream *from, slipring_stream *to) {
    *to = (slipring_stream){.dimensions = from->dimensions, .item_size = from->item_size, .buffers = from->buffer_count};
    if (from->name[sizeof from->name - 1] || from->dtype[sizeof from->dtype - 1]) return false;
    memcpy(to->name, from->name, sizeof to->name);
    memcpy(to->dtype, from->dtype, sizeof to->dtype);
    memcpy(to->shape, from->shape, sizeof to->shape);
    return true;
}

static bool plan_from_file(const struct slr_pool_header *h, const struct slr_pool_stream *table, struct slr_pool *pool) {
    slipring_stream streams[SLR_POOL_STREAMS];
    uint32_t count = h->stream_count;
    if (count > SLR_POOL_STREAMS) return false;
    for (uint32_t i = 0; i < count; i++)
        if (!read_stream(&table[i], &streams[i])) return false;
    if (slr_pool_plan(pool, streams, count) || pool->buffer_count != h->buffer_count) return false;
    for (uint32_t i = 0; i < count; i++) {
        pool->first_id[i] = table[i].first_id;
        if (table[i].first_buffer != pool->first_buffer[i] || table[i].frame_bytes != pool->frame_bytes[i]) return false;
    }
    return true;
}

static int check_file(int fd, const char *topic, struct slr_pool *pool) {
    struct slr_pool_header header;
    struct slr_pool_stream table[SLR_POOL_STREAMS];
    uint64_t file_size = 0;
    int code = slr_file_read_header(fd, topic, "frames", &header, sizeof header, &file_size);
    if (!code)
        code = slr_file_check_signature(topic, "frames", header.magic == SLR_POOL_MAGIC, header.version,
                                        header.layout_hash == slipring_layout_hash_of("frames"));
    if (code) return code;
    if (file_size < BUFFERS_OFFSET) return slr_file_corrupt(topic, "frames", "it was truncated");
    if (!slr_file_read(fd, table, sizeof table, STREAMS_OFFSET)) return slr_error_errno("cannot read '%s.frames'", topic);
    if (header.page_size != SLR_PAGE || header.generation == 0 || !plan_from_file(&header, table, pool) ||
        header.file_size != pool->file_size)
        return slr_file_corrupt(topic, "frames", "its header is not consistent");
    if (file_size != pool->file_size && !SLR_DEFECT(pool_of_any_length))
        return slr_file_corrupt(topic, "frames", "it was truncated or extended");
    pool->generation = header.generation;
    pool->topic_generation = header.topic_generation;
    return SLIPRING_OK;
}

static int map_file(int fd, enum slr_access access, struct slr_pool *pool) {
    int protection = access == SLR_PUBLISH ? PROT_READ | PROT_WRITE : PROT_READ;
    bool populate = access != SLR_INSPECT && pool->file_size <= POPULATE_UP_TO;
    int flags = MAP_SHARED | (populate ? MAP_POPULATE : 0);
    uint8_t *base = mmap(NULL, pool->file_size, protection, flags, fd, 0);
    if (base == MAP_FAILED) return slr_error_errno("cannot map the frame buffers");
    pool->base = base;
    pool->span = pool->file_size;
    pool->header = (struct slr_pool_header *)base;
    pool->buffer = (struct slr_pool_buffer *)(base + WORDS_OFFSET);
    return SLIPRING_OK;
}

static int open_file(const char *bus, const char *topic, int flags, int *fd) {
    int directory, code = slr_bus_open(bus, topic, "frames", &directory);
    if (code) return code;
    *fd = slr_file_open(directory, topic, "frames", flags);
    if (*fd < 0) code = slr_file_open_error(topic, "frames");
    close(directory);
    return code;
}

int slr_pool_open(const char *bus, const char *topic, enum slr_access access, struct slr_pool **out) {
    struct slr_pool *pool = calloc(1, sizeof *pool);
    if (!pool) return slr_error_errno("cannot open the frame buffers of '%s'", topic);
    int fd = -1;
    int code = open_file(bus, topic, access == SLR_PUBLISH ? O_RDWR : O_RDONLY, &fd);
    if (!code) code = check_file(fd, topic, pool);
    if (!code) code = map_file(fd, access, pool);
    if (fd >= 0) close(fd);
    if (code)
        free(pool);
    else
        *out = pool;
    return code;
}

void slr_pool_close(struct slr_pool *pool) {
    munmap(pool->base, pool->span);
    free(pool);
}
