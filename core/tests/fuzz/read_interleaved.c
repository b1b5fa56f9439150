/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target: words change between any two accesses of one call, at places chosen by the input. The core
 * must not read a word again after it has checked it.
 *
 * Input: variant and handle, then pairs: the number of accesses before a change, and the change. With bit 6
 * of the first byte, a changed word alternates between its two values from then on. The order of the calls is
 * fixed.
 */
#include "topic_image.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
    struct input in;
    const struct image *image;
    uint64_t *words[MOST_FILES];
    uint64_t left; /* accesses until the next change */
    bool on, flutters;
    uint64_t *word, other, accesses; /* the word that goes to and fro */
} hostile;

void fuzz_before_access(void) {
    if (!hostile.on) return;
    hostile.accesses++;
    bool swaps = hostile.accesses * 2654435761u >> 13 & 1; /* no period that an algorithm could share */
    if (hostile.flutters && hostile.word && swaps) hostile.other = __atomic_exchange_n(hostile.word, hostile.other, __ATOMIC_RELAXED);
    if (hostile.left-- > 0) return;
    hostile.word = change_mapped(&hostile.in, hostile.image, hostile.words, &hostile.other);
    hostile.left = more(&hostile.in) ? take(&hostile.in, 1) : UINT64_MAX;
    hostile.on = more(&hostile.in) || hostile.flutters;
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    make_topic_images();
    return 0;
}

static void use(slipring_subscriber *sub, slipring_publisher *pub, unsigned round) {
    if (sub) use_subscriber(sub, round, round);
    if (pub) use_publisher(pub, round / 2);
    if (round % 8 == 7) use_range(round);
    if (round % 8 == 3) look_around();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input in = {data, size};
    unsigned kind = (unsigned)take(&in, 1);
    hostile.image = &topic_images[kind % VARIANTS];
    image_restore(hostile.image);
    image_map(hostile.image, hostile.words);
    hostile.left = take(&in, 1);
    hostile.in = in;
    hostile.word = NULL;
    hostile.accesses = 0;
    hostile.flutters = kind & 0x40;
    hostile.on = true;
    slipring_publisher *pub = kind & 0x80 ? try_publisher("one") : NULL;
    slipring_subscriber *sub = try_subscriber(kind / VARIANTS);
    for (unsigned round = 0; round < 24 && hostile.on; round++) use(sub, pub, round);
    hostile.on = false;
    if (sub) slipring_subscriber_close(sub);
    if (pub) slipring_publisher_close(pub);
    image_unmap(hostile.image, hostile.words);
    nothing_left();
    return 0;
}
