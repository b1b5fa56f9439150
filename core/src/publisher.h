/* SPDX-License-Identifier: Apache-2.0
 *
 * A publisher as those see it who work on one: frame_writer.c, frame_buffers.c.
 */
#ifndef SLR_PUBLISHER_H
#define SLR_PUBLISHER_H

#include "segment.h"

struct slr_segment *slr_publisher_segment(slipring_publisher *pub);
int slr_publisher_usable(slipring_publisher *pub); /* OK, CLOSED, FORKED or TOPIC_GONE */

#endif
