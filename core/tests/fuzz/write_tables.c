/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target: publishers at work while a hostile subscriber, who may write the reader table, or a hostile publisher,
 * who may write everything else, changes words between their calls.
 *
 * Input: variant, then a program: an even byte is a verb of a handle, an odd one a change.
 */
#include "topic_image.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void fuzz_before_access(void) {}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    make_topic_images();
    return 0;
}

static void step(struct input *in, const struct image *image, slipring_publisher *pubs[2], slipring_subscriber *sub) {
    unsigned what = (unsigned)take(in, 1);
    if (what & 1) {
        change(in, image, false);
    } else if ((what & 0xc0) == 0xc0) {
        if (sub) use_subscriber(sub, what >> 1, what);
    } else if (pubs[what >> 1 & 1]) {
        use_publisher(pubs[what >> 1 & 1], what >> 2);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input in = {data, size};
    unsigned variant = (unsigned)take(&in, 1);
    const struct image *image = &topic_images[variant % VARIANTS];
    image_restore(image);
    slipring_publisher *pubs[2] = {try_publisher("one"), NULL};
    CHECK(pubs[0]);
    slipring_subscriber *sub = try_subscriber(variant / VARIANTS);
    for (int i = 0; i < 24 && more(&in); i++) {
        step(&in, image, pubs, sub);
        if (!pubs[1]) pubs[1] = try_publisher("two");
    }
    if (sub) slipring_subscriber_close(sub);
    for (int i = 0; i < 2; i++)
        if (pubs[i]) slipring_publisher_close(pubs[i]);
    nothing_left();
    return 0;
}
