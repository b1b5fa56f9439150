/* SPDX-License-Identifier: Apache-2.0
 *
 * Valid images of a topic, lossy and reliable, with many writers and one: a ring gone round, a cursor, a filtered type,
 * a dead writer's claim with messages behind it, the entry of a dead reader. And the ways to use such a topic.
 */
#ifndef FUZZ_TOPIC_IMAGE_H
#define FUZZ_TOPIC_IMAGE_H

#include "image.h"

#define TOPIC "t"
#define CAPACITY 4096
#define SLOTS 16
#define VARIANTS 4

extern struct image topic_images[VARIANTS];
void make_topic_images(void);

bool look_at_message(void *context, const slipring_message *message); /* reads every byte of it */
slipring_publisher *try_publisher(const char *sender);  /* NULL: refused */
slipring_subscriber *try_subscriber(unsigned kind);     /* of 5: oldest, conflating, by cursor, lossy with a filter, reliable */
void use_publisher(slipring_publisher *pub, unsigned verb);
void use_subscriber(slipring_subscriber *sub, unsigned verb, uint64_t number);
void use_range(uint64_t number);
void look_around(void);
#define PUBLISHER_VERBS 6
#define SUBSCRIBER_VERBS 9

#endif
