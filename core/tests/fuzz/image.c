/* SPDX-License-Identifier: Apache-2.0 */
#include "image.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

char bus[128];
static int descriptors_before;

void fuzz_fail(const char *file, int line, const char *what) {
    fprintf(stderr, "%s:%d: not so: %s; last error: %s\n", file, line, what, slipring_last_error()->message);
    abort();
}

uint64_t take(struct input *in, size_t bytes) {
    uint64_t value = 0;
    size_t got = bytes < in->left ? bytes : in->left;
    memcpy(&value, in->data, got);
    in->data += got;
    in->left -= got;
    return value;
}

void fuzz_start(void) {
    const char *place = getenv("SLIPRING_FUZZ_BUS");
    CHECK(place && strlen(place) < sizeof bus);
    snprintf(bus, sizeof bus, "%s", place);
    /* What an earlier process of the same run left. */
    static const char *const files[] = {"t.ring", "t.readers", "c.cells", "f.ring", "f.readers", "f.frames"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s", bus, files[i]);
        unlink(path);
    }
}

static int open_file(const struct image_file *file, int flags) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", bus, file->name);
    return open(path, flags, 0600);
}

void image_take(struct image *image, int count, const char *const names[], const size_t steering[]) {
    image->count = count;
    for (int i = 0; i < count; i++) {
        struct image_file *file = &image->file[i];
        struct stat status;
        file->name = names[i];
        file->steering = steering[i];
        int fd = open_file(file, O_RDONLY);
        CHECK(fd >= 0 && fstat(fd, &status) == 0);
        file->size = (size_t)status.st_size;
        file->bytes = malloc(file->size);
        CHECK(file->bytes && pread(fd, file->bytes, file->size, 0) == (ssize_t)file->size);
        if (file->steering == 0 || file->steering > file->size) file->steering = file->size;
        close(fd);
    }
}

static int count_descriptors(void) {
    int count = 0;
    for (int fd = 0; fd < 64; fd++) count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

void image_restore(const struct image *image) {
    for (int i = 0; i < image->count; i++) {
        const struct image_file *file = &image->file[i];
        int fd = open_file(file, O_RDWR | O_CREAT);
        CHECK(fd >= 0 && ftruncate(fd, (off_t)file->size) == 0);
        CHECK(pwrite(fd, file->bytes, file->size, 0) == (ssize_t)file->size);
        close(fd);
    }
    descriptors_before = count_descriptors();
    mappings_alive = 0;
}

void image_delete(const struct image *image) {
    for (int i = 0; i < image->count; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s", bus, image->file[i].name);
        unlink(path);
    }
}

/* Half of the numbers choose among the first 64 words of a file: the header, which steers most. */
static size_t which_word(struct input *in, const struct image_file *file) {
    uint64_t number = take(in, 2);
    size_t words = number & 0x4000 ? file->size / 8 : file->steering / 8;
    return (size_t)(number & 0x8000 ? number & 63 : number & 0x3fff) % words;
}

static uint64_t changed(struct input *in, uint64_t kind, uint64_t word, const struct image_file *file) {
    static const uint64_t extremes[] = {0, 1, 2, 7, 0xff, 0xffff, 0x10000, UINT32_MAX, UINT64_C(1) << 32, UINT64_C(1) << 40,
                                        INT64_MAX, UINT64_C(1) << 63, UINT64_MAX - 1, UINT64_MAX};
    switch (kind % 7) {
        case 0: return extremes[take(in, 1) % (sizeof extremes / sizeof extremes[0])];
        case 1: return word + (uint64_t)(int64_t)(int8_t)take(in, 1);
        case 2: return word ^ UINT64_C(1) << take(in, 1) % 64;
        case 3: return take(in, 8);
        case 4: return (word & ~(uint64_t)UINT32_MAX) | take(in, 4);
        case 5: return (word & UINT32_MAX) | take(in, 4) << 32;
        default: { /* what stands elsewhere in the file as it was */
            uint64_t other;
            memcpy(&other, file->bytes + which_word(in, file) * 8, 8);
            return other;
        }
    }
}

void change(struct input *in, const struct image *image, bool resize) {
    const struct image_file *file = &image->file[take(in, 1) % (unsigned)image->count];
    uint64_t kind = take(in, 1), word = 0;
    int fd = open_file(file, O_RDWR);
    if (fd < 0) return; /* removed by the target */
    if (resize && kind >= 0xf0) {
        CHECK(ftruncate(fd, (off_t)(take(in, 2) * 64)) == 0);
    } else {
        off_t offset = (off_t)(which_word(in, file) * 8);
        if (pread(fd, &word, 8, offset) == 8) {
            word = changed(in, kind, word, file);
            CHECK(pwrite(fd, &word, 8, offset) == 8);
        }
    }
    close(fd);
}

void image_map(const struct image *image, uint64_t *words[MOST_FILES]) {
    for (int i = 0; i < image->count; i++) {
        int fd = open_file(&image->file[i], O_RDWR);
        CHECK(fd >= 0);
        words[i] = mmap(NULL, image->file[i].size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        CHECK(words[i] != MAP_FAILED);
        close(fd);
    }
}

void image_unmap(const struct image *image, uint64_t *words[MOST_FILES]) {
    for (int i = 0; i < image->count; i++) munmap(words[i], image->file[i].size);
}

uint64_t *change_mapped(struct input *in, const struct image *image, uint64_t *const words[MOST_FILES], uint64_t *before) {
    unsigned which = (unsigned)take(in, 1) % (unsigned)image->count;
    uint64_t kind = take(in, 1);
    uint64_t *word = words[which] + which_word(in, &image->file[which]);
    *before = __atomic_load_n(word, __ATOMIC_RELAXED);
    __atomic_store_n(word, changed(in, kind, *before, &image->file[which]), __ATOMIC_RELAXED);
    return word;
}

int answered(int code) {
    CHECK(code <= SLIPRING_OK && code >= SLIPRING_LAPPED);
    if (code == SLIPRING_CORRUPT || code == SLIPRING_WRONG_LAYOUT)
        CHECK(slipring_last_error()->code == code && slipring_last_error()->message[0]);
    return code;
}

void nothing_left(void) {
    CHECK(count_descriptors() == descriptors_before);
    CHECK(mappings_alive == 0);
}
