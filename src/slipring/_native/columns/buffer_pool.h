/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory for Arrow buffers, kept for the next batch when it is given back. New memory costs a page fault every few rows,
 * which is more than filling it.
 */
#ifndef SLIPRING_POOL_H
#define SLIPRING_POOL_H

#include <stdbool.h>
#include <stddef.h>

bool pool_ready(void);                                    /* once; false: no memory */
void *pool_take(size_t size);                             /* 64-byte aligned; NULL: no memory */
void *pool_grow(void *block, size_t used, size_t size);   /* moves; NULL: no memory, and block stays */
void pool_give(void *block);                              /* from any thread; NULL is fine */

#endif
