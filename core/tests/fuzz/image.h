/* SPDX-License-Identifier: Apache-2.0
 *
 * What the fuzz targets share. An input is not an image, it is a list of changes to a valid one: so it gets past magic,
 * hash and sizes, and a few bytes make a case. Each target makes its valid images once, by the core itself, and puts
 * them back before every input.
 *
 *     [which file][kind][word: 2 bytes][what the kind needs]        one change
 */
#ifndef FUZZ_IMAGE_H
#define FUZZ_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "slipring.h"

#define CHECK(condition) \
    do { \
        if (!(condition)) fuzz_fail(__FILE__, __LINE__, #condition); \
    } while (0)
_Noreturn void fuzz_fail(const char *file, int line, const char *what);

/* The input, from front to back; zeros when it is used up. */
struct input {
    const uint8_t *data;
    size_t left;
};
uint64_t take(struct input *in, size_t bytes);
static inline bool more(const struct input *in) { return in->left > 0; }

#define MOST_FILES 3
struct image {
    struct image_file {
        const char *name; /* in the bus directory */
        uint8_t *bytes;
        size_t size, steering; /* words that steer lie below this */
    } file[MOST_FILES];
    int count;
};

extern char bus[128]; /* $SLIPRING_FUZZ_BUS */
void fuzz_start(void);
/* The files as they are now. Then every restore makes them so again, in new files. */
void image_take(struct image *image, int count, const char *const names[], const size_t steering[]);
void image_restore(const struct image *image);
void image_delete(const struct image *image);

/* One change of the restored files; resize: their sizes too. */
void change(struct input *in, const struct image *image, bool resize);
/* The same in mapped memory; image_map after restoring, NULL-safe. */
void image_map(const struct image *image, uint64_t *words[MOST_FILES]);
void image_unmap(const struct image *image, uint64_t *words[MOST_FILES]);
/* Returns the word, and what it was. */
uint64_t *change_mapped(struct input *in, const struct image *image, uint64_t *const words[MOST_FILES], uint64_t *before);

/* An answer must be one of the codes, and an error must say something. */
int answered(int code);
/* Between inputs nothing may be left: descriptors, mappings. */
void nothing_left(void);
extern long mappings_alive;

#endif
