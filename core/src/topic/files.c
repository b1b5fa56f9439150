/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of a bus; files.h has the contract. A file is made without a name (O_TMPFILE), its space is reserved, it is filled, and
 * then it is linked. So a file with a name is complete, and a creator that dies before leaves none. Nothing is mapped here: headers
 * are read into private memory and checked there.
 */
#include "topic/files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/boot_id.h"
#include "base/defects.h"
#include "base/eintr.h"
#include "base/error.h"
#include "topic/layout.h"

#define LOCK_WAIT_MS 5000 /* how long to wait for another creator or remover, which needs about a millisecond */
#define FILE_NAME_SIZE (SLIPRING_MAX_NAME + 16)

#define KIND(suffix, noun) {suffix, noun},
static const struct {
    const char *suffix, *noun;
} kinds[] = {SLR_KINDS(KIND)};
#define KIND_COUNT (sizeof kinds / sizeof kinds[0])

static const char *noun_of(const char *suffix) {
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (strcmp(kinds[i].suffix, suffix) == 0) return kinds[i].noun;
    return "topic";
}

static void file_name(char out[FILE_NAME_SIZE], const char *name, const char *suffix) {
    snprintf(out, FILE_NAME_SIZE, "%s.%s", name, suffix);
}

/* Making and removing --------------------------------------------------------------------------------------- */

