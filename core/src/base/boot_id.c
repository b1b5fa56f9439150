/* SPDX-License-Identifier: Apache-2.0
 *
 * boot_id.h has the contract. Where /proc is hidden the id is unknown, which is not an error. A read that fails for another reason
 * is one.
 */
#include "base/boot_id.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/random.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/defects.h"
#include "base/eintr.h"

static int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

int slr_boot_id(uint8_t id[16]) {
    char text[64];
    memset(id, 0, 16);
    int fd;
    ssize_t size;
    SLR_RETRY_EINTR(fd, open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    if (fd < 0) return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -1;
    SLR_RETRY_EINTR(size, read(fd, text, sizeof text));
    int error = errno;
    close(fd);
    errno = error;
    if (size < 0 && !SLR_DEFECT(unknown_boot_accepted)) return -1;
    ssize_t digits = 0;
    for (ssize_t i = 0; i < size && digits < 32; i++) {
        int value = hex(text[i]);
        if (value < 0) continue;
        id[digits / 2] = (uint8_t)(id[digits / 2] << 4 | value);
        digits++;
    }
    if (digits < 32) memset(id, 0, 16); /* not the kernel's file */
    return 0;
}

bool slr_boot_id_is_known(const uint8_t id[16]) {
    static const uint8_t unknown[16];
    return memcmp(id, unknown, sizeof unknown) != 0;
}

bool slr_boot_id_ends_files_of(int fd) {
    struct statfs system;
    return fstatfs(fd, &system) == 0 && (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
}

uint64_t slr_random(void) {
    uint64_t value = 0;
    while (value == 0)
        if (getrandom(&value, sizeof value, 0) != sizeof value) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            value = (uint64_t)now.tv_sec << 32 ^ (uint64_t)now.tv_nsec;
        }
    return value;
}
