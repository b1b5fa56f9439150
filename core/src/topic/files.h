/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of a bus, of all kinds: created completely or not at all, opened safely, checked before they are mapped.
 * A kind is identified by a suffix. A name belongs to one kind: the suffix of its main file (SLR_KINDS) is the kind.
 */
#ifndef SLR_TOPIC_FILES_H
#define SLR_TOPIC_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(suffix of the main file, name of the kind in errors) */
#define SLR_KINDS(X) \
    X("ring", "topic") X("cells", "cells")

/* Creators and removers of one bus exclude each other by a lock on its directory. The kernel releases it if they die. */
int slr_bus_lock(const char *bus, const char *name, const char *suffix, int *directory);
void slr_bus_unlock(int directory);

/* With the bus locked: OK, or EXISTS if the name is in use, by this kind or another one. */
int slr_name_check_free(int directory, const char *name, const char *suffix);
bool slr_name_is_other_kind(void); /* after EXISTS: whether another kind uses the name */
int slr_mode_check(uint32_t mode); /* OK or BAD_ARGUMENT; 0: the default */
/* Create a file without a name, with its space reserved and exactly this mode, regardless of the umask. size_argument: the
 * argument to reduce if there is no space. */
int slr_file_make(int directory, uint64_t size, uint32_t mode, const char *size_argument, int *out);
bool slr_file_write(int fd, const void *data, size_t size, uint64_t offset); /* all of it, or false and errno */
bool slr_file_read(int fd, void *data, size_t size, uint64_t offset);
/* Return the boot id for the header of a new file; DENIED if it is unknown and the file could survive a restart. */
int slr_file_boot_id(int fd, const char *name, const char *suffix, uint8_t boot_id[16]);
int slr_file_write_header(int fd, const void *header, size_t size);
int slr_file_link(int fd, int directory, const char *name, const char *suffix);
/* Rename the file; a file with the other suffix is replaced in one step. */
int slr_file_rename(int directory, const char *name, const char *suffix, const char *to_suffix);
int slr_file_find(int directory, const char *name, const char *suffix, bool *there); /* OK, or an error if the file cannot be examined */
void slr_file_unlink_quietly(int directory, const char *name, const char *suffix); /* ignores errors; after another error */
/* Report in *ours whether the file exists, is readable and starts with the magic word of Slipring. */
int slr_file_is_ours(int directory, const char *name, const char *suffix, uint64_t magic, bool *ours);
/* Remove a file that a crashed process has left; WRONG_LAYOUT if Slipring did not create it. */
int slr_file_clear(int directory, const char *name, const char *suffix, uint64_t magic);
/* OK, NOT_FOUND or another code. */
int slr_file_unlink(int directory, const char *name, const char *suffix);

/* Open the directory of a bus. */
int slr_bus_open(const char *bus, const char *name, const char *suffix, int *directory);
int slr_file_open(int directory, const char *name, const char *suffix, int flags); /* a descriptor, or -1 and errno */
int slr_file_open_error(const char *name, const char *suffix);                     /* the code for errno */
/* Open the same file once more, with an open file description of its own; ENOENT if the name now belongs to another file. */
int slr_file_open_again(int directory, const char *name, const char *suffix, int flags, int same_as);
int slr_file_read_header(int fd, const char *name, const char *suffix, void *header, size_t size, uint64_t *file_size);
int slr_file_check_signature(const char *name, const char *suffix, bool magic, uint32_t version, bool hash);
/* OK if the file was created since the last start of the machine: by its boot id, or because its file system is in memory. */
int slr_file_check_boot(int fd, const char *name, const char *suffix, const uint8_t boot_id[16]);
int slr_file_corrupt(const char *name, const char *suffix, const char *what); /* reports SLIPRING_CORRUPT */
bool slr_file_deleted(int fd);                                                /* whether it has no name any more */

#endif
