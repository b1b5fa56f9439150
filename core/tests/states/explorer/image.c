/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "states.h"

#define MOST_FILES 3
#define MOST_STATES 2048


static struct {
    uint8_t *base;
    size_t size;
} file[MOST_FILES];
static size_t file_count, all_bytes;

void images_open(const char *const *suffixes) {
    for (file_count = all_bytes = 0; suffixes[file_count]; file_count++) {
        char path[128];
        struct stat status;
        snprintf(path, sizeof path, "%s/t.%s", bus, suffixes[file_count]);
        int fd = open(path, O_RDWR);
        CHECK(fd >= 0 && fstat(fd, &status) == 0);
        file[file_count].size = (size_t)status.st_size;
        file[file_count].base = mmap(NULL, file[file_count].size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        CHECK(file[file_count].base != MAP_FAILED);
        all_bytes += file[file_count].size;
        close(fd);
    }
    CHECK(all_bytes <= MOST_BYTES);
}

void images_close(void) {
    for (size_t i = 0; i < file_count; i++) munmap(file[i].base, file[i].size);
}

/* Four at a time: this is done at every step. */
static uint64_t hash(uint64_t key, const void *bytes, size_t size) {
    const uint64_t *words = bytes, prime = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t a = key, b = key + 1, c = key + 2, d = key + 3;
    for (size_t i = 0; i + 4 <= size / 8; i += 4) {
        a = (a ^ words[i]) * prime, a ^= a >> 29;
        b = (b ^ words[i + 1]) * prime, b ^= b >> 29;
        c = (c ^ words[i + 2]) * prime, c ^= c >> 29;
        d = (d ^ words[i + 3]) * prime, d ^= d >> 29;
    }
    return (((a * prime ^ b) * prime ^ c) * prime ^ d) * prime;
}

_Static_assert(sizeof(struct journal) % 32 == 0, "hashed whole");

static uint64_t key_now(void) {
    uint64_t key = 1;
    for (size_t i = 0; i < file_count; i++) key = hash(key, file[i].base, file[i].size);
    return hash(key, journal, sizeof *journal);
}

static void read_as(struct state *state, uint64_t key) {
    uint8_t *to = state->bytes;
    for (size_t i = 0; i < file_count; to += file[i++].size) memcpy(to, file[i].base, file[i].size);
    state->journal = *journal;
    state->key = key;
}

void state_read(struct state *state) { read_as(state, key_now()); }

void state_restore(const struct state *state) {
    const uint8_t *from = state->bytes;
    for (size_t i = 0; i < file_count; from += file[i++].size) memcpy(file[i].base, from, file[i].size);
    *journal = state->journal;
}

struct snapshots {
    size_t count;
    struct state states[MOST_STATES];
    uint8_t bytes[MOST_STATES][MOST_BYTES];
};

struct snapshots *snapshots_new(void) {
    struct snapshots *snapshots = shared_memory(sizeof *snapshots); /* takes memory as it fills */
    for (size_t i = 0; i < MOST_STATES; i++) snapshots->states[i].bytes = snapshots->bytes[i];
    return snapshots;
}

void snapshots_clear(struct snapshots *snapshots) { snapshots->count = 0; }

void snapshots_keep(struct snapshots *snapshots) {
    size_t n = snapshots->count;
    uint64_t key = key_now();
    if (n && snapshots->states[n - 1].key == key) return;
    CHECK(n < MOST_STATES);
    read_as(&snapshots->states[n], key);
    snapshots->states[n].step = stepping.count;
    snapshots->count++;
}

size_t snapshots_count(const struct snapshots *snapshots) { return snapshots->count; }
struct state snapshots_state(const struct snapshots *snapshots, size_t index) { return snapshots->states[index]; }