int slr_bus_open(const char *bus, const char *name, const char *suffix, int *directory) {
    SLR_RETRY_EINTR(*directory, open(bus, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (*directory >= 0) return SLIPRING_OK;
    if (errno != ENOENT) return slr_error_errno("cannot open the bus directory '%s'", bus);
    return slr_error(SLIPRING_NOT_FOUND, "topic", "there is no %s '%s': the bus '%s' does not exist", noun_of(suffix),
                     name, bus);
}

int slr_bus_lock(const char *bus, const char *name, const char *suffix, int *directory) {
    int code = slr_bus_open(bus, name, suffix, directory);
    if (code) return code;
    for (int waited = 0; flock(*directory, LOCK_EX | LOCK_NB); waited++) {
        if (errno != EWOULDBLOCK && errno != EINTR) code = slr_error_errno("cannot lock the bus directory '%s'", bus);
        if (waited > LOCK_WAIT_MS)
            code = slr_error(SLIPRING_BUSY, "bus", "another process has kept the bus '%s' locked for %d s to create or remove a topic",
                             bus, LOCK_WAIT_MS / 1000);
        if (code) {
            close(*directory);
            return code;
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return SLIPRING_OK;
}

/* Unlock explicitly: closing is not enough if a fork in another thread shares the descriptor. */
void slr_bus_unlock(int directory) {
    flock(directory, LOCK_UN);
    close(directory);
}

int slr_name_check_free(int directory, const char *name, const char *suffix) {
    for (size_t i = 0; i < KIND_COUNT; i++) {
        bool there;
        int code = slr_file_find(directory, name, kinds[i].suffix, &there);
        if (code) return code;
        if (!there) continue;
        if (strcmp(kinds[i].suffix, suffix) == 0)
            return slr_error(SLIPRING_EXISTS, "topic", "%s '%s' exists: use exist_ok=True or another name", kinds[i].noun,
                             name);
        return slr_error_exists("topic", kinds[i].noun, noun_of(suffix),
                                "the name '%s' belongs to %s on this bus, asked for %s: use another name", name,
                                kinds[i].noun, noun_of(suffix));
    }
    return SLIPRING_OK;
}

bool slr_name_is_other_kind(void) { return slipring_last_error()->found[0] != 0; }

int slr_mode_check(uint32_t mode) {
    if (mode & ~0777u) return slr_error(SLIPRING_BAD_ARGUMENT, "mode", "mode=%#o is out of range: at most 0777", mode);
    if (mode && (mode & 0600) != 0600)
        return slr_error(SLIPRING_BAD_ARGUMENT, "mode", "mode=%#o does not let the owner read and write", mode);
    return SLIPRING_OK;
}

int slr_file_make(int directory, uint64_t size, uint32_t mode, const char *size_argument, int *out) {
    int fd, failed, changed;
    SLR_RETRY_EINTR(fd, openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (fd < 0) return slr_error_errno("cannot create a file in the bus directory");
    while ((failed = SLR_DEFECT(space_not_reserved) ? ftruncate(fd, (off_t)size)
                                                    : posix_fallocate(fd, 0, (off_t)size)) == EINTR)
        continue;
    if (!failed) {
        SLR_RETRY_EINTR(changed, fchmod(fd, mode | (SLR_DEFECT(files_open_to_everybody) ? 0666u : 0u)));
        if (changed) failed = errno;
    }
    if (failed) {
        close(fd);
        errno = failed;
        return slr_error_errno("cannot reserve %" PRIu64 " bytes: choose a smaller %s= or free memory", size, size_argument);
    }
    *out = fd;
    return SLIPRING_OK;
}

bool slr_file_write(int fd, const void *data, size_t size, uint64_t offset) {
    ssize_t written;
    errno = ENOSPC; /* what a short one means */
    SLR_RETRY_EINTR(written, pwrite(fd, data, size, (off_t)offset));
    return written == (ssize_t)size;
}

int slr_file_write_header(int fd, const void *header, size_t size) {
    return slr_file_write(fd, header, size, 0) ? SLIPRING_OK : slr_error_errno("cannot write the new file's header");
}

int slr_file_link(int fd, int directory, const char *name, const char *suffix) {
    char from[64], to[FILE_NAME_SIZE];
    snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
    file_name(to, name, suffix);
    if (linkat(AT_FDCWD, from, directory, to, AT_SYMLINK_FOLLOW) == 0) return SLIPRING_OK;
    if (errno == ENOENT && access("/proc/self/fd", F_OK)) { /* without /proc: AT_EMPTY_PATH needs a privilege or Linux 6.10 */
        if (linkat(fd, "", directory, to, AT_EMPTY_PATH) == 0) return SLIPRING_OK;
        if (errno == ENOENT) /* the error of the kernel without the privilege */
            return slr_error(SLIPRING_DENIED, "root",
                             "cannot name the new file '%s': /proc is not mounted here, and without it only root can do that, or "
                             "any user on Linux 6.10 and later: mount /proc",
                             to);
    }
    return slr_error_errno("cannot name the new file '%s'", to);
}

int slr_file_rename(int directory, const char *name, const char *suffix, const char *to_suffix) {
    char from[FILE_NAME_SIZE], to[FILE_NAME_SIZE];
    file_name(from, name, suffix);
    file_name(to, name, to_suffix);
    return renameat(directory, from, directory, to) ? slr_error_errno("cannot rename '%s'", from) : SLIPRING_OK;
}

int slr_file_find(int directory, const char *name, const char *suffix, bool *there) {
    char file[FILE_NAME_SIZE];
    struct stat status;
    file_name(file, name, suffix);
    *there = fstatat(directory, file, &status, AT_SYMLINK_NOFOLLOW) == 0;
    return *there || errno == ENOENT ? SLIPRING_OK : slr_error_errno("cannot inspect '%s'", file);
}

int slr_file_unlink(int directory, const char *name, const char *suffix) {
    char file[FILE_NAME_SIZE];
    file_name(file, name, suffix);
    if (unlinkat(directory, file, 0) == 0) return SLIPRING_OK;
    return errno == ENOENT ? slr_file_open_error(name, suffix) : slr_error_errno("cannot remove '%s'", file);
}

void slr_file_unlink_quietly(int directory, const char *name, const char *suffix) {
    char file[FILE_NAME_SIZE];
    file_name(file, name, suffix);
    unlinkat(directory, file, 0);
}

/* Opening and checking -------------------------------------------------------------------------------------- */

int slr_file_open(int directory, const char *name, const char *suffix, int flags) {
    char file[FILE_NAME_SIZE];
    file_name(file, name, suffix);
    int fd, close_on_exec = SLR_DEFECT(exec_keeps_descriptors) ? 0 : O_CLOEXEC;
    SLR_RETRY_EINTR(fd, openat(directory, file, flags | close_on_exec | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
    return fd;
}

int slr_file_is_ours(int directory, const char *name, const char *suffix, uint64_t magic, bool *ours) {
    uint64_t found = 0;
    int fd = slr_file_open(directory, name, suffix, O_RDONLY);
    *ours = false;
    if (fd < 0 && (errno == ENOENT || errno == EACCES || errno == ELOOP || errno == ENXIO)) return SLIPRING_OK;
    if (fd < 0) return slr_error_errno("cannot open '%s.%s'", name, suffix);
    struct stat status;
    ssize_t size = fstat(fd, &status);
    if (size == 0 && S_ISREG(status.st_mode)) size = pread(fd, &found, sizeof found, 0);
    int code = size < 0 ? slr_error_errno("cannot read '%s.%s'", name, suffix) : SLIPRING_OK;
    *ours = size == (ssize_t)sizeof found && found == magic;
    close(fd);
    return code;
}

static int not_ours(const char *name, const char *suffix, const char *why) {
    return slr_error(SLIPRING_WRONG_LAYOUT, "topic", "'%s.%s' %s", name, suffix, why);
}

int slr_file_clear(int directory, const char *name, const char *suffix, uint64_t magic) {
    bool there, ours = false;
    int code = slr_file_find(directory, name, suffix, &there);
    if (!code && there) code = slr_file_is_ours(directory, name, suffix, magic, &ours);
    if (code || !there) return code;
    if (!ours)
        return not_ours(name, suffix, "is in the way and no file of a topic: remove it, or use another name");
    return slr_file_unlink(directory, name, suffix);
}

int slr_file_open_error(const char *name, const char *suffix) {
    if (errno == ELOOP || errno == ENXIO || errno == EISDIR)
        return slr_error(SLIPRING_WRONG_LAYOUT, "topic", "'%s.%s' is not a file of a %s but a link, directory or device", name,
                         suffix, noun_of(suffix));
    if (errno == ENOENT)
        return slr_error(SLIPRING_NOT_FOUND, "topic", "there is no %s '%s' on this bus", noun_of(suffix), name);
    return slr_error_errno("cannot open '%s.%s'", name, suffix);
}

int slr_file_open_again(int directory, const char *name, const char *suffix, int flags, int same_as) {
    struct stat a, b;
    int fd = slr_file_open(directory, name, suffix, flags);
    if (fd < 0) return fd;
    if (fstat(fd, &a) == 0 && fstat(same_as, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev) return fd;
    close(fd);
    errno = ENOENT; /* the caller tries again */
    return -1;
}

bool slr_file_read(int fd, void *data, size_t size, uint64_t offset) {
    ssize_t got;
    errno = EIO; /* a short read means that the file was truncated in the meantime */
    SLR_RETRY_EINTR(got, pread(fd, data, size, (off_t)offset));
    return got == (ssize_t)size;
}

int slr_file_read_header(int fd, const char *name, const char *suffix, void *header, size_t size, uint64_t *file_size) {
    struct stat status;
    if (fstat(fd, &status)) return slr_error_errno("cannot inspect '%s.%s'", name, suffix);
    if (!S_ISREG(status.st_mode)) return not_ours(name, suffix, "is not a regular file");
    *file_size = (uint64_t)status.st_size;
    if (*file_size < SLR_PAGE) return not_ours(name, suffix, "is too short to be a Slipring file");
    return slr_file_read(fd, header, size, 0) ? SLIPRING_OK : slr_error_errno("cannot read '%s.%s'", name, suffix);
}

int slr_file_check_signature(const char *name, const char *suffix, bool magic, uint32_t version, bool hash) {
    if (!magic) return not_ours(name, suffix, "is not a Slipring file");
    if (version != SLR_LAYOUT_VERSION)
        return slr_error(SLIPRING_WRONG_LAYOUT, "topic", "'%s.%s' has layout version %u, this build supports %u", name, suffix,
                         version, SLR_LAYOUT_VERSION);
    return hash ? SLIPRING_OK : not_ours(name, suffix, "was created by a build with another memory layout");
}

static int boot_unknown(const char *name, const char *suffix, const char *who) {
    return slr_error(SLIPRING_DENIED, "root",
                     "'%s.%s' is on a file system that outlives a restart of the machine, and %s could not read "
                     "/proc/sys/kernel/random/boot_id, which would show such a restart: make that file readable "
                     "(systemd: ProcSubset=all), or use a bus directory in /dev/shm",
                     name, suffix, who);
}

int slr_file_boot_id(int fd, const char *name, const char *suffix, uint8_t boot_id[16]) {
    if (slr_boot_id(boot_id)) return slr_error_errno("cannot read this machine's boot id");
    if (slr_boot_id_is_known(boot_id) || slr_boot_id_ends_files_of(fd)) return SLIPRING_OK;
    return boot_unknown(name, suffix, "this process");
}

int slr_file_check_boot(int fd, const char *name, const char *suffix, const uint8_t boot_id[16]) {
    uint8_t now[16];
    if (slr_boot_id(now)) return slr_error_errno("cannot read this machine's boot id");
    bool known = slr_boot_id_is_known(now), was_known = slr_boot_id_is_known(boot_id);
    if ((known && was_known) || SLR_DEFECT(unknown_boot_is_another)) {
        if (memcmp(now, boot_id, sizeof now) == 0) return SLIPRING_OK;
        return slr_file_corrupt(name, suffix, "it was written before this machine's last start");
    }
    if (slr_boot_id_ends_files_of(fd) || SLR_DEFECT(unknown_boot_is_this_one)) return SLIPRING_OK;
    return boot_unknown(name, suffix, known ? "its creator" : "this process");
}

int slr_file_corrupt(const char *name, const char *suffix, const char *what) {
    return slr_error(SLIPRING_CORRUPT, "topic", "'%s.%s' is damaged: %s; remove the %s and create it again", name, suffix, what,
                     noun_of(suffix));
}

bool slr_file_deleted(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_nlink == 0;
}
