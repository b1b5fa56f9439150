/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target: a topic of arbitrary contents. It is inspected, opened by all kinds of handles, used through
 * all their calls, and then removed.
 *
 * Input: variant, number, then up to 12 changes.
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input in = {data, size};
    const struct image *image = &topic_images[take(&in, 1) % VARIANTS];
    uint64_t number = take(&in, 1);
    image_restore(image);
    for (int i = 0; i < 12 && more(&in); i++) change(&in, image, true);
    look_around();
    use_range(number);
    slipring_subscriber *subs[5] = {0};
    for (unsigned i = 0; i < 5; i++) subs[i] = try_subscriber(i);
    slipring_publisher *pub = try_publisher("one"), *second = try_publisher("two");
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 5; i++)
            for (unsigned verb = 0; subs[i] && verb < SUBSCRIBER_VERBS; verb++) use_subscriber(subs[i], verb, number + verb);
        for (unsigned verb = 0; verb < PUBLISHER_VERBS; verb++) {
            if (pub) use_publisher(pub, verb);
            if (second) use_publisher(second, verb);
        }
    }
    use_range(number + 1);
    look_around();
    for (unsigned i = 0; i < 5; i++)
        if (subs[i]) slipring_subscriber_close(subs[i]);
    if (pub) slipring_publisher_close(pub);
    if (second) slipring_publisher_close(second);
    bool half;
    answered(slipring_cursor_drop(bus, TOPIC, "c"));
    answered(slipring_topic_repair(bus, TOPIC, false, &half));
    CHECK(answered(slipring_topic_remove(bus, TOPIC)) == SLIPRING_OK); /* whatever it is, it can be removed */
    nothing_left();
    return 0;
}
