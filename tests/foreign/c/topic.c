// SPDX-License-Identifier: Apache-2.0
// Opening a topic: sections 4 (locks), 3.6 (geometry) and 6 (opening) of docs/spec/memory-layout.md.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "shared.h"

enum { OPEN_FLAGS = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, OPEN_ATTEMPTS = 3 };

struct file {
    int map, lock; // the same file, opened twice: a lock must not live on in a mapping
    uint8_t header[HEADER_PAGE];
    uint64_t size;
};

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int64_t wall_clock_ns(void) { return clock_ns(CLOCK_REALTIME); }

int64_t monotonic_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

static bool ofd_lock(int descriptor, int command, uint64_t byte, struct flock *asked)
{
    *asked = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)byte, .l_len = 1};
    return fcntl(descriptor, command, asked) == 0;
}

bool lock_byte(int descriptor, uint64_t byte)
{
    struct flock lock;
    return ofd_lock(descriptor, F_OFD_SETLK, byte, &lock);
}

bool is_locked(int descriptor, uint64_t byte)
{
    struct flock found;
    return !ofd_lock(descriptor, F_OFD_GETLK, byte, &found) || found.l_type != F_UNLCK;
}

static uint64_t field(const uint8_t *header, unsigned offset)
{
    uint64_t value;
    memcpy(&value, header + offset, sizeof value);
    return value;
}

static uint32_t field32(const uint8_t *header, unsigned offset)
{
    uint32_t value;
    memcpy(&value, header + offset, sizeof value);
    return value;
}

static void open_file(struct file *f, const char *path, int access)
{
    f->map = open(path, OPEN_FLAGS | access);
    f->lock = open(path, OPEN_FLAGS | access);
    if (f->map < 0 || f->lock < 0)
        fail(errno == ENOENT ? EXIT_ABSENT : EXIT_BUSY, "%s: %s", path, strerror(errno));
}

// NULL, or what is wrong with the file.
static const char *read_header(struct file *f, uint64_t magic)
{
    struct stat mapped, locked;
    if (fstat(f->map, &mapped) != 0 || fstat(f->lock, &locked) != 0)
        return "no facts about the file";
    if (mapped.st_dev != locked.st_dev || mapped.st_ino != locked.st_ino)
        return "created again while it was opened";
    if (!S_ISREG(mapped.st_mode) || mapped.st_size < (off_t)HEADER_PAGE)
        return "no regular file, or shorter than a page";
    if (pread(f->map, f->header, HEADER_PAGE, 0) != (ssize_t)HEADER_PAGE)
        return "unreadable";
    f->size = (uint64_t)mapped.st_size;
    if (field(f->header, H_MAGIC) != magic)
        return "another magic";
    if (field32(f->header, H_VERSION) != LAYOUT_VERSION || field(f->header, H_LAYOUT_HASH) != LAYOUT_HASH)
        return "another layout";
    return field32(f->header, H_PAGE_SIZE) == HEADER_PAGE ? NULL : "another page size";
}

static bool boot_id_matches(const uint8_t *found)
{
    char text[64] = "";
    uint8_t mine[16] = {0};
    FILE *source = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!source)
        return errno == ENOENT && memcmp(mine, found, sizeof mine) == 0;
    bool read = fgets(text, sizeof text, source) != NULL;
    fclose(source);
    unsigned digits = 0;
    for (const char *c = text; *c && digits < 32; c++) {
        unsigned digit = *c >= '0' && *c <= '9' ? *c - '0' : *c >= 'a' && *c <= 'f' ? *c - 'a' + 10 : 16;
        if (digit < 16) {
            mine[digits / 2] = (uint8_t)(mine[digits / 2] << 4 | digit);
            digits++;
        }
    }
    return read && memcmp(mine, found, sizeof mine) == 0;
}

static bool power_of_two_between(uint64_t x, uint64_t least, uint64_t most)
{
    return x >= least && x <= most && (x & (x - 1)) == 0;
}

