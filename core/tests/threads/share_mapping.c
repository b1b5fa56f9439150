/* SPDX-License-Identifier: Apache-2.0
 *
 * Every handle maps its topic by itself, so threads of one process would touch the same memory at different addresses
 * and a sanitizer could not relate them. Programs linked with this file (and -Wl,--wrap=mmap,--wrap=munmap, also
 * mmap64) map a topic once, writable, and hand the same addresses to every handle. One topic at a time; a publisher
 * opens it first.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>

void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *address, size_t size);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *address, size_t size, int protection, int flags, int fd, off_t offset);
int __wrap_munmap(void *address, size_t size);

#define REGIONS 8
struct region { /* the ring's reserved addresses (no file), or the readers' file */
    uint8_t *base;
    size_t size, mapped[2]; /* mapped: sizes of the file mappings laid over it so far */
    ino_t file;
    int users;
};
static struct region regions[REGIONS];
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static struct region *find(ino_t file, size_t size) {
    for (int i = 0; i < REGIONS; i++)
        if (regions[i].users && regions[i].file == file && regions[i].size == size) return &regions[i];
    return NULL;
}

static struct region *around(const uint8_t *address) {
    for (int i = 0; i < REGIONS; i++)
        if (regions[i].users && address >= regions[i].base && address < regions[i].base + regions[i].size)
            return &regions[i];
    return NULL;
}

static void *whole_region(size_t size, int flags, int fd) {
    struct stat status = {0};
    if (fd >= 0) fstat(fd, &status);
    struct region *r = find(status.st_ino, size);
    if (r) {
        r->users++;
        return r->base;
    }
    for (r = regions; r->users; r++)
        if (r == &regions[REGIONS - 1]) return MAP_FAILED;
    uint8_t *base = __real_mmap(NULL, size, fd < 0 ? PROT_NONE : PROT_READ | PROT_WRITE, flags, fd, 0);
    if (base != MAP_FAILED) *r = (struct region){.base = base, .size = size, .file = status.st_ino, .users = 1};
    return base;
}

static void *laid_over(uint8_t *address, size_t size, int flags, int fd, off_t offset) {
    struct region *r = around(address);
    if (!r) return MAP_FAILED;
    size_t *mapped = &r->mapped[address != r->base];
    if (*mapped == size) return address;
    *mapped = size;
    return __real_mmap(address, size, PROT_READ | PROT_WRITE, flags, fd, offset);
}

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset) {
    (void)protection;
    pthread_mutex_lock(&turn);
    void *result = flags & MAP_FIXED ? laid_over(address, size, flags, fd, offset) : whole_region(size, flags, fd);
    pthread_mutex_unlock(&turn);
    return result;
}

void *__wrap_mmap64(void *address, size_t size, int protection, int flags, int fd, off_t offset) {
    return __wrap_mmap(address, size, protection, flags, fd, offset);
}

int __wrap_munmap(void *address, size_t size) {
    int result = 0;
    pthread_mutex_lock(&turn);
    struct region *r = around(address);
    if (!r) result = __real_munmap(address, size);
    else if (--r->users == 0) result = __real_munmap(r->base, r->size);
    pthread_mutex_unlock(&turn);
    return result;
}
