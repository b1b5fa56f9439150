/* SPDX-License-Identifier: Apache-2.0
 *
 * Every mapping the core makes lies between two stretches of forbidden addresses, so that an access beyond it is a
 * fault and never the memory of something else: the sanitizers know nothing of mapped files. Mappings are counted:
 * the targets look whether all were given back.
 */
#include <stdint.h>
#include <sys/mman.h>

#include "image.h"

#define GUARD (UINT64_C(64) << 20)

void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *address, size_t size);
int __wrap_munmap(void *address, size_t size);

long mappings_alive;

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset) {
    if (address) return __real_mmap(address, size, protection, flags, fd, offset);
    if (size > UINT64_C(1) << 45) return MAP_FAILED; /* with its guards it could not be */
    uint8_t *all = __real_mmap(NULL, size + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) return all;
    void *placed = __real_mmap(all + GUARD, size, protection, flags | MAP_FIXED, fd, offset);
    if (placed == MAP_FAILED)
        __real_munmap(all, size + 2 * GUARD);
    else
        mappings_alive++;
    return placed;
}

int __wrap_munmap(void *address, size_t size) {
    mappings_alive--;
    return __real_munmap((uint8_t *)address - GUARD, (size + 4095) / 4096 * 4096 + 2 * GUARD);
}
