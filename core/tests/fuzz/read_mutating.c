/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target: a thread makes the input's changes over and over while this one reads, looks and writes. Where the two
 * meet is left to chance: read_interleaved does it by the input.
 *
 * Input: variant and handle, then changes.
 */
#include <pthread.h>

#include "topic_image.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
    pthread_t thread;
    struct input in;
    const struct image *image;
    uint64_t *words[MOST_FILES];
    int stop;
} hostile;

void fuzz_before_access(void) {}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    make_topic_images();
    return 0;
}

static void *mutate(void *ignored) {
    while (!__atomic_load_n(&hostile.stop, __ATOMIC_RELAXED)) {
        struct input in = hostile.in;
        uint64_t before;
        do change_mapped(&in, hostile.image, hostile.words, &before);
        while (more(&in));
    }
    return ignored;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input in = {data, size};
    unsigned kind = (unsigned)take(&in, 1);
    hostile.image = &topic_images[kind % VARIANTS];
    image_restore(hostile.image);
    image_map(hostile.image, hostile.words);
    hostile.in = in;
    hostile.stop = 0;
    CHECK(pthread_create(&hostile.thread, NULL, mutate, NULL) == 0);
    slipring_publisher *pub = kind & 0x80 ? try_publisher("one") : NULL;
    slipring_subscriber *sub = try_subscriber(kind / VARIANTS);
    for (unsigned round = 0; round < 27; round++) {
        if (sub) use_subscriber(sub, round, round);
        if (pub) use_publisher(pub, round);
        if (round % 9 == 0) use_range(round), look_around();
    }
    if (sub) slipring_subscriber_close(sub);
    if (pub) slipring_publisher_close(pub);
    __atomic_store_n(&hostile.stop, 1, __ATOMIC_RELAXED);
    pthread_join(hostile.thread, NULL);
    image_unmap(hostile.image, hostile.words);
    nothing_left();
    return 0;
}
