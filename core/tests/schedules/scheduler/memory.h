/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared memory as C11 lets threads see it, which is less than what the processor at hand would show.
 *
 * Every location keeps all its stores, in the order in which they were made. Every thread has a view: for each location
 * the oldest store that it may still read. A load reads any store that is not older than that (which one is a decision
 * of the schedule) and moves the view there. A store carries the view of its thread if it is a release, else the view
 * of the thread's last release fence; an acquiring load takes that view over, a relaxed one keeps it for the next
 * acquire fence. A sequentially consistent fence exchanges views with a common one; a sequentially consistent store
 * enters itself there, and such a load reads nothing older than what stands there. A read-modify-write reads the newest
 * store and hands on its view.
 *
 * So loads can be early or stale and stores late, as with store buffers (TSO) and weaker processors. Not in it: a store
 * that others see before a load that precedes it in its thread was made (load buffering), and stores of one location
 * entering its order elsewhere than at the end.
 */
#ifndef SCHEDULES_MEMORY_H
#define SCHEDULES_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

enum order { RELAXED, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST };
enum change { CHANGE_ADD, CHANGE_OR };

uint64_t memory_load(const volatile void *p, unsigned size, enum order order);
void memory_store(volatile void *p, unsigned size, uint64_t value, enum order order);
bool memory_swap_if(volatile void *p, unsigned size, uint64_t expected, uint64_t desired, enum order order,
                    enum order failure);
uint64_t memory_change(volatile void *p, unsigned size, enum change how, uint64_t by, enum order order);
void memory_fence(enum order order);

/* For the kernel's part: the newest value; views handed over by what a lock protects (locks numbered from 0). */
uint64_t memory_newest(const volatile void *p, unsigned size);
void memory_lock_released(int lock);
void memory_lock_seen(int lock);

void memory_init(void);
void memory_alias(const void *place, const void *original, uint64_t size); /* the same memory, mapped twice */
void memory_begin(int threads); /* a run: nobody has seen anything, memory is as it is */
void memory_end(void);          /* undoes all stores of the run */
uint64_t memory_common_hash(void);

#define MEMORY_STALEST 3 /* how many stores before the newest a load may go back, at most */

#endif
