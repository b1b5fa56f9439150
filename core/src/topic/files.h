/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of a bus, whatever their kind: made whole or not at all, opened with care, checked before they are mapped.
 * A kind is a suffix. One name belongs to one kind: its main file (SLR_KINDS) says which.
 */
#ifndef SLR_TOPIC_FILES_H
#define SLR_TOPIC_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(suffix of the main file, what people call it) */
#define SLR_KINDS(X) \
    X("ring", "topic") X("cells", "cells")

/* Creators and removers of one bus take turns by a lock on its directory, which the kernel releases if they die. */
int slr_bus_lock(const char *bus, const char *name, const char *suffix, int *directory);
void slr_bus_unlock(int directory);

/* While it is our turn. OK, or EXISTS if the name belongs to another kind, or to this one. */
int slr_name_check_free(int directory, const char *name, const char *suffix);
bool slr_name_is_other_kind(void); /* after EXISTS: whether it was the former */
int slr_mode_check(uint32_t mode); /* OK or BAD_ARGUMENT; 0: the default */
/* A file without a name, mode exactly as given whatever the umask, its space reserved. size_argument: what to make
 * smaller if there is no room. */
int slr_file_make(int directory, uint64_t size, uint32_t mode, const char *size_argument, int *out);
bool slr_file_write(int fd, const void *data, size_t size, uint64_t offset); /* all of it, or errno says why not */
bool slr_file_read(int fd, void *data, size_t size, uint64_t offset);
/* The boot id for the header of a new file; DENIED if it is unknown and the file could outlive this boot. */
int slr_file_boot_id(int fd, const char *name, const char *suffix, uint8_t boot_id[16]);
int slr_file_write_header(int fd, const void *header, size_t size);
int slr_file_link(int fd, int directory, const char *name, const char *suffix);
/* Takes the place of whatever has the other suffix, in one step. */
int slr_file_rename(int directory, const char *name, const char *suffix, const char *to_suffix);
int slr_file_find(int directory, const char *name, const char *suffix, bool *there); /* OK, or it cannot be told */
void slr_file_unlink_quietly(int directory, const char *name, const char *suffix); /* without a word, after another fault */
/* OK, NOT_FOUND or another code. */
/* Whether it begins with this word, as every file does that we made; not, if it is not there, or not for us to read. */
int slr_file_is_ours(int directory, const char *name, const char *suffix, uint64_t magic, bool *ours);
/* Away with what the dead left, if it is ours; WRONG_LAYOUT if it is somebody else's file. */
int slr_file_clear(int directory, const char *name, const char *suffix, uint64_t magic);
int slr_file_unlink(int directory, const char *name, const char *suffix);

/* A bus's directory for opening files in it. */
int slr_bus_open(const char *bus, const char *name, const char *suffix, int *directory);
int slr_file_open(int directory, const char *name, const char *suffix, int flags); /* a descriptor, or -1 and errno */
int slr_file_open_error(const char *name, const char *suffix);                     /* the code for that errno */
/* A second open file description of the same file; ENOENT if it was removed and made anew meanwhile. */
int slr_file_open_again(int directory, const char *name, const char *suffix, int flags, int same_as);
int slr_file_read_header(int fd, const char *name, const char *suffix, void *header, size_t size, uint64_t *file_size);
int slr_file_check_signature(const char *name, const char *suffix, bool magic, uint32_t version, bool hash);
/* OK if the file is of the machine's present start: by its boot id, or because its file system is in memory. */
int slr_file_check_boot(int fd, const char *name, const char *suffix, const uint8_t boot_id[16]);
int slr_file_corrupt(const char *name, const char *suffix, const char *what); /* SLIPRING_CORRUPT, told */
bool slr_file_deleted(int fd);                                                /* it has no name any more */

#endif
