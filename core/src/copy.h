/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies between private memory and payload that another process may be overwriting at the same time.
 * A plain memcpy would be a data race; glibc's also falls to a tenth of its speed for some alignments.
 * Shared addresses are 8-byte aligned: every body and every type+sender block starts on one.
 */
#ifndef SLR_COPY_H
#define SLR_COPY_H

#include <stddef.h>

void slr_copy_out(void *to, const void *shared, size_t size);
/* Writes whole words: up to 7 zero bytes after size, inside the space reserved for the message. */
void slr_copy_in(void *shared, const void *from, size_t size);

#endif
