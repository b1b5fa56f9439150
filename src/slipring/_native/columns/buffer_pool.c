/* SPDX-License-Identifier: Apache-2.0
 *
 * The size of a block is a power of two; its header is one cache line. A few free blocks of each size are kept. Other blocks
 * and very large ones are freed.
 */
#include "columns/buffer_pool.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HEADER 64u
#define SMALLEST 12u /* 4 KiB */
#define CLASSES 14u  /* up to 32 MiB */
#define KEPT 6       /* of each class: the buffers of a batch or two */

struct header {
    unsigned class;
    struct header *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct header *kept[CLASSES];
static int count[CLASSES];

static unsigned class_of(size_t size) {
    unsigned class = 0;
    while (((size_t)1 << (class + SMALLEST)) < size + HEADER) class++;
    return class;
}

static void before_fork(void) { pthread_mutex_lock(&mutex); }
static void after_fork(void) { pthread_mutex_unlock(&mutex); }

bool pool_ready(void) { return pthread_atfork(before_fork, after_fork, after_fork) == 0; }

void *pool_take(size_t size) {
    unsigned class = class_of(size);
    struct header *block = NULL;
    if (class < CLASSES) {
        pthread_mutex_lock(&mutex);
        block = kept[class];
        if (block) {
            kept[class] = block->next;
            count[class]--;
        }
        pthread_mutex_unlock(&mutex);
    }
    if (!block && posix_memalign((void **)&block, HEADER, (size_t)1 << (class + SMALLEST))) return NULL;
    block->class = class;
    return (char *)block + HEADER;
}

void *pool_grow(void *block, size_t used, size_t size) {
    void *larger = pool_take(size);
    if (!larger) return NULL;
    if (block) memcpy(larger, block, used);
    pool_give(block);
    return larger;
}

void pool_give(void *data) {
    if (!data) return;
    struct header *block = (struct header *)((char *)data - HEADER);
    unsigned class = block->class;
    if (class < CLASSES) {
        pthread_mutex_lock(&mutex);
        if (count[class] < KEPT) {
            block->next = kept[class];
            kept[class] = block;
            count[class]++;
            block = NULL;
        }
        pthread_mutex_unlock(&mutex);
    }
    free(block);
}
