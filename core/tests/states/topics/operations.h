/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPIC_OPERATIONS_H
#define TOPIC_OPERATIONS_H

#include "survivors.h"

extern const struct operation publishing[], reading_ops[], after_deaths[], topic_recoverers[];
extern const size_t publishing_count, reading_op_count, after_death_count, topic_recoverer_count;

#define MOST_AT_ONCE 3
void send_batch(slipring_publisher *by, bool equal, size_t count);

#endif