// Section 6, open, step 3: everything follows from five counts and must agree.
static bool geometry_agrees(struct topic *t, const struct file *ring, const struct file *readers)
{
    const uint8_t *r = ring->header, *d = readers->header;
    t->slot_count = field(r, RH_SLOT_COUNT);
    t->capacity = field(r, RH_CAPACITY);
    t->writer_count = field32(r, RH_WRITER_COUNT);
    t->reader_count = field32(r, RH_READER_COUNT);
    t->cursor_count = field32(r, RH_CURSOR_COUNT);
    if (!power_of_two_between(t->slot_count, MIN_SLOTS, MAX_SLOTS)
        || !power_of_two_between(t->capacity, MIN_CAPACITY, MAX_CAPACITY)
        || t->writer_count - 1 >= MAX_WRITERS || t->reader_count - 1 >= MAX_READERS || t->cursor_count - 1 >= MAX_CURSORS)
        return false;
    t->writers_at = HEADER_PAGE;
    t->slots_at = round_up(t->writers_at + t->writer_count * (uint64_t)WRITER_SIZE, HEADER_PAGE);
    t->passed_at = t->slots_at + t->slot_count * SLOT_SIZE;
    t->abandoned_at = t->passed_at + t->slot_count * WORD_SIZE;
    t->payload_at = round_up(t->abandoned_at + t->slot_count * WORD_SIZE, HEADER_PAGE);
    t->readers_at = HEADER_PAGE;
    t->cursors_at = t->readers_at + t->reader_count * (uint64_t)READER_SIZE;
    t->schema_at = t->payload_at + t->capacity;
    t->schema_size = field32(r, RH_SCHEMA_SIZE);
    t->schema_hash = field(r, RH_SCHEMA_HASH);
    uint64_t ring_size = t->schema_at + round_up(t->schema_size, HEADER_PAGE);
    uint64_t readers_size = round_up(t->cursors_at + t->cursor_count * (uint64_t)CURSOR_SIZE, HEADER_PAGE);
    t->reliable = field32(r, RH_DELIVERY) == DELIVERY_RELIABLE;
    t->one_writer = field32(r, RH_WRITERS) == WRITERS_ONE;
    return field(r, RH_WRITERS_OFFSET) == t->writers_at && field(r, RH_SLOTS_OFFSET) == t->slots_at
           && field(r, RH_PASSED_OFFSET) == t->passed_at && field(r, RH_ABANDONED_OFFSET) == t->abandoned_at
           && field(r, RH_PAYLOAD_OFFSET) == t->payload_at && field(r, H_FILE_SIZE) == ring_size
           && ring->size == ring_size && field(d, DH_READERS_OFFSET) == t->readers_at
           && field(d, DH_CURSORS_OFFSET) == t->cursors_at && field32(d, DH_READER_COUNT) == t->reader_count
           && field32(d, DH_CURSOR_COUNT) == t->cursor_count && field(d, H_FILE_SIZE) == readers_size
           && readers->size == readers_size && field32(r, RH_DELIVERY) <= 1 && field32(r, RH_WRITERS) <= 1
           && field32(r, RH_CONTENT) <= 1 && t->schema_size <= MAX_SCHEMA
           && (!t->one_writer || t->writer_count == 1) && field(r, H_GENERATION) != 0
           && field(r, H_GENERATION) == field(d, H_GENERATION) && boot_id_matches(r + RH_BOOT_ID);
}

static uint8_t *map_and_close(struct file *f, int protection)
{
    uint8_t *at = mmap(NULL, f->size, protection, MAP_SHARED, f->map, 0);
    if (at == MAP_FAILED)
        fail(EXIT_BUSY, "mmap: %s", strerror(errno));
    close(f->map);
    return at;
}

void topic_open(struct topic *t, const char *directory, const char *name, bool to_publish)
{
    const char *wrong = NULL;
    for (int attempt = 0; attempt < OPEN_ATTEMPTS; attempt++) {
        char path[4096];
        struct file ring, readers;
        snprintf(path, sizeof path, "%s/%s.ring", directory, name);
        open_file(&ring, path, to_publish ? O_RDWR : O_RDONLY);
        snprintf(path, sizeof path, "%s/%s.readers", directory, name);
        open_file(&readers, path, O_RDWR);
        wrong = read_header(&ring, RING_MAGIC);
        if (!wrong)
            wrong = read_header(&readers, READERS_MAGIC);
        if (!wrong && !geometry_agrees(t, &ring, &readers))
            wrong = "a header that contradicts itself, its file or this system";
        if (!wrong && to_publish && field32(ring.header, RH_CONTENT) != CONTENT_MESSAGES)
            fail(EXIT_USAGE, "topic %s is of frames: messages cannot be published there", name);
        if (!wrong) {
            t->ring = map_and_close(&ring, to_publish ? PROT_READ | PROT_WRITE : PROT_READ);
            t->readers = map_and_close(&readers, PROT_READ | PROT_WRITE);
            t->ring_lock = ring.lock;
            t->readers_lock = readers.lock;
            t->own_writer = -1;
            return;
        }
        close(ring.map), close(ring.lock), close(readers.map), close(readers.lock);
    }
    fail(EXIT_CORRUPT, "topic %s: %s", name, wrong);
}

void topic_check_there(const struct topic *t, bool thoroughly)
{
    struct stat ring, readers;
    if (get(t->ring + RH_REMOVED) != 0)
        fail(EXIT_GONE, "the topic was removed");
    if (thoroughly
        && (fstat(t->ring_lock, &ring) != 0 || ring.st_nlink == 0 || fstat(t->readers_lock, &readers) != 0
            || readers.st_nlink == 0))
        fail(EXIT_GONE, "a file of the topic was deleted");
}
